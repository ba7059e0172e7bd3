//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{Contact, Origin, SignUp, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, StoreError};

use super::record::{Event, Identity, Kept};
use super::store::LedgerStore;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        self.commit(move |draft| {
            let found = draft.find(&identity(&sign_up.email))?;
            if let Some(contact) = found.and_then(|kept| contact(sign_up.email.clone(), &kept)) {
                draft.record(&Event::seen(&sign_up.email, sign_up.at))?;
                Ok(Subscription::Renewed(contact.origin))
            } else {
                draft.record(&Event::subscribed(&sign_up))?;
                Ok(Subscription::Created)
            }
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let found = self.look_up(&identity(email))?;
        Ok(found.and_then(|kept| contact(email.clone(), &kept)))
    }

    async fn forget(&self, email: &EmailAddress, now: Timestamp) -> Result<bool, StoreError> {
        let email = email.clone();
        self.commit(move |draft| {
            let is_known = draft.find(&identity(&email))?.is_some();
            if is_known {
                draft.record(&Event::forgotten(&email, now))?;
            }
            Ok(is_known)
        })
        .await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.check_writes().await
    }
}

fn identity(email: &EmailAddress) -> Identity {
    Identity::contact(email.as_str())
}

/// Builds the contact from its kept events.
fn contact(email: EmailAddress, kept: &Kept<Event>) -> Option<Contact> {
    let Event::ContactSubscribed {
        network,
        credential,
        at,
        ..
    } = &kept.first
    else {
        return None;
    };
    Some(Contact {
        email,
        origin: Origin {
            network: network.0,
            credential: credential.map(|credential| credential.0),
        },
        subscribed_at: *at,
        last_seen_at: kept.last.as_ref().map_or(*at, Event::at),
    })
}
