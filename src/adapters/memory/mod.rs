//! An implementation of every port in plain collections, for tests. Nothing outlives the process.

mod clock;
mod contact_store;
mod count_store;
mod entropy;
mod fault;
mod key_issuer;
mod model_client;
mod rate_limiter;
mod revocation_list;
mod store_maintenance;
mod subscription_notifier;

use futures_util::stream;

use crate::ports::PageStream;

use super::mutex::lock;

/// How many values a page of these stores has.
const PAGE_LEN: usize = 100;

/// What a store lists.
fn pages<T: Send + 'static>(values: impl IntoIterator<Item = T>) -> PageStream<T> {
    let mut pages = Vec::new();
    let mut values = values.into_iter().peekable();
    while values.peek().is_some() {
        pages.push(Ok(values.by_ref().take(PAGE_LEN).collect()));
    }
    Box::pin(stream::iter(pages))
}

pub use clock::ManualClock;
pub use contact_store::MemoryContactStore;
pub use count_store::MemoryCountStore;
pub use entropy::SeededEntropy;
pub use key_issuer::MemoryKeyIssuer;
pub use model_client::{MemoryAnswerSink, ScriptedModelClient};
pub use rate_limiter::MemoryRateLimiter;
pub use revocation_list::MemoryRevocationList;
pub use store_maintenance::MemoryStoreMaintenance;
pub use subscription_notifier::ScriptedSubscriptionNotifier;
