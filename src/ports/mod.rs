//! The use cases' dependencies on the outside, as object-safe traits in the domain's terms.
//!
//! Every port has an adapter for each technology it is stored in, and a twin for tests in `tests/support`.
//! All fulfil the same contract, in `tests/it/contracts`. A twin and its contract are in files of the port's
//! name.

use std::pin::Pin;

use futures_util::Stream;

mod contact_store;
mod credentials;
mod deliveries;
mod model_client;
mod operator_stores;
mod rate_limiter;
mod system;

pub use contact_store::*;
pub use credentials::*;
pub use deliveries::*;
pub use model_client::*;
pub use operator_stores::*;
pub use rate_limiter::*;
pub use system::*;

/// A store's listing in pages of at most a few thousand items, so that nobody needs to hold all of it. It
/// ends after an error. Dropping it stops the reading.
pub type PageStream<T> = Pin<Box<dyn Stream<Item = Result<Vec<T>, StoreError>> + Send>>;

/// The store could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be read or written. A store on a network may have made a change whose acknowledgement was lost.
    /// The text is for the log, never for a client.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// Another program removed, replaced or changed its file, and the operator has to decide which one is
    /// right. The text is for the log, never for a client.
    #[error("store unavailable: {0}")]
    Displaced(String),
    /// The disk is full. The text is for the log, never for a client.
    #[error("disk full: {0}")]
    Full(String),
    /// Its queue is full, or has not moved for several seconds.
    #[error("store overloaded")]
    Overloaded,
}
