//! What the use cases need from the world, as object-safe traits in the words of the domain.
//!
//! Every port has two adapters: one over a technology and a twin in [`crate::adapters::memory`].
//! Both pass the same contract suite, `tests/it/contracts`.

use std::future::{self, Future};
use std::pin::Pin;
use std::task::{Context, Poll};

use arrayvec::ArrayVec;
use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::chat::Conversation;
use crate::domain::client::{LimitKey, Network};
use crate::domain::contact::{Contact, Notice, SignUp, Subscription};
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::decision::{Decision, POLICIES_PER_REQUEST_MAX, Standing};
use crate::domain::email::EmailAddress;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::time::Timestamp;
use crate::domain::window::Usage;

// ---------------------------------------------------------------------------------------------
// Contacts
// ---------------------------------------------------------------------------------------------

/// Keeps the newsletter's contacts.
#[async_trait]
pub trait ContactStore: Send + Sync {
    /// Creates the contact or updates when it was last seen. When this returns `Ok` the change
    /// survives a power cut. Of several racing sign-ups of one address exactly one is
    /// [`Subscription::Created`].
    ///
    /// # Errors
    /// [`StoreError`] when the change was not kept; nothing of it is left then.
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError>;

    /// What is kept of an address.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError>;

    /// Erases an address, as durably as it was kept. Says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] when the erasure was not kept.
    async fn forget(&self, email: &EmailAddress, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes.
    ///
    /// # Errors
    /// [`StoreError`] when it does not.
    fn check(&self) -> Answer<'_, (), StoreError>;
}

/// Tells the newsletter's provider of sign-ups, where no contact is kept.
#[async_trait]
pub trait SubscriptionNotifier: Send + Sync {
    /// Passes a sign-up on. When this returns `Ok` the provider has said that it has it.
    ///
    /// # Errors
    /// [`NotifyError`] when the provider did not say so within a few seconds.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError>;
}

/// The provider does not have the sign-up, as far as is known. The text is for the log, never for
/// a client, and names no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotifyError {
    /// Too many sign-ups are on their way already; this one was not sent.
    #[error("too many sign-ups on their way")]
    Overloaded,
    /// It refused, failed, or did not answer.
    #[error("provider failed: {0}")]
    Failed(String),
}

/// The store did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It cannot be read or written. The text is for the log, never for a client.
    #[error("store unavailable: {0}")]
    Unavailable(String),
    /// Too many changes are waiting already.
    #[error("store overloaded")]
    Overloaded,
}

// ---------------------------------------------------------------------------------------------
// Keys
// ---------------------------------------------------------------------------------------------

/// Keeps the free API keys, by fingerprint.
#[async_trait]
pub trait KeyIssuer: Send + Sync {
    /// Keeps a new key. When this returns `Ok` it survives a power cut.
    ///
    /// # Errors
    /// [`StoreError`] when it was not kept.
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError>;

    /// What is kept of a key, revoked and expired ones included for as long as they are kept.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError>;

    /// Revokes a key as durably as it was issued. Says whether it was there and not yet revoked.
    ///
    /// # Errors
    /// [`StoreError`] when the revocation was not kept.
    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError>;

    /// Whether the store takes writes.
    ///
    /// # Errors
    /// [`StoreError`] when it does not.
    fn check(&self) -> Answer<'_, (), StoreError>;
}

// ---------------------------------------------------------------------------------------------
// Revocations
// ---------------------------------------------------------------------------------------------

/// Keeps which registrations of agents were revoked. Of the others nothing is kept.
#[async_trait]
pub trait RevocationList: Send + Sync {
    /// Revokes a registration, and with it its client secret and every token. When this returns
    /// `Ok` the revocation survives a power cut. Of several racing ones exactly one is told that
    /// it was the first.
    ///
    /// # Errors
    /// [`StoreError`] when the revocation was not kept.
    async fn revoke(&self, registration: &Registration, now: Timestamp)
    -> Result<bool, StoreError>;

    /// Whether a registration was revoked. Once it has expired the answer may be either.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when the store cannot be read.
    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError>;
}

