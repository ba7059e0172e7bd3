//! What every adapter of a port must do: one suite a port, run against each of them.

mod contact_store;
mod key_issuer;
pub mod rate_limiter;

pub(crate) use key_issuer::record as key_record;
