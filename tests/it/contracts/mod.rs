//! What every adapter of a port must do: one suite a port, run against each of its adapters.

mod rate_limiter;
