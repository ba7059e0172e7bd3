//! Contacts in a map.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;

use crate::domain::contact::{Contact, SignUp, Signers, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, StoreError};

use super::fault::Fault;
use super::lock;

/// Contacts in a map. It can be set to fail.
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
            let by_same_client = contact.signers.renew(sign_up.origin);
            return Ok(Subscription::Renewed { by_same_client });
        }
        let contact = Contact {
            email: sign_up.email,
            signers: Signers::from_iter([sign_up.origin]),
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

    async fn check(&self) -> Result<(), StoreError> {
        self.fault.check()
    }
}
