//! Contacts in a map.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Mutex;

use async_trait::async_trait;

use landing_api::domain::consent::{ContactStatus, LeaveToken, StatusCounts, TextDigest};
use landing_api::domain::contact::{Contact, Erasure, ImportOutcome, SignUp, Subscription};
use landing_api::domain::delivery::{Channel, Delivery};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore, ContactStream, REFUSED_MS, StoreError};

use super::delivery_queue::Deliveries;
use super::fault::Faulty;
use super::{lock, pages};

/// Contacts in a map. It can be set to fail.
#[derive(Debug, Default)]
pub(crate) struct MemoryContactStore {
    pub(super) contacts: Faulty<Contacts>,
    pub(super) deliveries: Deliveries,
    sign_up_fault: Faulty<()>,
    /// How another request answers just before the next confirmation.
    other_answer: Mutex<Option<&'static str>>,
}

#[derive(Debug, Default)]
pub(super) struct Contacts {
    /// By address, each with its place in the order in which they were added.
    pub(super) kept: BTreeMap<String, (u64, Contact)>,
    forgotten: BTreeSet<String>,
    added: u64,
    /// When whoever reads their mail wanted none.
    refused: BTreeMap<String, Timestamp>,
    texts: BTreeMap<[u8; 16], String>,
}

impl Contacts {
    fn add(&mut self, contact: Contact) {
        self.added += 1;
        let email = contact.email.as_str().to_owned();
        self.forgotten.remove(&email);
        self.kept.insert(email, (self.added, contact));
    }

    fn with_token(&mut self, token: &LeaveToken) -> Option<&mut Contact> {
        let mut kept = self.kept.values_mut().map(|(_, contact)| contact);
        kept.find(|contact| contact.leave_token == Some(*token))
    }

    fn import(&mut self, row: Contact, unforget: bool) -> ImportOutcome {
        if self.kept.contains_key(row.email.as_str()) {
            return ImportOutcome::Known;
        }
        if !unforget && self.forgotten.contains(row.email.as_str()) {
            return ImportOutcome::Forgotten;
        }
        self.add(row);
        ImportOutcome::Created
    }

    fn forget(&mut self, email: &EmailAddress) -> bool {
        self.forgotten.insert(email.as_str().to_owned());
        self.kept.remove(email.as_str()).is_some()
    }
}

impl MemoryContactStore {
    /// From now on every call fails with `failure`, or works again.
    pub(crate) fn fail_with(&self, failure: Option<StoreError>) {
        self.contacts.fail_with(failure);
    }

    /// Like `fail_with`, for [`ContactStore::sign_up`] alone.
    pub(crate) fn fail_to_sign_up(&self, failure: Option<StoreError>) {
        self.sign_up_fault.fail_with(failure);
    }

    /// Just before the next confirmation, another request confirms or refuses.
    pub(crate) fn answer_first(&self, answer: &'static str) {
        *lock(&self.other_answer) = Some(answer);
    }

    pub(crate) fn len(&self) -> usize {
        self.contacts.kept().kept.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[async_trait]
impl ContactStore for MemoryContactStore {
    async fn sign_up(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let mut contacts = self.contacts.get()?;
        self.sign_up_fault.fault()?;
        let refused_at = contacts.refused.get(sign_up.email.as_str());
        let is_refused = refused_at.is_some_and(|at| sign_up.consent.at < at.plus_ms(REFUSED_MS));
        let is_due = |it: &Delivery| !(is_refused && it.kind.channel() == Channel::Mail);
        if let (Some(digest), Some(text)) = (sign_up.consent.text, &sign_up.consent_text) {
            contacts.texts.insert(*digest.as_bytes(), text.clone());
        }
        let known = contacts.kept.get_mut(sign_up.email.as_str());
        let before = known.as_ref().map(|(_, contact)| contact.clone());
        let (contact, subscription, notice) = Contact::signed_up(before, sign_up);
        match known {
            Some((_, known)) => *known = contact,
            None => contacts.add(contact),
        }
        self.deliveries.add(notice.filter(is_due));
        Ok(subscription)
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let found = self.contacts.get()?.kept.get(email.as_str()).cloned();
        Ok(found.map(|(_, contact)| contact))
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        Ok(self.contacts.get()?.with_token(token).cloned())
    }

    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut contacts = self.contacts.get()?;
        let Some(contact) = contacts.with_token(token) else {
            return Ok(false);
        };
        if !contact.leave(now) {
            return Ok(false);
        }
        self.deliveries.forget(&contact.email);
        self.deliveries.add(notice);
        Ok(true)
    }

    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError> {
        Ok(self.contacts.get()?.texts.get(digest.as_bytes()).cloned())
    }

    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.contacts.fault()?;
        let other_answer = lock(&self.other_answer).take();
        match other_answer {
            Some("refuse") => self.refuse(token, now).await.map(drop)?,
            Some(_) => self.confirm(token, None, None, now).await.map(drop)?,
            None => {}
        }
        let mut contacts = self.contacts.get()?;
        let Some(contact) = contacts.with_token(token) else {
            return Ok(false);
        };
        let is_confirmed = contact.confirm(now, ip);
        if is_confirmed {
            self.deliveries.add(notice);
        }
        Ok(is_confirmed)
    }

