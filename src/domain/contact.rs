//! Contacts, and the rules for what may be revealed about them.

use std::net::IpAddr;

use arrayvec::ArrayVec;

use super::consent::{Confirmation, Consent, ContactStatus, EndedConsent, LeaveToken, MailOutcome};
use super::delivery::Delivery;
use super::email::EmailAddress;
use super::macros::bytes;
use super::secret::MacKey;
use super::time::Timestamp;

/// A request to sign up an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignUp {
    /// The address.
    pub email: EmailAddress,
    /// The client.
    pub origin: Origin,
    /// Details of the consent, with the time of the request.
    pub consent: Consent,
    /// The text of the consent's digest.
    pub consent_text: Option<String>,
    /// Unsubscribe token, if the consent is a new one.
    pub leave_token: LeaveToken,
    /// Event or email to deliver, if the consent is the one that comes with that token.
    pub notice: Option<Delivery>,
    /// True if the contact receives nothing before it is confirmed.
    pub is_to_be_confirmed: bool,
}

/// The client that signed up a contact, as keyed hashes: they only show whether two are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The network.
    pub network: OriginHash,
    /// The credential, if one was presented.
    pub credential: Option<OriginHash>,
}

/// 63 bits of a keyed hash, and a bit for "behind a proxy". Collisions can't be searched for without the key.
/// A sign-up is compared with at most 8 hashes, so the probability of a chance collision is 2^-60.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OriginHash([u8; 8]);

impl OriginHash {
    /// From the `hash` under which limits count the network or credential. Its first byte is dropped: limits
    /// store the policy's tag in its place.
    pub fn new(key: &MacKey, [_, hash @ ..]: &[u8; 16]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = key.hash16(&[b"origin", hash]);
        Self([a, b, c, d, e, f, g, h]).in_front_of_proxy()
    }

    /// The same client behind a proxy in its network, which is not the client in front of it.
    #[must_use]
    pub const fn behind_proxy(self) -> Self {
        let Self([a, b, c, d, e, f, g, h]) = self;
        Self([a, b, c, d, e, f, g, h | 1])
    }

    /// The hash without that difference.
    #[must_use]
    pub const fn in_front_of_proxy(self) -> Self {
        let Self([a, b, c, d, e, f, g, h]) = self;
        Self([a, b, c, d, e, f, g, h & !1])
    }
}

bytes!(OriginHash: 8);

/// The last four clients that signed up a contact, the newest at the end.
///
/// A client's place among the four depends only on the sign-ups after its own. So a client can't learn from
/// its own sign-ups if the contact existed before the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signers(ArrayVec<Origin, 4>);

impl Signers {
    /// Adds `origin` as the newest, and removes the oldest if there are four others. True if its client was
    /// among them.
    pub fn renew(&mut self, origin: Origin) -> bool {
        let is_of_same_client = |signer: &Origin| {
            signer.network == origin.network
                || (origin.credential.is_some() && signer.credential == origin.credential)
        };
        let was_among = self.0.iter().any(is_of_same_client);
        self.0.retain(|signer| *signer != origin);
        if self.0.is_full() {
            self.0.pop_at(0);
        }
        self.0.push(origin);
        was_among
    }

    /// The clients, the newest at the end.
    pub fn iter(&self) -> impl Iterator<Item = &Origin> {
        self.0.iter()
    }
}

impl FromIterator<Origin> for Signers {
    fn from_iter<I: IntoIterator<Item = Origin>>(origins: I) -> Self {
        let mut signers = Self::default();
        for origin in origins {
            signers.renew(origin);
        }
        signers
    }
}

/// Outcome of a sign-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// The address is new.
    Created,
    /// The address was signed up before.
    Renewed {
        /// The client is one of the [`Signers`].
        by_same_client: bool,
    },
}

/// A stored contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The address.
    pub email: EmailAddress,
    /// The last clients that signed it up. Empty for an imported contact without a later sign-up.
    pub signers: Signers,
    /// Time of the first sign-up.
    pub subscribed_at: Timestamp,
    /// Time of the last sign-up; the same instant if there was only one.
    pub last_seen_at: Timestamp,
    /// Details of the consent; `None` for an imported contact without a later sign-up.
    pub consent: Option<Consent>,
    /// Its confirmation, given or pending; `None` if nobody asked for one.
    pub confirmation: Option<Confirmation>,
    /// When it unsubscribed, if that was after this consent, or if it has yet to be confirmed.
    pub left_at: Option<Timestamp>,
    /// Proof of the consent before, if an unsubscribe ended it. Exactly one is stored, so that nothing grows.
    pub previous: Option<EndedConsent>,
    /// Token of its unsubscribe and confirmation links.
    pub leave_token: Option<LeaveToken>,
}

impl Contact {
    /// The contact after a sign-up of its address, which was `known` before or not. Also returns the sign-up's notice,
    /// if its consent is new.
    pub fn signed_up(
        known: Option<Self>,
        mut sign_up: SignUp,
    ) -> (Self, Subscription, Option<Delivery>) {
        let (token, notice) = (sign_up.leave_token, sign_up.notice.take());
        let Some(mut contact) = known else {
            let at = sign_up.consent.at;
            let contact = Self {
                signers: Signers::from_iter([sign_up.origin]),
                consent: Some(sign_up.consent),
                confirmation: sign_up.is_to_be_confirmed.then(Confirmation::default),
                ..Self::imported(sign_up.email, at, None, Some(token))
            };
            return (contact, Subscription::Created, notice);
        };
        let by_same_client = contact.renew(sign_up);
        let notice = notice.filter(|_| contact.leave_token == Some(token));
        (contact, Subscription::Renewed { by_same_client }, notice)
    }

