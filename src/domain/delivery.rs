//! Outgoing events and emails: created once, stored until delivered or failed for good. Retries follow a rule
//! on times alone.

use super::client::LimitKey;
use super::consent::{LeaveToken, MailOutcome};
use super::email::EmailAddress;
use super::macros::{bytes, hex, hidden, names};
use super::time::{DAY_MS, Timestamp};

names! {
    /// A channel of deliveries. Each has its own worker, so that a channel that hangs doesn't hold up
    /// another.
    pub enum Channel {
        /// The operator's own program.
        Webhook => "webhook",
        /// Email, through the operator's account.
        Mail => "mail",
    }
}

names! {
    /// Event type.
    pub enum DeliveryKind {
        /// An address was signed up.
        Subscribed => "newsletter.subscribed",
        /// A contact was confirmed.
        Confirmed => "newsletter.confirmed",
        /// A contact unsubscribed.
        Unsubscribed => "newsletter.unsubscribed",
        /// A contact was erased.
        Erased => "newsletter.erased",
        /// The email that asks a contact to confirm.
        ConfirmationMail => "mail.confirmation",
    }
}

impl DeliveryKind {
    /// The channel.
    pub const fn channel(self) -> Channel {
        match self {
            Self::Subscribed | Self::Confirmed | Self::Unsubscribed | Self::Erased => {
                Channel::Webhook
            }
            Self::ConfirmationMail => Channel::Mail,
        }
    }
}

/// Identifies a delivery, also to its receiver: the same in each attempt, and impossible to guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeliveryId([u8; 16]);

impl DeliveryId {
    /// Id of an event at this time about the contact with this token.
    pub fn new(kind: DeliveryKind, token: &LeaveToken, at: Timestamp) -> Self {
        let (at, kind) = (at.as_ms().to_be_bytes(), kind.as_str().as_bytes());
        let hash = blake3::hash(&[&token.as_bytes()[..], &at, kind].concat());
        Self(*hash.as_bytes().first_chunk().unwrap_or(&[0; 16]))
    }
}

/// A delivery and the state of its attempts.
#[derive(Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id, the same in each attempt.
    pub id: DeliveryId,
    /// Event type.
    pub kind: DeliveryKind,
    /// The address it contains, if any. Erasing the address drops the delivery.
    pub email: Option<EmailAddress>,
    /// Body sent, the same in each attempt.
    pub body: String,
    /// The IPv4 /24 or IPv6 /48 that caused it, if networks take turns: the limiter key of its emails.
    pub network: Option<LimitKey>,
    /// When it was created.
    pub queued_at: Timestamp,
    /// When the next attempt is due.
    pub due_at: Timestamp,
    /// Number of failed attempts.
    pub attempts: u32,
    /// Error of the last failed attempt, without any address.
    pub last_error: Option<String>,
    /// When it failed for good, if it did.
    pub dead_at: Option<Timestamp>,
}

/// Why an attempt failed. The texts contain no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A retry may succeed.
    Later {
        /// The reason, in words.
        error: String,
        /// Pause requested by the other side.
        wait_ms: Option<u64>,
    },
    /// No attempt will succeed.
    Final(String),
}

/// Pause after each failed attempt, in seconds. After the tenth, three days after the first one, the delivery
/// has failed for good. The schedule of Standard Webhooks 1.0.
const WAITS_S: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The same for emails: greylisting mailboxes accept a new sender only after some minutes.
const MAIL_WAITS_S: [u64; 9] = [
    300, 900, 1_800, 3_600, 14_400, 28_800, 43_200, 79_200, 86_400,
];

/// Maximum length of a stored error, in characters.
const ERROR_LENGTH_MAX: usize = 400;

/// Longest pause the other side can request.
const ASKED_WAIT_MS_MAX: u64 = 3_600_000;

/// Upper bound of any pause. A later due date means that the clock was wrong when it was set.
const WAIT_MS_MAX: u64 = DAY_MS + DAY_MS / 10;

impl Delivery {
    /// Retention and maximum number of deliveries that failed for good.
    pub const DEAD_KEPT_MS: u64 = 30 * DAY_MS;
    /// See [`Self::DEAD_KEPT_MS`].
    pub const DEAD_KEPT_MAX: usize = 10_000;

    /// Time within which all attempts are made.
    pub const ATTEMPTS_MS_MAX: u64 = 4 * DAY_MS;

    /// A delivery that is due at once.
    pub const fn new(
        id: DeliveryId,
        kind: DeliveryKind,
        email: Option<EmailAddress>,
        body: String,
        now: Timestamp,
    ) -> Self {
        Self {
            id,
            kind,
            email,
            body,
            network: None,
            queued_at: now,
            due_at: now,
            attempts: 0,
            last_error: None,
            dead_at: None,
        }
    }

