//! What the service does: a free function for each thing, over ports, in the words of the domain.
//!
//! | Module | Does |
//! |---|---|
//! | [`admit`] | finds out who is asking and counts the request at the door |
//! | [`subscribe`] | signs an address up for the newsletter |
//! | [`chat`] | answers a visitor within the quota; tells what is left of it |
//! | [`issue_key`] | mints a free API key |
//! | [`register_agent`] | registers an agent and gives it a token |
//! | [`exchange`] | gives a registered agent a fresh token |
//! | [`revoke`] | ends a key or a registration before its time |
//! | [`meter`] | what all of them count with |

pub mod admit;
pub mod chat;
pub mod exchange;
pub mod issue_key;
pub mod meter;
pub mod register_agent;
pub mod revoke;
pub mod subscribe;
