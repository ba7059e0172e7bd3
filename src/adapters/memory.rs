//! The twin of every port, in plain collections: what the contracts mean, without a technology.
//! Tests run the service on these; they keep nothing past the process.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::domain::agent::Registration;
use crate::domain::chat::Conversation;
use crate::domain::client::LimitKey;
use crate::domain::contact::{Contact, Notice, SignUp, Subscription};
use crate::domain::credential::{Fingerprint, KeyRecord};
use crate::domain::decision::Decision;
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::domain::window::{Usage, Window};
use crate::ports::{
    Acquired, Answer, Charge, Clock, ContactStore, Deltas, Entropy, EntropyError, Grant, KeyIssuer,
    LimiterAnswer, ModelClient, ModelError, NotifyError, RateLimiter, ReaderGone, RevocationList,
    StoreError, SubscriptionNotifier,
};

/// Locks, and goes on after a panic elsewhere: every change below is made in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a store that was told to fail fails with.
#[derive(Debug, Default)]
struct Fault(Mutex<Option<StoreError>>);

impl Fault {
    fn set(&self, failure: Option<StoreError>) {
        *lock(&self.0) = failure;
    }

    fn check(&self) -> Result<(), StoreError> {
        lock(&self.0).clone().map_or(Ok(()), Err)
    }
}

/// Contacts in a map. It can be told to fail.
#[derive(Debug, Default)]
pub struct MemoryContactStore {
    contacts: Mutex<BTreeMap<String, Contact>>,
    fault: Fault,
}

impl MemoryContactStore {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }

    /// How many contacts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.contacts).len()
    }

    /// Whether there is no contact.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[async_trait]
impl ContactStore for MemoryContactStore {
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        self.fault.check()?;
        let mut contacts = lock(&self.contacts);
        if let Some(contact) = contacts.get_mut(sign_up.email.as_str()) {
            contact.last_seen_at = sign_up.at;
            return Ok(Subscription::Renewed(contact.origin));
        }
        let contact = Contact {
            email: sign_up.email,
            origin: sign_up.origin,
            subscribed_at: sign_up.at,
            last_seen_at: sign_up.at,
        };
        contacts.insert(contact.email.as_str().to_owned(), contact);
        Ok(Subscription::Created)
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.contacts).get(email.as_str()).cloned())
    }

    async fn forget(&self, email: &EmailAddress, _now: Timestamp) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.contacts).remove(email.as_str()).is_some())
    }

    fn check(&self) -> Answer<'_, (), StoreError> {
        Answer::decided(self.fault.check())
    }
}

/// Keys in a map. It can be told to fail.
#[derive(Debug, Default)]
pub struct MemoryKeyIssuer {
    keys: Mutex<HashMap<Fingerprint, KeyRecord>>,
    fault: Fault,
}

impl MemoryKeyIssuer {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl KeyIssuer for MemoryKeyIssuer {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.fault.check()?;
        lock(&self.keys).insert(record.fingerprint, record);
        Ok(())
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.keys).get(fingerprint).cloned())
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        self.fault.check()?;
        match lock(&self.keys).get_mut(fingerprint) {
            Some(record) if record.revoked_at.is_none() => {
                record.revoked_at = Some(now);
                Ok(true)
            }
            Some(_) | None => Ok(false),
        }
    }

    fn check(&self) -> Answer<'_, (), StoreError> {
        Answer::decided(self.fault.check())
    }
}

/// Revocations in a set, which are never dropped. It can be told to fail.
#[derive(Debug, Default)]
pub struct MemoryRevocationList {
    revoked: Mutex<HashSet<Fingerprint>>,
    fault: Fault,
}

impl MemoryRevocationList {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<StoreError>) {
        self.fault.set(failure);
    }
}

#[async_trait]
impl RevocationList for MemoryRevocationList {
    async fn revoke(
        &self,
        registration: &Registration,
        _now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.revoked).insert(registration.fingerprint()))
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        self.fault.check()?;
        Ok(lock(&self.revoked).contains(&registration.fingerprint()))
    }
}

/// A provider that remembers what it was told. It can be told to fail.
#[derive(Debug, Default)]
pub struct ScriptedSubscriptionNotifier {
    told: Mutex<Vec<Notice>>,
    failure: Mutex<Option<NotifyError>>,
}

impl ScriptedSubscriptionNotifier {
    /// From now on every call fails with `failure`, or works again.
    pub fn fail_with(&self, failure: Option<NotifyError>) {
        *lock(&self.failure) = failure;
    }

    /// The sign-ups it was told of, oldest first.
    #[must_use]
    pub fn told(&self) -> Vec<Notice> {
        lock(&self.told).clone()
    }
}

#[async_trait]
impl SubscriptionNotifier for ScriptedSubscriptionNotifier {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if let Some(failure) = lock(&self.failure).clone() {
            return Err(failure);
        }
        lock(&self.told).push(notice.clone());
        Ok(())
    }
}

