//! The use cases, a free function each, on ports and domain types.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`authenticate`] | authenticates a client by its token or key |
//! | [`subscribe`] | signs up an address for the newsletter; events for the operator's webhook |
//! | [`contacts`] | confirms, unsubscribes and erases contacts |
//! | [`deliver`] | delivers pending events and emails |
//! | [`opt_in`] | the confirmation email, and the expiry of unconfirmed contacts |
//! | [`ask_assistant`] | answers a visitor within the quota; shows the remaining quota |
//! | [`issue_key`] | issues a free API key |
//! | [`agents`] | registers agents and issues them tokens |
//! | [`revoke`] | revokes a key or a registration |
//! | [`meter`] | charges requests to policies, and refunds them |

pub mod agents;
pub mod ask_assistant;
pub mod authenticate;
pub mod contacts;
pub mod deliver;
pub mod issue_key;
pub mod meter;
pub mod opt_in;
pub mod revoke;
pub mod subscribe;
