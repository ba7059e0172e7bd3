//! Contact files as other programs export them.
