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

use super::mutex::lock;

pub use clock::ManualClock;
pub use contact_store::MemoryContactStore;
pub use entropy::SeededEntropy;
pub use key_issuer::MemoryKeyIssuer;
pub use model_client::{MemoryAnswerSink, ScriptedModelClient};
pub use rate_limiter::MemoryRateLimiter;
pub use revocation_list::MemoryRevocationList;
pub use subscription_notifier::ScriptedSubscriptionNotifier;
