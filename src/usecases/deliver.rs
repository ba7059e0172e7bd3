//! Delivering pending events and emails.

use futures_util::{StreamExt as _, stream};

use crate::domain::{
    Channel, ChannelPause, Delivery, EmailAddress, Failure, Fault, FaultJudge, LimitKey,
    MailOutcome, PolicyName, Settled, Standing, Timestamp, Turn,
};
use crate::metrics::DeliveryCounters;
use crate::ports::{
    ContactStore, DeliveryQueue, Entropy, LimiterError, MailError, MailSender, StoreError,
    WebhookSender, random,
};

use super::meter::Meter;

/// Maximum number of deliveries in a round.
const ROUND_MAX: usize = 64;

/// Maximum number of webhook messages sent at the same time.
const CONCURRENT_MAX: usize = 16;

/// A round of deliveries ended early.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The email account is unusable, and paused for `wait_ms` milliseconds.
    #[error("the email account cannot be used: {reason}")]
    Account { reason: String, wait_ms: u64 },
    /// The policy `mail-all` is used up. The remaining emails wait for this many seconds.
    #[error("the policy mail-all is used up, next email in {0} s")]
    Limit(u64),
    /// The limiter can't decide if an email may be sent.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    /// The store failed to list what is due or to record outcomes: those deliveries remain due.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The ports and settings of deliveries.
#[derive(Clone, Copy)]
pub struct Deliveries<'a> {
    pub queue: &'a dyn DeliveryQueue,
    pub entropy: &'a dyn Entropy,
    /// Counts emails, and has the clock.
    pub meter: Meter<'a>,
}

/// Outcomes of attempts, to be stored in one change.
struct Outcomes<'a> {
    deliveries: Deliveries<'a>,
    settled: Settled,
}

impl<'a> Outcomes<'a> {
    fn new(deliveries: Deliveries<'a>) -> Self {
        Self {
            deliveries,
            settled: Settled::default(),
        }
    }

    fn now(&self) -> Timestamp {
        self.deliveries.meter.clock.now()
    }

    fn counters(&self, channel: Channel) -> &'a DeliveryCounters {
        self.deliveries.meter.metrics.deliveries(channel)
    }

    fn made(&mut self, delivery: &Delivery) {
        self.counters(delivery.kind.channel()).made.increase();
        self.note(delivery, MailOutcome::Taken);
        self.settled.made.push(delivery.id);
    }

    fn failed(&mut self, mut delivery: Delivery, failure: Failure) {
        if matches!(failure, Failure::Final(_)) {
            self.note(&delivery, MailOutcome::Refused);
        }
        let [jitter] = random(self.deliveries.entropy);
        delivery.fail(failure, jitter, self.now());
        let counters = self.counters(delivery.kind.channel());
        counters.failed.increase();
        if delivery.dead_at.is_some() {
            counters.given_up.increase();
            tracing::warn!(
                delivery.id = %delivery.id,
                delivery.kind = delivery.kind.as_str(),
                error = delivery.last_error.as_deref(),
                "a delivery failed for good: see `landing-api queue list`"
            );
        }
        self.settled.failed.push(delivery);
    }

    fn failed_for_now(&mut self, delivery: Delivery, error: String) {
        let wait_ms = None;
        self.failed(delivery, Failure::Later { error, wait_ms });
    }

    fn note(&mut self, delivery: &Delivery, outcome: MailOutcome) {
        if delivery.kind.channel() == Channel::Mail {
            let email = delivery.email.clone();
            self.settled.mails.extend(email.zip(Some(outcome)));
        }
    }

    async fn store(self) -> Result<(), StoreError> {
        if self.settled.made.is_empty() && self.settled.failed.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.deliveries.queue.settle(self.settled, now).await
    }
}

