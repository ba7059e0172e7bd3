//! The handlers: each reads its request, calls one use case, and writes its response.

pub(super) mod agent;
pub(super) mod assistant;
mod chat_wire;
mod failures;
pub(super) mod health;
pub(super) mod keys;
pub(super) mod links;
pub(super) mod newsletter;
pub(super) mod newsletter_form;
pub(super) mod pages;
pub(super) mod sandbox;
mod stream;

/// The tier of every key and registration.
const TIER: &str = "free";