// ---------------------------------------------------------------------------------------------
// The model
// ---------------------------------------------------------------------------------------------

/// Answers visitors.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Whether a turn costs the operator money, so that all turns together are limited.
    fn is_metered(&self) -> bool;

    /// Takes a place among the turns that are answered at once. It is taken before the turn is
    /// charged, so that a turn there is no room for costs nobody anything.
    ///
    /// # Errors
    /// [`ModelError::NotStarted`] when every place is taken.
    fn reserve(&self) -> Result<Place, ModelError> {
        Ok(Place::unlimited())
    }

    /// The assistant's answer to the conversation: plain text, never empty. While it comes, its
    /// pieces are handed to `deltas`, if anybody reads them; together they are the answer.
    ///
    /// # Errors
    /// [`ModelError`] when there is no answer; it says who bears the turn. Once a piece has been
    /// handed out that is always the visitor.
    async fn reply(
        &self,
        conversation: &Conversation,
        deltas: &dyn Deltas,
    ) -> Result<String, ModelError>;
}

/// The model gave no answer. The texts are for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model did not work on the turn: it is given back to the visitor and to all together.
    #[error("model did not start: {0}")]
    NotStarted(String),
    /// The model, or what stands before it, gave an answer that is none. The visitor gets the turn
    /// back, but for all together it stays charged: the operator may have to pay for it.
    #[error("model gave no usable answer: {0}")]
    Unusable(String),
    /// The model worked on the turn, or may have: it stays charged.
    #[error("model failed after it started: {0}")]
    Started(String),
}

/// A place among the turns that a model answers at once; free again when it is dropped.
#[must_use]
pub struct Place {
    /// Whatever frees the place when it is dropped.
    _guard: Option<Box<dyn Send + Sync>>,
}

impl Place {
    /// One of as many as anybody wants.
    pub const fn unlimited() -> Self {
        Self { _guard: None }
    }

    /// A place that `guard` holds.
    pub fn held_by(guard: impl Send + Sync + 'static) -> Self {
        Self {
            _guard: Some(Box::new(guard)),
        }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Place(..)")
    }
}

/// Takes an answer's text as it comes.
#[async_trait]
pub trait Deltas: Send + Sync {
    /// Whether anybody reads along. If not, there is no need to answer in pieces.
    fn are_read(&self) -> bool;

    /// Hands out the next piece; waits while the reader has enough to read.
    ///
    /// # Errors
    /// [`ReaderGone`] when nobody reads any more: the answer need not go on.
    async fn push(&self, text: &str) -> Result<(), ReaderGone>;
}

/// Nobody reads the pieces of an answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the reader has gone")]
pub struct ReaderGone;

impl From<ReaderGone> for ModelError {
    fn from(gone: ReaderGone) -> Self {
        Self::Started(gone.to_string())
    }
}

/// The [`Deltas`] of an answer that is wanted whole.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unread;

#[async_trait]
impl Deltas for Unread {
    fn are_read(&self) -> bool {
        false
    }

    async fn push(&self, _text: &str) -> Result<(), ReaderGone> {
        Ok(())
    }
}

// ---------------------------------------------------------------------------------------------
// The limiter
// ---------------------------------------------------------------------------------------------

/// Counts requests in sliding windows ([`crate::domain::window`]).
///
/// Its answers are ready at once when the engine decides in memory; an engine on a network may
/// let them wait.
pub trait RateLimiter: Send + Sync {
    /// Charges one under every policy of `charges`, or none if any of them refuses. At most
    /// [`POLICIES_PER_REQUEST_MAX`] charges, each of another policy. A refusal records nothing, and
    /// an answer that is not ready charges nothing before it is awaited: it may be dropped and asked
    /// for again.
    fn acquire<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Acquired>;

    /// How the policies stand; charges nothing.
    fn peek<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Decision>;

    /// Takes back exactly what `grant` charged, as far as it still counts, and says how the
    /// policies stand then.
    fn refund(&self, grant: Grant, now: Timestamp) -> LimiterAnswer<'_, Decision>;
}

