//! What every adapter of a port must do: one suite a port, run against each of its adapters.

pub mod rate_limiter;
