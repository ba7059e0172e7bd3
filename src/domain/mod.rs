//! The rules of the service without any I/O, and values validated on construction. Nothing here reads a
//! clock, draws a random number, waits, or depends on HTTP, JSON or a store.
//!
//! | Module | Contents |
//! |---|---|
//! | `macros` | enums as tables of names, and `Debug` for types that must stay out of logs |
//! | [`accent`] | the colour of links and buttons |
//! | [`time`] | instants and the calendar-free arithmetic on them |
//! | [`text`] | texts of bounded length |
//! | [`email`] | the address a visitor signs up with |
//! | [`consent`] | consents, their confirmation and withdrawal |
//! | [`contact`] | contacts, and the rules for disclosing them |
//! | [`chat`] | a conversation with the assistant, and the passages that it quotes |
//! | [`credential`] | free API keys and their fingerprints |
//! | [`agent`] | registrations of agents, their client secrets and access tokens |
//! | [`secret`] | the keys derived from the data directory's secret |
//! | [`client`] | clients, and the keys they are counted under |
//! | [`blocked_network`] | networks blocked by the operator |
//! | [`pseudonym`] | the operator's names for clients |
//! | [`quota_token`] | the token that a visitor's chat turns are counted under |
//! | [`policy`] | the named rate limits and their syntax on the command line |
//! | [`window`] | the sliding window itself |
//! | [`decision`] | the limiter's decision on one request |
//! | [`delivery`] | outgoing events and emails, and their retries |
//! | [`mail`] | emails, their sender and relay, and the fault behind a refused one |
//! | [`hourly_counts`] | activity per hour |
//! | [`settings`] | the operator's settings; hosts and origins, compared as names |
//! | [`language`] | the languages of the pages |
//! | [`certificate_order`] | when to order a certificate |

pub mod accent;
pub mod agent;
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
pub mod question;
pub mod quota_token;
pub mod secret;
pub mod settings;
pub mod text;
pub mod time;
pub mod window;

pub use accent::Accent;
pub use agent::{AccessToken, Registration, RevokedRegistration};
pub use blocked_network::{Block, BlockedAddresses, BlockedNetwork};
pub use chat::{
    AssistantTexts, Content, Conversation, Courtesy, MESSAGES_MAX, Message, Passage, Role,
};
pub use client::{Client, LimitKey, Network, Subject};
pub use consent::{
    Confirmation, Consent, ContactStatus, LeaveToken, MailOutcome, SignUpWay, Source, StatusCounts,
    TextDigest,
};
pub use contact::{
    Contact, Erasure, ImportOutcome, Origin, OriginHash, SignUp, Signers, Subscription, Tombstone,
};
pub use credential::{ApiKey, Fingerprint, KeyId, KeyRecord, KeyState};
pub use decision::{Decision, POLICIES_PER_REQUEST_MAX, Standing};
pub use delivery::{
    Channel, ChannelPause, Delivery, DeliveryId, DeliveryKind, Failure, QueueStanding, Settled,
    Turn,
};
pub use email::{EmailAddress, EmailError};
pub use hourly_counts::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
pub use language::Language;
pub use mail::{Fault, FaultJudge, Letter, LetterContent, Relay, RelaySecurity, Sender};
pub use policy::{CountedBy, Policies, PolicyName, Quota};
pub use pseudonym::{Pseudonym, SoughtSigner};
pub use question::Question;
pub use quota_token::QuotaToken;
pub use secret::{MacKey, Secret, SecretKeys, SharedSecret, TokenKey};
pub use settings::{Settings, SignUpsGo, is_same_host, is_same_origin, rootless};
pub use text::{EchoMessage, Label, TextError, printable, quoted};
pub use time::{DAY_MS, TimeUnit, Timestamp};
pub use window::{Admitted, Bucket, LATE_ARRIVAL_MS_MAX, Usage, Window};
