//! What every adapter of a port must do: one suite a port, run against each of them. tests/engines runs
//! some of them against engines.

pub(crate) mod block_list;
mod clock;
mod contact_store;
pub(crate) mod count_store;
mod delivery_queue;
mod entropy;
mod key_issuer;
mod limiters;
mod model_client;
mod rate_limiter;
mod refunds;
mod revocation_list;
mod stores;
mod webhook_sender;
