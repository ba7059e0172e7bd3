//! What the service does: a free function for each use case, using ports and domain types.
//!
//! | Module | Does |
//! |---|---|
//! | [`admit`] | authenticates a request and counts it |
//! | [`subscribe`] | signs an address up for the newsletter |
//! | [`confirm`] | confirms a sign-up by the link of a mail, or refuses it |
//! | [`leave`] | lets a contact leave |
//! | [`forget`] | erases contacts |
//! | [`notices`] | what the operator's program is told of contacts |
//! | [`deliver`] | delivers what is due |
//! | [`opt_in`] | the mail that asks to confirm, and those who never do |
//! | [`ask_assistant`] | answers a visitor within the quota; shows what is left of it |
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