/// Windows in a map behind one lock. It never forgets one, so it is for tests only.
#[derive(Debug, Default)]
pub struct MemoryRateLimiter {
    windows: Mutex<HashMap<LimitKey, Window>>,
}

impl RateLimiter for MemoryRateLimiter {
    fn acquire<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Acquired> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for charge in charges {
            let usage = peek(&mut windows, charge, now);
            let is_violated = usage.counted >= charge.quota.count();
            decision.push(charge.standing(usage, is_violated));
        }
        let mut grant = Grant::default();
        if !decision.is_refused() {
            decision = Decision::default();
            for charge in charges {
                let window = windows.entry(charge.key).or_default();
                if let Ok(admission) = window.admit(charge.quota, now) {
                    decision.push(charge.standing(admission.usage, false));
                    grant.entries.push((*charge, admission.at));
                }
            }
        }
        LimiterAnswer::ready(Acquired { decision, grant })
    }

    fn peek<'a>(&'a self, charges: &'a [Charge], now: Timestamp) -> LimiterAnswer<'a, Decision> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for charge in charges {
            let usage = peek(&mut windows, charge, now);
            decision.push(charge.standing(usage, false));
        }
        LimiterAnswer::ready(decision)
    }

    fn refund(&self, grant: Grant, now: Timestamp) -> LimiterAnswer<'_, Decision> {
        let mut windows = lock(&self.windows);
        let mut decision = Decision::default();
        for (charge, admitted) in grant.entries {
            let window = windows.entry(charge.key).or_default();
            let usage = window.refund(admitted, charge.quota, now);
            decision.push(charge.standing(usage, false));
        }
        LimiterAnswer::ready(decision)
    }
}

fn peek(windows: &mut HashMap<LimitKey, Window>, charge: &Charge, now: Timestamp) -> Usage {
    windows
        .entry(charge.key)
        .or_default()
        .peek(charge.quota, now)
}

/// Gives prepared answers in order, word by word, then the same friendly one for ever. It remembers
/// what it was asked.
#[derive(Debug, Default)]
pub struct ScriptedModelClient {
    answers: Mutex<VecDeque<Result<String, ModelError>>>,
    asked: Mutex<Vec<Conversation>>,
    is_metered: bool,
}

impl ScriptedModelClient {
    /// A client that gives `answers` first.
    #[must_use]
    pub fn new(answers: impl IntoIterator<Item = Result<String, ModelError>>) -> Self {
        Self {
            answers: Mutex::new(answers.into_iter().collect()),
            ..Self::default()
        }
    }

    /// The same client, as one whose turns cost money.
    #[must_use]
    pub fn metered(mut self) -> Self {
        self.is_metered = true;
        self
    }

    /// The conversations it was asked to answer, oldest first.
    #[must_use]
    pub fn asked(&self) -> Vec<Conversation> {
        lock(&self.asked).clone()
    }
}

#[async_trait]
impl ModelClient for ScriptedModelClient {
    fn is_metered(&self) -> bool {
        self.is_metered
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        deltas: &dyn Deltas,
    ) -> Result<String, ModelError> {
        lock(&self.asked).push(conversation.clone());
        let answer = lock(&self.answers)
            .pop_front()
            .unwrap_or_else(|| Ok("Hello, I am the scripted assistant.".to_owned()))?;
        for word in answer.split_inclusive(' ') {
            deltas.push(word).await?;
        }
        Ok(answer)
    }
}

/// Keeps the pieces of an answer. After so many it can leave.
#[derive(Debug, Default)]
pub struct MemoryDeltas {
    pieces: Mutex<Vec<String>>,
    stays_for: Option<usize>,
}

impl MemoryDeltas {
    /// A reader that leaves after `pieces` pieces.
    #[must_use]
    pub fn leaving_after(pieces: usize) -> Self {
        Self {
            stays_for: Some(pieces),
            ..Self::default()
        }
    }

    /// What was handed out, oldest first.
    #[must_use]
    pub fn pieces(&self) -> Vec<String> {
        lock(&self.pieces).clone()
    }
}

#[async_trait]
impl Deltas for MemoryDeltas {
    fn are_read(&self) -> bool {
        true
    }

    async fn push(&self, text: &str) -> Result<(), ReaderGone> {
        let mut pieces = lock(&self.pieces);
        if self.stays_for.is_some_and(|most| pieces.len() >= most) {
            return Err(ReaderGone);
        }
        pieces.push(text.to_owned());
        Ok(())
    }
}

/// A clock that moves only when told to.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_ms()))
    }

    /// Moves forward.
    pub fn advance_ms(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Moves anywhere, back too.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_ms(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// Bytes that look random and are the same in every run.
#[derive(Debug, Default)]
pub struct SeededEntropy(AtomicU64);

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        let draw = self.0.fetch_add(1, Ordering::SeqCst);
        blake3::Hasher::new()
            .update(&draw.to_be_bytes())
            .finalize_xof()
            .fill(bytes);
        Ok(())
    }
}
