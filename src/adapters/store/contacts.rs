//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{Contact, SignUp, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, StoreError};

use super::SledStore;
use super::index::{ContactEntry, contact_name};
use super::ledger::Event;

#[async_trait]
impl ContactStore for SledStore {
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        self.commit(move |draft| {
            if let Some(contact) = draft.contact(&sign_up.email)? {
                draft.record(Event::seen(&sign_up.email, sign_up.at))?;
                Ok(Subscription::Renewed(contact.origin))
            } else {
                draft.record(Event::subscribed(&sign_up))?;
                Ok(Subscription::Created)
            }
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let entry = self.look_up(&contact_name(email.as_str()), ContactEntry::from_bytes)?;
        Ok(entry.map(|entry| entry.into_contact(email.clone())))
    }

    async fn forget(&self, email: &EmailAddress, now: Timestamp) -> Result<bool, StoreError> {
        let email = email.clone();
        self.commit(move |draft| {
            if draft.contact(&email)?.is_none() {
                return Ok(false);
            }
            draft.record(Event::forgotten(&email, now))?;
            Ok(true)
        })
        .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.check_writes().await
    }
}
