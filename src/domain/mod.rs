//! The rules of the service without any I/O, and values validated on construction. Nothing here reads a
//! clock, draws a random number, waits, or depends on HTTP, JSON or a store.
//!
//! | Module | Contents |
//! |---|---|
//! | `macros` | enums as tables of names, and `Debug` for types that must stay out of logs |
//! | [`time`] | instants and the calendar-free arithmetic on them |
//! | [`text`] | texts of bounded length |
//! | [`email`] | the address a visitor signs up with |
//! | [`consent`] | consents, their confirmation and withdrawal |
//! | [`contact`] | contacts, and the rules for disclosing them |
//! | [`chat`] | a conversation with the assistant, questions without an answer, and the passages that it quotes |
//! | [`credential`] | free API keys and their fingerprints |
//! | [`tokens`] | registrations of agents, their client secrets and access tokens; the token that a visitor's chat turns are counted under |
//! | [`secret`] | the keys derived from the data directory's secret |
//! | [`client`] | clients, and the keys they are counted under |
//! | [`blocked_network`] | networks blocked by the operator |
//! | [`pseudonym`] | the operator's names for clients |
//! | [`policy`] | the named rate limits and their syntax on the command line |
//! | [`window`] | the sliding window itself |
//! | [`decision`] | the limiter's decision on one request |
//! | [`delivery`] | outgoing events and emails, and their retries |
//! | [`mail`] | emails, their sender and relay, and the fault behind a refused one |
//! | [`hourly_counts`] | activity per hour |
//! | [`settings`] | the operator's settings; hosts and origins, compared as names; the colour of links and buttons |
//! | [`language`] | the languages of the pages |
//! | [`certificate_order`] | when to order a certificate |

pub mod blocked_network;
pub mod certificate_order;
pub mod chat;
pub mod client;
pub mod consent;
pub mod contact;
pub mod credential;
pub mod decision;
pub mod delivery;
pub mod email;
pub mod hourly_counts;
pub mod language;
pub(crate) mod macros;
pub mod mail;
pub mod policy;
pub mod pseudonym;
pub mod secret;
pub mod settings;
pub mod text;
pub mod time;
pub mod tokens;
pub mod window;

pub use blocked_network::*;
pub use chat::*;
pub use client::*;
pub use consent::*;
pub use contact::*;
pub use credential::*;
pub use decision::*;
pub use delivery::*;
pub use email::*;
pub use hourly_counts::*;
pub use language::*;
pub use mail::*;
pub use policy::*;
pub use pseudonym::*;
pub use secret::*;
pub use settings::*;
pub use text::*;
pub use time::*;
pub use tokens::*;
pub use window::*;