    async fn refuse(&self, token: &LeaveToken, now: Timestamp) -> Result<bool, StoreError> {
        let mut contacts = self.contacts.get()?;
        let found = contacts.with_token(token).cloned();
        let is_pending = |it: &Contact| it.status() == ContactStatus::Pending;
        let Some(contact) = found.filter(is_pending) else {
            return Ok(false);
        };
        contacts.forget(&contact.email);
        let email = contact.email.as_str().to_owned();
        contacts.refused.insert(email, now);
        self.deliveries.forget(&contact.email);
        Ok(true)
    }

    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let contacts = self.contacts.get()?;
        let refused_at = contacts.refused.get(email.as_str());
        let until = refused_at.map(|at| at.plus_ms(REFUSED_MS));
        Ok(until.filter(|until| now < *until))
    }

    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError> {
        self.contacts.get()?.refused.remove(email.as_str());
        Ok(())
    }

    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError> {
        let contacts = self.contacts.get()?;
        let is_overdue = |contact: &Contact| {
            let mail = contact.confirmation.as_ref();
            let has_ended = mail.is_some_and(|mail| mail.mail_ended_at().is_some());
            contact.pending_since().is_some_and(|at| at <= before) && (has_ended || !is_mailed)
        };
        let contacts = contacts.kept.values().map(|(_, contact)| contact);
        let overdue = contacts.filter(|contact| is_overdue(contact));
        Ok(overdue.take(count).cloned().collect())
    }

    async fn status_counts(&self) -> Result<StatusCounts, StoreError> {
        let contacts = self.contacts.get()?;
        let count = |status| {
            let of_status = contacts
                .kept
                .values()
                .filter(|(_, it)| it.status() == status);
            of_status.count() as u64
        };
        Ok(StatusCounts {
            pending: count(ContactStatus::Pending),
            unsubscribed: count(ContactStatus::Unsubscribed),
        })
    }

    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError> {
        let mut kept: Vec<_> = self.contacts.get()?.kept.values().cloned().collect();
        kept.sort_by_key(|(place, _)| *place);
        let contacts = kept.into_iter().map(|(_, contact)| contact);
        Ok(pages(contacts.filter(|contact| {
            let at = contact.subscribed_at;
            since.is_none_or(|since| since <= at) && until.is_none_or(|until| at < until)
        })))
    }

    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let contacts = self.contacts.get()?;
        let instants = contacts.kept.values().map(|(_, it)| it.subscribed_at);
        let within = instants.filter(|at| {
            since.is_none_or(|since| since <= *at) && until.is_none_or(|until| *at < until)
        });
        Ok(within.count() as u64)
    }

    async fn import(
        &self,
        rows: Vec<Contact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let mut contacts = self.contacts.get()?;
        let rows = rows.into_iter();
        Ok(rows.map(|row| contacts.import(row, unforget)).collect())
    }

    async fn forget(
        &self,
        emails: &[EmailAddress],
        _now: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let mut contacts = self.contacts.get()?;
        Ok(Erasure {
            was_known: emails.iter().map(|email| contacts.forget(email)).collect(),
            in_flight: emails.iter().map(|it| self.deliveries.forget(it)).sum(),
            ..Erasure::default()
        })
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, _now: Timestamp) -> Result<u64, StoreError> {
        let mut contacts = self.contacts.get()?;
        let mut count = 0;
        for token in tokens {
            let Some(contact) = contacts.with_token(&token).filter(|it| it.is_pending()) else {
                continue;
            };
            let (stays, email) = (contact.expire(), contact.email.clone());
            if !stays {
                contacts.forget(&email);
            }
            self.deliveries.forget(&email);
            count += 1;
        }
        Ok(count)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.contacts.fault()
    }
}