    /// True if an attempt is due. A clock that was set back delays nothing.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let is_time = self.due_at <= now || self.due_at > now.plus_ms(WAIT_MS_MAX);
        self.dead_at.is_none() && is_time
    }

    /// Records a failed attempt. `jitter` delays the next one by up to a tenth, so that they don't all run at
    /// once.
    pub fn fail(&mut self, failure: Failure, jitter: u8, now: Timestamp) {
        let waits_s = match self.kind.channel() {
            Channel::Webhook => &WAITS_S,
            Channel::Mail => &MAIL_WAITS_S,
        };
        let wait_s = waits_s.get(self.attempts as usize);
        self.attempts += 1;
        let (error, wait_ms) = match (failure, wait_s) {
            (Failure::Later { error, wait_ms }, Some(wait_s)) => {
                let own_ms = wait_s * 1000 + wait_s * 100 * u64::from(jitter) / u64::from(u8::MAX);
                let asked_ms = wait_ms.unwrap_or(0).min(ASKED_WAIT_MS_MAX);
                (error, Some(own_ms.max(asked_ms)))
            }
            (Failure::Later { error, .. } | Failure::Final(error), _) => (error, None),
        };
        // Stores have room for a bounded text of any content.
        let error = error.chars().filter(|char| !char.is_control());
        self.last_error = Some(error.take(ERROR_LENGTH_MAX).collect());
        match wait_ms {
            Some(wait_ms) => self.due_at = now.plus_ms(wait_ms),
            None => self.dead_at = Some(now),
        }
    }

    /// Makes it due at once, with all its attempts.
    pub fn retry(&mut self, now: Timestamp) {
        (self.due_at, self.attempts, self.dead_at) = (now, 0, None);
    }
}

/// The network to serve next. Networks take turns, so that one with many deliveries doesn't hold up the
/// others.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The network served last.
    pub after: Option<LimitKey>,
    /// Networks that have used up their share.
    pub without: Vec<LimitKey>,
}

impl Turn {
    /// Sort key of a network in the order of turns. `None` if it has to wait.
    pub fn rank(&self, network: Option<LimitKey>) -> Option<(bool, Option<LimitKey>)> {
        let has_to_wait = network.is_some_and(|key| self.without.contains(&key));
        (!has_to_wait).then_some((network <= self.after, network))
    }
}

/// Outcomes of the deliveries attempted.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// To be removed.
    pub made: Vec<DeliveryId>,
    /// To be stored as they are now.
    pub failed: Vec<Delivery>,
    /// Outcomes of confirmation emails, by address.
    pub mails: Vec<(EmailAddress, MailOutcome)>,
}

/// A pause of a whole channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPause {
    /// The other side's words, without any address.
    pub reason: String,
    /// When the next attempt is made.
    pub until: Timestamp,
}

/// State of a channel's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStanding {
    /// Pending deliveries.
    pub waiting: u64,
    /// When the oldest of them was created.
    pub oldest: Option<Timestamp>,
    /// Failed deliveries still stored.
    pub dead: u64,
    /// True if the operator has paused the channel.
    pub is_held: bool,
}

bytes!(DeliveryId: 16);
hex!(DeliveryId: "msg_");
hidden!(Delivery);

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_ms(1_700_000_000_000);

    fn delivery() -> Delivery {
        let id = DeliveryId::from_bytes([0xab; 16]);
        Delivery::new(id, DeliveryKind::Subscribed, None, String::new(), START)
    }

    fn later(wait_ms: Option<u64>) -> Failure {
        let error = "answered 503".to_owned();
        Failure::Later { error, wait_ms }
    }

    #[test]
    fn ten_attempts_are_made_over_three_days() {
        for (jitter, total_s) in [(0, 272_105), (u8::MAX, 299_315)] {
            let mut delivery = delivery();
            let mut now = START;
            for attempt in 1..=9 {
                assert!(delivery.is_due(now));
                delivery.fail(later(None), jitter, now);
                assert_eq!((delivery.attempts, delivery.dead_at), (attempt, None));
                assert!(!delivery.is_due(now));
                now = delivery.due_at;
            }
            assert_eq!(now.ms_since(START) / 1000, total_s);
            delivery.fail(later(None), jitter, now);
            assert_eq!((delivery.attempts, delivery.dead_at), (10, Some(now)));
            assert!(!delivery.is_due(now.plus_ms(1_000_000_000)));
            // A retry by hand resets the attempts.
            delivery.retry(now);
            assert!(delivery.is_due(now));
            assert_eq!(delivery.attempts, 0);
        }
    }

    #[test]
    fn the_other_side_puts_it_off_by_an_hour_at_most() {
        for (asked_ms, wait_ms) in [
            (None, 5_000),
            (Some(1), 5_000),
            (Some(60_000), 60_000),
            (Some(u64::MAX), 3_600_000),
        ] {
            let mut delivery = delivery();
            delivery.fail(later(asked_ms), 0, START);
            assert_eq!(delivery.due_at.ms_since(START), wait_ms, "{asked_ms:?}");
        }
    }

    #[test]
    fn what_cannot_succeed_is_given_up_at_once() {
        let mut delivery = delivery();
        delivery.fail(Failure::Final("answered 410".to_owned()), 0, START);
        assert_eq!(delivery.dead_at, Some(START));
        assert_eq!(delivery.last_error.as_deref(), Some("answered 410"));
    }

    #[test]
    fn a_clock_that_is_set_holds_up_nothing() {
        let mut delivery = delivery();
        for _ in 0..9 {
            delivery.fail(later(None), u8::MAX, START);
        }
        // The longest pause, a day and a tenth, is accepted.
        assert!(!delivery.is_due(START));
        let year_ms = 365 * DAY_MS;
        assert!(delivery.is_due(Timestamp::from_ms(START.as_ms() - year_ms)));
        assert!(delivery.is_due(START.plus_ms(year_ms)));
    }

    #[test]
    fn an_id_has_one_spelling() {
        let id = delivery().id;
        let text = id.to_string();
        assert_eq!(DeliveryId::parse(&text), Some(id));
        let upper = text.replace('a', "A");
        for bad in [
            "",
            "msg_",
            &text[1..],
            &text[..35],
            &format!("{text}0"),
            &upper,
        ] {
            assert_eq!(DeliveryId::parse(bad), None, "{bad}");
        }
    }
}
