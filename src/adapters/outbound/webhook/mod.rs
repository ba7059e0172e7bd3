//! The operator's webhook, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! [`WebhookClient`] sends messages from the queue. [`WebhookNotifier`] sends a sign-up while its visitor
//! waits: nothing is stored or retried, and the visitor's response shows whether the webhook has confirmed
//! it.

mod client;
mod notifier;
pub mod signature;

pub use client::{WebhookClient, WebhookSettings};
pub use notifier::{DEADLINE, WebhookNotifier};
