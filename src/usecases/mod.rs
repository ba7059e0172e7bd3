//! The use cases, one free function each, on ports and domain types.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`admit`] | authenticates a request and counts it |
//! | [`subscribe`] | signs up an address for the newsletter |
//! | [`confirm`] | confirms a sign-up by an emailed link |
//! | [`leave`] | unsubscribes a contact |
//! | [`forget`] | erases contacts |
//! | [`notices`] | events for the operator's program |
//! | [`deliver`] | delivers pending events and emails |
//! | [`opt_in`] | the confirmation email, and the expiry of unconfirmed contacts |
//! | [`ask_assistant`] | answers a visitor within the quota; shows the remaining quota |
//! | [`issue_key`] | issues a free API key |
//! | [`register_agent`] | registers an agent and issues its first token |
//! | [`issue_token`] | issues another token to a registered agent |
//! | [`revoke`] | revokes a key or a registration |
//! | [`meter`] | charges and refunds, for all of them |

pub mod admit;
pub mod ask_assistant;
pub mod confirm;
pub mod deliver;
pub mod forget;
pub mod issue_key;
pub mod issue_token;
pub mod leave;
pub mod meter;
pub mod notices;
pub mod opt_in;
pub mod register_agent;
pub mod revoke;
pub mod subscribe;
