//! The rules of the service without any I/O, and values that are validated when constructed.
//! Nothing here reads a clock, draws a random number, waits, or depends on HTTP, JSON or a store.
//!
//! | Module | Holds |
//! |---|---|
//! | `macros` | enums as tables of names, and `Debug` of what no log may show |
//! | [`time`] | instants and the calendar-free arithmetic on them |
//! | [`text`] | texts of bounded length |
//! | [`email`] | the address a visitor signs up with |
//! | [`contact`] | contacts and what may be disclosed about them |
//! | [`chat`] | a conversation with the assistant |
//! | [`credential`] | free API keys and their fingerprints |
//! | [`agent`] | registrations of agents, their client secrets and access tokens |
//! | [`secret`] | the keys derived from the data directory's secret |
//! | [`client`] | clients, and the keys they are counted under |
//! | [`quota_token`] | the token that a visitor's chat turns are counted under |
//! | [`form_stamp`] | when a form was shown, as the form carries it |
//! | [`proof_of_work`] | what a browser calculates when many have signed up from a network |
//! | [`policy`] | the named rate limits and how one is written on the command line |
//! | [`window`] | the sliding window itself |
//! | [`decision`] | what the limiter decided about one request |
//! | [`hourly_counts`] | how much happened in each hour |
//! | [`settings`] | what the operator decided |
//! | [`deprecation`] | the notice that an operation will be removed |
//! | [`language`] | the languages of the pages |
//! | [`passage`] | a piece of the service's pages, for the assistant to quote |

pub mod agent;
pub mod chat;
pub mod client;
pub mod contact;
pub mod credential;
pub mod decision;
pub mod deprecation;
pub mod email;
pub mod form_stamp;
pub mod hourly_counts;
pub mod language;
pub(crate) mod macros;
pub mod passage;
pub mod policy;
pub mod proof_of_work;
pub mod quota_token;
pub mod secret;
pub mod settings;
pub mod text;
pub mod time;
pub mod window;