    /// A contact from elsewhere, such as another service's export.
    pub fn imported(
        email: EmailAddress,
        subscribed_at: Timestamp,
        left_at: Option<Timestamp>,
        leave_token: Option<LeaveToken>,
    ) -> Self {
        Self {
            email,
            signers: Signers::default(),
            subscribed_at,
            last_seen_at: subscribed_at,
            consent: None,
            confirmation: None,
            left_at,
            previous: None,
            leave_token,
        }
    }

    /// Applies another sign-up. It is a new consent, with a new token, if the contact was unsubscribed, and the ended
    /// one becomes the previous one. Otherwise the first consent and token remain: anybody can sign the address up
    /// again, and the links in emails already sent have to work. An unconfirmed contact stays unconfirmed. True if
    /// the client is one of the [`Signers`].
    pub fn renew(&mut self, sign_up: SignUp) -> bool {
        self.last_seen_at = sign_up.consent.at;
        if let Some(left_at) = self.left_at.filter(|_| !self.is_pending()) {
            self.previous = Some(EndedConsent {
                consent: self.consent.take(),
                confirmation: self.confirmation.take(),
                left_at,
            });
            self.leave_token = None;
            self.confirmation = sign_up.is_to_be_confirmed.then(Confirmation::default);
        } else if self.is_pending() && !sign_up.is_to_be_confirmed {
            self.confirmation = None;
        }
        if !self.is_pending() {
            self.left_at = None;
        }
        self.consent.get_or_insert(sign_up.consent);
        self.leave_token.get_or_insert(sign_up.leave_token);
        self.signers.renew(sign_up.origin)
    }

    /// State of its subscription.
    pub fn status(&self) -> ContactStatus {
        match self.left_at {
            _ if self.is_pending() => ContactStatus::Pending,
            None => ContactStatus::Subscribed,
            Some(_) => ContactStatus::Unsubscribed,
        }
    }

    /// True if it is unconfirmed.
    pub fn is_pending(&self) -> bool {
        let confirmation = self.confirmation.as_ref();
        confirmation.is_some_and(|confirmation| confirmation.confirmed_at.is_none())
    }

    /// Unsubscribes it. False if it was not subscribed.
    pub fn leave(&mut self, now: Timestamp) -> bool {
        let is_subscribed = self.status() == ContactStatus::Subscribed;
        if is_subscribed {
            self.left_at = Some(now);
        }
        is_subscribed
    }

    /// Confirms it, on behalf of the mailbox's reader. True if that changes anything.
    pub fn confirm(&mut self, now: Timestamp, ip: Option<IpAddr>) -> bool {
        let is_pending = self.is_pending();
        if let Some(confirmation) = self.confirmation.as_mut().filter(|_| is_pending) {
            (confirmation.confirmed_at, confirmation.ip) = (Some(now), ip);
            self.left_at = None;
        }
        is_pending
    }

    /// Records the end of the email that asks to confirm. False if it is not unconfirmed any more.
    pub fn note_mail(&mut self, outcome: MailOutcome, at: Timestamp) -> bool {
        let is_pending = self.is_pending();
        if let Some(confirmation) = self.confirmation.as_mut().filter(|_| is_pending) {
            if outcome == MailOutcome::Taken {
                confirmation.mailed_at = Some(at);
            }
            confirmation.undeliverable_at = (outcome == MailOutcome::Refused).then_some(at);
        }
        is_pending
    }

    /// Applies the end of the confirmation period. True if the contact remains, because it had unsubscribed
    /// before: the consent of that time is its last one again.
    pub fn expire(&mut self) -> bool {
        let ended = self.previous.take();
        (self.consent, self.confirmation) =
            ended.map_or((None, None), |ended| (ended.consent, ended.confirmation));
        self.left_at.is_some()
    }

    /// Start of the confirmation period: when its email was accepted or refused for good. An email that
    /// failed in all its attempts starts none.
    pub fn pending_since(&self) -> Option<Timestamp> {
        let confirmation = self.confirmation.as_ref()?;
        let consent = self.consent.as_ref();
        let asked_at = consent.map_or(self.last_seen_at, |consent| consent.at);
        let ended_at = confirmation.mail_ended_at();
        let begin = ended_at.unwrap_or_else(|| asked_at.plus_ms(Delivery::ATTEMPTS_MS_MAX));
        self.is_pending().then_some(begin)
    }
}

/// The trace of an erased address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Keyed hash of the address ([`EmailAddress::tombstone`]).
    pub address: [u8; 16],
    /// When the mailbox's reader refused further emails, if that is the reason.
    pub refused_at: Option<Timestamp>,
}

/// Outcome of an import for one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The contact is new.
    Created,
    /// The contact exists, and is unchanged.
    Known,
    /// Skipped: the address was erased on request.
    Forgotten,
}

/// Outcome of an erasure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// For each address, in the given order: true if there was a contact.
    pub was_known: Vec<bool>,
    /// Number of deliveries to one of the addresses that were in flight. All others are dropped.
    pub in_flight: u64,
    /// If a file of the store may still contain one of the addresses: which, why, and the remedy, in one sentence for the
    /// operator, without any address. A database's own files, log and backups are unknown here.
    pub remaining: Option<String>,
}
