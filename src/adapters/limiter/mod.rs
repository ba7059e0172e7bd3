//! The limiter.
