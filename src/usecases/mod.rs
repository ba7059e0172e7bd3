//! What the service does: a free function for each thing, over ports, in the words of the domain.
//!
//! | Module | Does |
//! |---|---|
//! | [`admit`] | finds out who is asking and counts the request at the door |
//! | [`subscribe`] | signs an address up for the newsletter |
//! | [`chat`] | answers a visitor within the quota; tells what is left of it |
//! | [`issue_key`] | mints a free API key |
//! | [`meter`] | what all of them count with |

pub mod admit;
pub mod chat;
pub mod issue_key;
pub mod meter;
pub mod subscribe;
