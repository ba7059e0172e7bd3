//! An implementation of the ports in plain collections, for tests. Nothing outlives the process.

mod block_list;
mod clock;
mod contact_store;
mod count_store;
mod delivery_queue;
mod entropy;
mod fault;
mod key_issuer;
mod mail_sender;
mod model_client;
mod record;
mod revocation_list;
mod store_maintenance;
mod webhook_sender;

use std::sync::{Mutex, MutexGuard};

use futures_util::stream;
use landing_api::ports::PageStream;

pub(crate) use block_list::MemoryBlockList;
pub(crate) use clock::ManualClock;
pub(crate) use contact_store::MemoryContactStore;
pub(crate) use count_store::MemoryCountStore;
pub(crate) use entropy::SeededEntropy;
pub(crate) use key_issuer::MemoryKeyIssuer;
pub(crate) use mail_sender::ScriptedMailSender;
pub(crate) use model_client::{MemoryAnswerSink, ScriptedModelClient};
pub(crate) use revocation_list::MemoryRevocationList;
pub(crate) use store_maintenance::MemoryStoreMaintenance;
pub(crate) use webhook_sender::ScriptedWebhookSender;

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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
