//! Delivering pending events and emails.

use futures_util::{StreamExt as _, stream};

use crate::domain::{
    Channel, ChannelPause, Delivery, EmailAddress, Failure, Fault, FaultJudge, LimitKey, Mail,
    MailOutcome, PolicyName, Settled, Standing, Timestamp, Turn,
};
use crate::ports::{
    ContactStore, DeliveryQueue, Entropy, LimiterError, MailError, MailSender, StoreError,
    WebhookError, WebhookSender, random,
};

use super::meter::Meter;

/// Maximum number of deliveries in a round.
const ROUND_MAX: usize = 64;

/// Maximum number of webhook messages sent at the same time.
const CONCURRENT_MAX: usize = 16;

/// Outcome of an attempt.
enum Attempt {
    Made,
    /// The delivery is no longer needed.
    Needless,
    Failed(Failure),
    /// No attempt was made, or nobody waited for its end: the delivery is unchanged.
    NotMade,
    /// The receiver refuses all further messages.
    Gone,
}

impl Attempt {
    const fn later(error: String) -> Self {
        let wait_ms = None;
        Self::Failed(Failure::Later { error, wait_ms })
    }

    const fn refused(error: String) -> Self {
        Self::Failed(Failure::Final(error))
    }
}

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

/// Sends the pending events to the operator's program, and returns their number. Each is settled as its
/// attempt ends, so a killed process repeats only those in flight. A program that refuses further messages
/// gets none until the operator resumes the channel.
pub async fn deliver_to_webhook(
    deliveries: Deliveries<'_>,
    webhook: &dyn WebhookSender,
) -> Result<usize, DeliverError> {
    let (queue, clock) = (deliveries.queue, deliveries.meter.clock);
    let turn = Turn::default();
    let due = queue.take_due(Channel::Webhook, ROUND_MAX, &turn, clock.now());
    let attempts = stream::iter(due.await?).map(|delivery| async move {
        let sent = webhook.send(delivery.id, &delivery.body, clock.now()).await;
        let attempt = match sent {
            Ok(()) => Attempt::Made,
            Err(WebhookError::Failed(failure)) => Attempt::Failed(failure),
            Err(WebhookError::Gone) => Attempt::Gone,
            Err(WebhookError::Stopped) => Attempt::NotMade,
        };
        let is_gone = matches!(attempt, Attempt::Gone);
        let settled = settle(deliveries, Channel::Webhook, vec![(delivery, attempt)]).await;
        (settled, is_gone)
    });
    let ended: Vec<_> = attempts.buffer_unordered(CONCURRENT_MAX).collect().await;
    if ended.iter().any(|(_, is_gone)| *is_gone) {
        tracing::error!(
            delivery.channel = Channel::Webhook.as_str(),
            "the receiver refuses further messages: the channel is on hold until `landing-api queue release`"
        );
        queue.hold(Channel::Webhook, true).await?;
    }
    ended.into_iter().map(|(settled, _)| settled).sum()
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

/// Deliveries with the outcomes of their attempts.
type Attempts = Vec<(Delivery, Attempt)>;

impl Mailing {
    fn turn(&mut self, now: Timestamp) -> Turn {
        self.used_up.retain(|(_, until)| *until > now);
        Turn {
            after: self.last,
            without: self.used_up.iter().map(|(network, _)| *network).collect(),
        }
    }

    /// Judges the relay's response to an email to `to`, and adds the attempts that this ends.
    ///
    /// # Errors
    /// [`DeliverError::Account`].
    fn judge(
        &mut self,
        delivery: Delivery,
        to: &EmailAddress,
        sent: Result<(), MailError>,
        now: Timestamp,
        ended: &mut Attempts,
    ) -> Result<(), DeliverError> {
        let (fault, error, code) = match sent {
            Ok(()) => {
                self.accepted(ended);
                ended.push((delivery, Attempt::Made));
                return Ok(());
            }
            Err(MailError::Refused(error)) => (Fault::Recipient, error, None),
            Err(MailError::Later(error)) => (Fault::Moment, error, None),
            Err(MailError::Unclear { code, error }) => {
                let fault = self.judge.judge(to, code);
                match fault == Fault::Recipient && code < 500 {
                    true => (Fault::Moment, error, None),
                    false => (fault, error, Some(code)),
                }
            }
            Err(MailError::Denied(error)) => (self.judge.judge_denied(to), error, None),
            Err(MailError::Account(error)) => (Fault::Account, error, None),
        };
        match fault {
            Fault::Recipient => ended.push((delivery, Attempt::refused(error))),
            Fault::Moment => ended.push((delivery, Attempt::later(error))),
            Fault::Undecided => self.undecided.push(Undecided {
                delivery,
                error,
                code,
            }),
            Fault::Account => {
                let fault = self.give_back(error, now, ended);
                ended.push(put_back(delivery, now));
                return Err(fault);
            }
        }
        Ok(())
    }

    /// The relay accepted an email, so the account works: the undecided refusals were the recipients' fault.
    fn accepted(&mut self, ended: &mut Attempts) {
        self.judge.note_accepted();
        ended.extend(self.undecided.drain(..).map(|mail| {
            let attempt = match mail.code {
                Some(500..) => Attempt::refused(mail.error),
                Some(_) | None => Attempt::later(mail.error),
            };
            (mail.delivery, attempt)
        }));
    }

    /// No pending email could decide.
    ///
    /// # Errors
    /// [`DeliverError::Account`].
    fn undecided(&mut self, now: Timestamp, ended: &mut Attempts) -> Result<(), DeliverError> {
        let denied = self.undecided.iter().find(|mail| mail.code.is_none());
        if let Some(reason) = denied.map(|mail| mail.error.clone()) {
            return Err(self.give_back(reason, now, ended));
        }
        let undecided = self.undecided.drain(..);
        ended.extend(undecided.map(|mail| (mail.delivery, Attempt::later(mail.error))));
        Ok(())
    }

    /// The account is at fault: nothing was attempted. The next attempt is with another email, so that none
    /// blocks the others for good.
    fn give_back(&mut self, reason: String, now: Timestamp, ended: &mut Attempts) -> DeliverError {
        let undecided = self.undecided.drain(..);
        ended.extend(undecided.map(|mail| put_back(mail.delivery, now)));
        let wait_ms = self.judge.pause_ms();
        DeliverError::Account { reason, wait_ms }
    }
}

fn put_back(mut delivery: Delivery, now: Timestamp) -> (Delivery, Attempt) {
    delivery.put_back(now);
    (delivery, Attempt::NotMade)
}

/// Sends a pending email, and returns the number sent. An unusable account or an exhausted limit costs no
/// email an attempt: the error is returned.
pub async fn deliver_mail(
    deliveries: Deliveries<'_>,
    mail: &dyn MailSender,
    contacts: &dyn ContactStore,
    mailing: &mut Mailing,
) -> Result<usize, DeliverError> {
    let (queue, clock) = (deliveries.queue, deliveries.meter.clock);
    let turn = mailing.turn(clock.now());
    // One email may take twenty minutes: less than its lease.
    let due = queue.take_due(Channel::Mail, 1, &turn, clock.now()).await?;
    let due = due.into_iter().next();
    let count = usize::from(due.is_some());
    let mut ended = Attempts::new();
    let waits = match due {
        None => mailing.undecided(clock.now(), &mut ended),
        Some(delivery) => {
            mailing.last = delivery.network;
            match prepare(deliveries.meter, contacts, &delivery, mailing).await {
                Ok(to_send) => {
                    let sent = mail.send(&to_send).await;
                    mailing.judge(delivery, &to_send.to, sent, clock.now(), &mut ended)
                }
                Err((attempt, waits)) => {
                    ended.push((delivery, attempt));
                    waits
                }
            }
        }
    };
    if let Err(DeliverError::Account { reason, wait_ms }) = &waits {
        let pause = ChannelPause {
            reason: reason.clone(),
            until: clock.now().plus_ms(*wait_ms),
        };
        let counters = deliveries.meter.metrics.deliveries.of(Channel::Mail);
        counters.pause.set(pause);
    }
    settle(deliveries, Channel::Mail, ended).await?;
    waits.map(|()| count)
}

/// Returns the undecided emails to the queue, because no worker sends any more.
///
/// # Errors
/// [`DeliverError::Store`].
pub async fn stop_mailing(
    deliveries: Deliveries<'_>,
    mailing: Mailing,
) -> Result<(), DeliverError> {
    let undecided = mailing.undecided.into_iter();
    let not_made = undecided.map(|mail| (mail.delivery, Attempt::NotMade));
    settle(deliveries, Channel::Mail, not_made.collect()).await?;
    Ok(())
}

/// The email to send. Otherwise the outcome without an attempt, and the reason why no further email can be sent, if
/// there is one.
async fn prepare(
    meter: Meter<'_>,
    contacts: &dyn ContactStore,
    delivery: &Delivery,
    mailing: &mut Mailing,
) -> Result<Mail, (Attempt, Result<(), DeliverError>)> {
    let Some(to) = delivery.email.clone() else {
        return Err((Attempt::refused("it has no recipient".to_owned()), Ok(())));
    };
    if is_needless(contacts, &to).await {
        return Err((Attempt::Needless, Ok(())));
    }
    let now = meter.clock.now();
    let charged = meter.charge_mail(delivery.network, now).await;
    let charged = charged.map_err(|error| (Attempt::NotMade, Err(error.into())))?;
    let wait_s = |policy| {
        let mut violated = charged.violated();
        let refused = violated.find(|standing| standing.policy == policy);
        refused.map(Standing::reset_s)
    };
    if let Some(wait_s) = wait_s(PolicyName::MailAll) {
        return Err((Attempt::NotMade, Err(DeliverError::Limit(wait_s))));
    }
    if let Some((wait_s, network)) = wait_s(PolicyName::MailPrefix).zip(delivery.network) {
        let until = now.plus_ms(wait_s * 1000);
        mailing.used_up.push((network, until));
        return Err((Attempt::NotMade, Ok(())));
    }
    Ok(Mail {
        to,
        message: delivery.body.clone().into_bytes(),
    })
}

/// True if the contact has confirmed by an earlier email. If the store can't say, the email is sent.
async fn is_needless(contacts: &dyn ContactStore, email: &EmailAddress) -> bool {
    let found = contacts.find(email).await.ok().flatten();
    found.is_some_and(|contact| !contact.is_pending())
}

/// Stores the outcomes of attempts.
async fn settle(
    deliveries: Deliveries<'_>,
    channel: Channel,
    attempts: Attempts,
) -> Result<usize, DeliverError> {
    let (count, now) = (attempts.len(), deliveries.meter.clock.now());
    if count == 0 {
        return Ok(0);
    }
    let counters = deliveries.meter.metrics.deliveries.of(channel);
    let mut settled = Settled::default();
    for (mut delivery, attempt) in attempts {
        let email = delivery.email.clone().filter(|_| channel == Channel::Mail);
        let outcome = match attempt {
            Attempt::Made => {
                counters.made.increase();
                settled.made.push(delivery.id);
                Some(MailOutcome::Taken)
            }
            Attempt::Needless => {
                settled.made.push(delivery.id);
                None
            }
            Attempt::Failed(failure) => {
                let is_final = matches!(failure, Failure::Final(_));
                fail(deliveries, &mut delivery, failure, now);
                settled.failed.push(delivery);
                is_final.then_some(MailOutcome::Refused)
            }
            Attempt::NotMade | Attempt::Gone => {
                settled.failed.push(delivery);
                None
            }
        };
        settled.mails.extend(email.zip(outcome));
    }
    deliveries.queue.settle(settled, now).await?;
    Ok(count)
}

/// Records a failed attempt.
fn fail(deliveries: Deliveries<'_>, delivery: &mut Delivery, failure: Failure, now: Timestamp) {
    let [jitter] = random(deliveries.entropy);
    delivery.fail(failure, jitter, now);
    let counters = deliveries
        .meter
        .metrics
        .deliveries
        .of(delivery.kind.channel());
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
}
