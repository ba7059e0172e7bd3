//! The use cases, a free function each, on ports and domain types.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`admit`] | authenticates a request and counts it |
//! | [`subscribe`] | signs up an address for the newsletter; events for the operator's program |
//! | [`contacts`] | confirms, unsubscribes and erases contacts |
//! | [`deliver`] | delivers pending events and emails |
//! | [`opt_in`] | the confirmation email, and the expiry of unconfirmed contacts |
//! | [`ask_assistant`] | answers a visitor within the quota; shows the remaining quota |
//! | [`issue_key`] | issues a free API key |
//! | [`agents`] | registers agents and issues them tokens |
//! | [`revoke`] | revokes a key or a registration |
//! | [`meter`] | charges and refunds, for all of them |

pub mod admit;
pub mod agents;
pub mod ask_assistant;
pub mod contacts;
pub mod deliver;
pub mod issue_key;
pub mod meter;
pub mod opt_in;
pub mod revoke;
pub mod subscribe;
