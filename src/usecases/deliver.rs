//! Delivering what is due.

use futures_util::{StreamExt as _, stream};

use crate::domain::{
    Channel, Delivery, EmailAddress, Failure, Mail, MailOutcome, PolicyName, Standing, Timestamp,
};
use crate::ports::{
    ContactStore, DeliveryQueue, Entropy, LimiterError, MailError, MailSender, StoreError,
    WebhookError, WebhookSender, random,
};

use super::meter::Meter;

/// How many deliveries a round has.
const ROUND_MAX: usize = 64;

/// How many messages to the webhook are tried at once.
const CONCURRENT_MAX: usize = 16;

/// What became of an attempt.
enum Attempt {
    Made,
    /// Nobody waits for it any more.
    Needless,
    Failed(Failure),
    /// None was made, or nobody waited for its end: the delivery is as it was.
    NotMade,
    /// The other side wants no more of any.
    Gone,
}

/// A round of deliveries ended early.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// The account that sends mail cannot be used.
    #[error("the mail account cannot be used: {0}")]
    Account(String),
    /// All mails of the policy `mail-all` are sent. The rest waits so many seconds.
    #[error("all mails of the policy mail-all are sent, the next one in {0} s")]
    Limit(u64),
    /// The limiter cannot tell whether a mail may be sent.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    /// The store did not say what is due, or did not keep what was done: it is due again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What deliveries work with.
#[derive(Clone, Copy)]
pub struct Deliveries<'a> {
    pub queue: &'a dyn DeliveryQueue,
    pub entropy: &'a dyn Entropy,
    /// Counts mails, and tells the time.
    pub meter: Meter<'a>,
}

/// Tells the operator's program what is due, and returns how much was. A program that wants no more messages gets
/// none until the operator releases the channel.
pub async fn deliver_to_webhook(
    deliveries: Deliveries<'_>,
    webhook: &dyn WebhookSender,
) -> Result<usize, DeliverError> {
    let (queue, clock) = (deliveries.queue, deliveries.meter.clock);
    let due = queue.take_due(Channel::Webhook, ROUND_MAX, clock.now());
    let attempts = stream::iter(due.await?).map(|delivery| async move {
        let sent = webhook.send(delivery.id, &delivery.body, clock.now()).await;
        let attempt = match sent {
            Ok(()) => Attempt::Made,
            Err(WebhookError::Failed(failure)) => Attempt::Failed(failure),
            Err(WebhookError::Gone) => Attempt::Gone,
            Err(WebhookError::Stopped) => Attempt::NotMade,
        };
        (delivery, attempt)
    });
    let attempts: Vec<_> = attempts.buffer_unordered(CONCURRENT_MAX).collect().await;
    settle(deliveries, Channel::Webhook, attempts).await
}

/// Sends a mail that is due, and returns how many were. No mail pays for an account that cannot be used or for
/// too many mails: the error is returned.
pub async fn deliver_mail(
    deliveries: Deliveries<'_>,
    mail: &dyn MailSender,
    contacts: &dyn ContactStore,
) -> Result<usize, DeliverError> {
    let (queue, clock) = (deliveries.queue, deliveries.meter.clock);
    // One may take twenty minutes: less than the lease on it.
    let due = queue.take_due(Channel::Mail, 1, clock.now()).await?;
    let Some(delivery) = due.into_iter().next() else {
        return Ok(0);
    };
    let (attempt, waits) = match send(deliveries.meter, mail, contacts, &delivery).await {
        Ok(attempt) => (attempt, Ok(())),
        Err(error) => (Attempt::NotMade, Err(error)),
    };
    let count = settle(deliveries, Channel::Mail, vec![(delivery, attempt)]).await?;
    waits.map(|()| count)
}

/// Sends a mail, unless nobody waits for it.
async fn send(
    meter: Meter<'_>,
    sender: &dyn MailSender,
    contacts: &dyn ContactStore,
    delivery: &Delivery,
) -> Result<Attempt, DeliverError> {
    let Some(to) = delivery.email.clone() else {
        let nobody = Failure::Final("it is for nobody".to_owned());
        return Ok(Attempt::Failed(nobody));
    };
    if is_needless(contacts, &to).await {
        return Ok(Attempt::Needless);
    }
    let charged = meter.charge_everyone(PolicyName::MailAll, meter.clock.now());
    let charged = charged.await?;
    if charged.is_refused() {
        let wait_s = charged.binding().map_or(0, Standing::reset_s);
        return Err(DeliverError::Limit(wait_s));
    }
    let mail = Mail {
        to,
        message: delivery.body.clone().into_bytes(),
    };
    let (attempt, outcome) = match sender.send(&mail).await {
        Ok(()) => (Attempt::Made, MailOutcome::Taken),
        Err(MailError::Refused(error) | MailError::Unclear { error, .. }) => {
            let refused = Attempt::Failed(Failure::Final(error));
            (refused, MailOutcome::Refused)
        }
        Err(MailError::Later(error)) => {
            let wait_ms = None;
            return Ok(Attempt::Failed(Failure::Later { error, wait_ms }));
        }
        Err(MailError::Account(error)) => return Err(DeliverError::Account(error)),
    };
    // It is not sent again if that fails.
    if let Err(error) = contacts
        .note_mail(&mail.to, outcome, meter.clock.now())
        .await
    {
        tracing::warn!(%error, "how a mail ended is not noted");
    }
    Ok(attempt)
}

/// Whether the contact that the mail asks to confirm has confirmed by an earlier one. Where that cannot be told, the
/// mail is sent.
async fn is_needless(contacts: &dyn ContactStore, email: &EmailAddress) -> bool {
    let found = contacts.find(email).await.ok().flatten();
    found.is_some_and(|it| !it.is_pending())
}

/// Keeps what became of a round.
async fn settle(
    deliveries: Deliveries<'_>,
    channel: Channel,
    attempts: Vec<(Delivery, Attempt)>,
) -> Result<usize, DeliverError> {
    let (count, now) = (attempts.len(), deliveries.meter.clock.now());
    if count == 0 {
        return Ok(0);
    }
    let counters = deliveries.meter.metrics.deliveries.of(channel);
    let (mut made, mut failed, mut is_gone) = (Vec::new(), Vec::new(), false);
    for (mut delivery, attempt) in attempts {
        match attempt {
            Attempt::Made => {
                counters.made.increase();
                made.push(delivery.id);
            }
            Attempt::Needless => made.push(delivery.id),
            Attempt::Failed(failure) => {
                fail(deliveries, &mut delivery, failure, now);
                failed.push(delivery);
            }
            Attempt::NotMade => failed.push(delivery),
            Attempt::Gone => {
                is_gone = true;
                failed.push(delivery);
            }
        }
    }
    // What was sent is kept in any case.
    deliveries.queue.settle(made, failed, now).await?;
    if is_gone {
        tracing::error!(
            delivery.channel = channel.as_str(),
            "the other side wants no more messages: they are held until `landing-api queue release`"
        );
        deliveries.queue.hold(channel, true).await?;
    }
    Ok(count)
}

/// An attempt has failed.
fn fail(deliveries: Deliveries<'_>, delivery: &mut Delivery, failure: Failure, now: Timestamp) {
    // Without randomness it is not put off further.
    let [jitter] = random(deliveries.entropy).unwrap_or_default();
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
            "a delivery was given up: see `landing-api queue list`"
        );
    }
}
