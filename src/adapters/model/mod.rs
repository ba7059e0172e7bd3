//! The embedded model.
