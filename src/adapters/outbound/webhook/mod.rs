//! The operator's own program, such as a newsletter provider: each message is one POST of JSON with the headers of
//! the Standard Webhooks specification, version 1.0.
//!
//! [`WebhookClient`] sends what the service's queue has. [`WebhookNotifier`] sends a sign-up while its visitor
//! waits: nothing is kept then and nothing is retried, and the visitor's answer says whether the program has
//! confirmed it.

mod client;
mod notifier;
pub mod signature;

pub use client::{WebhookClient, WebhookSettings};
pub use notifier::{DEADLINE, WebhookNotifier};
