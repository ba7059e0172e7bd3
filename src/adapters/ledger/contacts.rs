//! The newsletter's contacts.

use async_trait::async_trait;

use crate::domain::contact::{Contact, SignUp, Signers, Subscription};
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::ports::{ContactStore, StoreError};

use super::record::{Event, Identity, Kept, Signer};
use super::store::LedgerStore;

#[async_trait]
impl ContactStore for LedgerStore {
    async fn subscribe(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        self.commit(move |draft| {
            let found = draft.find(&identity(&sign_up.email))?;
            if let Some(mut signers) = found.as_ref().and_then(signers) {
                let by_same_client = signers.renew(sign_up.origin);
                draft.record(&Event::seen(&sign_up.email, &signers, sign_up.at))?;
                Ok(Subscription::Renewed { by_same_client })
            } else {
                draft.record(&Event::subscribed(&sign_up))?;
                Ok(Subscription::Created)
            }
        })
        .await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let found = self.look_up(&identity(email)).await?;
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
    let subscribed_at = kept.first.at();
    Some(Contact {
        email,
        signers: signers(kept)?,
        subscribed_at,
        last_seen_at: kept.last.as_ref().map_or(subscribed_at, Event::at),
    })
}

/// The last clients that signed the contact up, from its kept events.
fn signers(kept: &Kept<Event>) -> Option<Signers> {
    let Event::ContactSubscribed {
        network,
        credential,
        ..
    } = kept.first
    else {
        return None;
    };
    let first = [Signer {
        network,
        credential,
    }];
    let last = match &kept.last {
        // Before format 3 only the first was recorded.
        Some(Event::ContactSeen { signers, .. }) if !signers.is_empty() => signers,
        _ => first.as_slice(),
    };
    Some(last.iter().copied().map(Into::into).collect())
}
