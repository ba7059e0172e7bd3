//! Certificates, data directories and block lists as other programs leave them.