/// Sends the pending events to the operator's program, and returns their number. Each is settled as its
/// attempt ends, so a killed process repeats only those in flight.
pub async fn deliver_to_webhook(
    deliveries: Deliveries<'_>,
    webhook: &dyn WebhookSender,
) -> Result<usize, DeliverError> {
    let (queue, clock) = (deliveries.queue, deliveries.meter.clock);
    let turn = Turn::default();
    let due = queue.take_due(Channel::Webhook, ROUND_MAX, &turn, clock.now());
    let attempts = stream::iter(due.await?).map(|delivery| async move {
        let mut outcomes = Outcomes::new(deliveries);
        match webhook.send(delivery.id, &delivery.body, clock.now()).await {
            Ok(()) => outcomes.made(&delivery),
            Err(failure) => outcomes.failed(delivery, failure),
        }
        outcomes.store().await
    });
    let stored: Vec<_> = attempts.buffer_unordered(CONCURRENT_MAX).collect().await;
    let count = stored.len();
    stored.into_iter().collect::<Result<(), _>>()?;
    Ok(count)
}

/// The email worker's memory from one email to the next. Deliveries lost with it are due again.
#[derive(Default)]
pub struct Mailing {
    judge: FaultJudge,
    /// Refused emails whose fault the next ones decide.
    undecided: Vec<Undecided>,
    /// The network served last.
    last: Option<LimitKey>,
    /// Networks that have used up their share, and until when.
    used_up: Vec<(LimitKey, Timestamp)>,
}

/// A refused email.
struct Undecided {
    delivery: Delivery,
    /// The relay's words.
    error: String,
    /// The reply code; `None` for an account code.
    code: Option<u16>,
}

impl Mailing {
    fn turn(&mut self, now: Timestamp) -> Turn {
        self.used_up.retain(|(_, until)| *until > now);
        Turn {
            after: self.last,
            without: self.used_up.iter().map(|(network, _)| *network).collect(),
        }
    }

    /// Sends an email, unless it is needless or a limit is used up.
    async fn attempt(
        &mut self,
        delivery: Delivery,
        mail: &dyn MailSender,
        contacts: &dyn ContactStore,
        outcomes: &mut Outcomes<'_>,
    ) -> Result<(), DeliverError> {
        self.last = delivery.network;
        let Some(to) = delivery.email.clone() else {
            let why = "it has no recipient".to_owned();
            outcomes.failed(delivery, Failure::Final(why));
            return Ok(());
        };
        if is_needless(contacts, &to).await {
            outcomes.settled.made.push(delivery.id);
            return Ok(());
        }
        let meter = outcomes.deliveries.meter;
        let is_admitted = self.is_admitted(meter, delivery.network).await;
        if !matches!(is_admitted, Ok(true)) {
            outcomes.settled.failed.push(delivery);
            return is_admitted.map(drop);
        }
        let sent = mail.send(&to, &delivery.body).await;
        self.judge(delivery, &to, sent, outcomes)
    }

    /// Charges an email. False if its network has used up its share.
    async fn is_admitted(
        &mut self,
        meter: Meter<'_>,
        network: Option<LimitKey>,
    ) -> Result<bool, DeliverError> {
        let now = meter.clock.now();
        let charged = meter.charge_mail(network, now).await?;
        let wait_s = |policy| {
            let mut violated = charged.violated();
            let refused = violated.find(|standing| standing.policy == policy);
            refused.map(Standing::reset_s)
        };
        if let Some(wait_s) = wait_s(PolicyName::MailAll) {
            return Err(DeliverError::Limit(wait_s));
        }
        let refused = network.zip(wait_s(PolicyName::MailPrefix));
        let used_up = refused.map(|(network, wait_s)| (network, now.plus_ms(wait_s * 1000)));
        self.used_up.extend(used_up);
        Ok(used_up.is_none())
    }