/// One policy to count a request under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which policy.
    pub policy: PolicyName,
    /// Its numbers.
    pub quota: Quota,
    /// The window.
    pub key: LimitKey,
    /// The network whose newcomers share a window when there is no room for one more; nothing for
    /// a window that is never shared.
    pub network: Option<Network>,
}

impl Charge {
    /// How its policy stands when its window is as full as `usage` says.
    #[must_use]
    pub fn standing(&self, usage: Usage, is_violated: bool) -> Standing {
        Standing {
            policy: self.policy,
            quota: self.quota,
            usage,
            is_violated,
        }
    }
}

/// What [`RateLimiter::acquire`] says.
#[derive(Debug, Default)]
pub struct Acquired {
    /// How every policy of the charges stands now.
    pub decision: Decision,
    /// What was charged; empty on a refusal.
    pub grant: Grant,
}

/// Proof of what was charged, good for one refund.
#[derive(Debug, Default)]
pub struct Grant {
    /// Each charge with the key it was really made under and the instant it was recorded at.
    pub entries: ArrayVec<(Charge, Timestamp), POLICIES_PER_REQUEST_MAX>,
}

impl Grant {
    /// The part of it that was charged under the policies that `is_wanted` names; the rest stays
    /// charged.
    #[must_use]
    pub fn only(mut self, is_wanted: impl Fn(PolicyName) -> bool) -> Self {
        self.entries.retain(|(charge, _)| is_wanted(charge.policy));
        self
    }
}

/// The limiter cannot decide. The text is for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limiter unavailable: {0}")]
pub struct LimiterError(pub String);

/// A [`RateLimiter`]'s answer.
pub type LimiterAnswer<'a, T> = Answer<'a, T, LimiterError>;

// ---------------------------------------------------------------------------------------------
// Answers
// ---------------------------------------------------------------------------------------------

/// The answer of a port that mostly has it at once: nothing is allocated then.
pub enum Answer<'a, T, E> {
    /// There already.
    Ready(Result<T, E>),
    /// Still to come from elsewhere. Nothing is done for it before it is awaited.
    Pending(Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>),
}

impl<'a, T, E> Answer<'a, T, E> {
    /// An answer that is there already.
    #[must_use]
    pub fn ready(value: T) -> Self {
        Self::decided(Ok(value))
    }

    /// One that is there already, good or not.
    #[must_use]
    pub fn decided(outcome: Result<T, E>) -> Self {
        Self::Ready(outcome)
    }

    /// An answer that is there already, made in its place: a large one would cost more to move than
    /// to make.
    #[must_use]
    pub fn filled(fill: impl FnOnce(&mut T)) -> Self
    where
        T: Default,
    {
        let mut answer = Self::Ready(Ok(T::default()));
        if let Self::Ready(Ok(value)) = &mut answer {
            fill(value);
        }
        answer
    }

    /// One that `future` will give.
    #[must_use]
    pub fn pending(future: impl Future<Output = Result<T, E>> + Send + 'a) -> Self {
        Self::Pending(Box::pin(future))
    }
}

impl<'a, T: Unpin + 'a, E: Unpin + 'a> Future for Answer<'a, T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.get_mut();
        if let Self::Pending(future) = answer {
            return future.as_mut().poll(context);
        }
        // Nobody asks again. What never comes is no data, and its box no memory.
        let never = Self::Pending(Box::pin(future::pending()));
        match std::mem::replace(answer, never) {
            Self::Ready(outcome) => Poll::Ready(outcome),
            Self::Pending(_) => Poll::Pending,
        }
    }
}

impl<T, E> std::fmt::Debug for Answer<'_, T, E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Answer::Ready(..)",
            Self::Pending(_) => "Answer::Pending(..)",
        })
    }
}

// ---------------------------------------------------------------------------------------------
// Time and chance
// ---------------------------------------------------------------------------------------------

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The wall clock. It may be set back.
    fn now(&self) -> Timestamp;
}

/// Draws random bytes fit for secrets.
pub trait Entropy: Send + Sync {
    /// Overwrites all of `bytes`.
    ///
    /// # Errors
    /// [`EntropyError`] when the operating system has none to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

/// No random bytes. The text is for the log, never for a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct EntropyError(pub String);
