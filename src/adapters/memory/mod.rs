//! An implementation of every port in plain collections, for tests. Nothing outlives the process.

mod clock;
mod contact_store;
mod entropy;
mod fault;
mod key_issuer;
mod model_client;
mod rate_limiter;
mod revocation_list;
mod subscription_notifier;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use clock::ManualClock;
pub use contact_store::MemoryContactStore;
pub use entropy::SeededEntropy;
pub use key_issuer::MemoryKeyIssuer;
pub use model_client::{MemoryAnswerSink, ScriptedModelClient};
pub use rate_limiter::MemoryRateLimiter;
pub use revocation_list::MemoryRevocationList;
pub use subscription_notifier::ScriptedSubscriptionNotifier;

/// Locks and ignores poisoning: no critical section in here can panic half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