    /// Judges the relay's response to an email to `to`.
    fn judge(
        &mut self,
        delivery: Delivery,
        to: &EmailAddress,
        sent: Result<(), MailError>,
        outcomes: &mut Outcomes<'_>,
    ) -> Result<(), DeliverError> {
        let (fault, error, code) = match sent {
            Ok(()) => {
                self.accepted(outcomes);
                outcomes.made(&delivery);
                return Ok(());
            }
            Err(MailError::Refused(error)) => (Fault::Recipient, error, None),
            Err(MailError::Later(error)) => (Fault::Moment, error, None),
            Err(MailError::Unclear { code, error }) => (self.judge.judge(to, code), error, code),
            Err(MailError::Account(error)) => (Fault::Account, error, None),
        };
        match fault {
            Fault::Recipient => outcomes.failed(delivery, Failure::Final(error)),
            Fault::Moment => outcomes.failed_for_now(delivery, error),
            Fault::Undecided | Fault::Account => self.undecided.push(Undecided {
                delivery,
                error,
                code,
            }),
        }
        if fault == Fault::Account {
            return Err(self.give_back(outcomes));
        }
        Ok(())
    }

    /// The relay accepted an email, so the account works: the undecided refusals were the recipients' fault.
    fn accepted(&mut self, outcomes: &mut Outcomes<'_>) {
        self.judge.note_accepted();
        for mail in self.undecided.drain(..) {
            match mail.code {
                Some(500..) => outcomes.failed(mail.delivery, Failure::Final(mail.error)),
                Some(_) | None => outcomes.failed_for_now(mail.delivery, mail.error),
            }
        }
    }

    /// No pending email could decide.
    fn undecided(&mut self, outcomes: &mut Outcomes<'_>) -> Result<(), DeliverError> {
        if let Some(denied) = self.undecided.iter().position(|mail| mail.code.is_none()) {
            let denied = self.undecided.remove(denied);
            self.undecided.push(denied);
            return Err(self.give_back(outcomes));
        }
        for mail in self.undecided.drain(..) {
            outcomes.failed_for_now(mail.delivery, mail.error);
        }
        Ok(())
    }

    /// Returns the undecided emails to the queue, for others to send: this worker stops.
    pub async fn end(self, deliveries: Deliveries<'_>) -> Result<(), StoreError> {
        let mut outcomes = Outcomes::new(deliveries);
        let undecided = self.undecided.into_iter();
        outcomes.settled.failed = undecided.map(|mail| mail.delivery).collect();
        outcomes.store().await
    }

    /// The account is at fault, as the last of the undecided emails says: nothing was attempted. The next attempt is
    /// with another email, so that none blocks the others for good.
    fn give_back(&mut self, outcomes: &mut Outcomes<'_>) -> DeliverError {
        let (now, wait_ms) = (outcomes.now(), self.judge.pause_ms());
        let mut reason = String::new();
        for mut mail in self.undecided.drain(..) {
            mail.delivery.due_at = now;
            outcomes.settled.failed.push(mail.delivery);
            reason = mail.error;
        }
        let pause = ChannelPause {
            reason: reason.clone(),
            until: now.plus_ms(wait_ms),
        };
        *outcomes.counters(Channel::Mail).pause.lock() = Some(pause);
        DeliverError::Account { reason, wait_ms }
    }
}

/// Sends a pending email, and returns the number sent. An unusable account or an exhausted limit costs no
/// email an attempt: the error is returned.
pub async fn deliver_mail(
    deliveries: Deliveries<'_>,
    mail: &dyn MailSender,
    contacts: &dyn ContactStore,
    mailing: &mut Mailing,
) -> Result<usize, DeliverError> {
    let now = deliveries.meter.clock.now();
    let turn = mailing.turn(now);
    // One email may take twenty minutes: less than its lease.
    let due = deliveries.queue.take_due(Channel::Mail, 1, &turn, now);
    let mut outcomes = Outcomes::new(deliveries);
    let ended = match due.await?.pop() {
        Some(delivery) => {
            let attempt = mailing.attempt(delivery, mail, contacts, &mut outcomes);
            attempt.await.map(|()| 1)
        }
        None => mailing.undecided(&mut outcomes).map(|()| 0),
    };
    outcomes.store().await?;
    ended
}

/// True if the contact has confirmed by an earlier email. If the store can't say, the email is sent.
async fn is_needless(contacts: &dyn ContactStore, email: &EmailAddress) -> bool {
    let found = contacts.find(email).await.ok().flatten();
    found.is_some_and(|contact| !contact.is_pending())
}
