//! Delivering what is due.

use futures_util::{StreamExt as _, stream};

use crate::domain::{Channel, Delivery, Failure, Mail, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{
    Clock, ContactStore, DeliveryQueue, Entropy, MailError, MailSender, StoreError, WebhookError,
    WebhookSender, random,
};

/// How many deliveries a round has.
const ROUND_MAX: usize = 64;

/// The same of mails, one of which may take a minute: less than the lease on them.
const MAIL_ROUND_MAX: usize = 1;

/// How many messages to the webhook are tried at once.
const CONCURRENT_MAX: usize = 16;

/// What became of an attempt.
enum Attempt {
    Made,
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
    /// The store did not say what is due, or did not keep what was done: it is due again.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What deliveries work with.
#[derive(Clone, Copy)]
pub struct Deliveries<'a> {
    pub queue: &'a dyn DeliveryQueue,
    pub clock: &'a dyn Clock,
    pub entropy: &'a dyn Entropy,
    pub metrics: &'a Metrics,
}

/// Tells the operator's program what is due, and returns how much was. A program that wants no more messages gets
/// none until the operator releases the channel.
pub async fn deliver_to_webhook(
    deliveries: Deliveries<'_>,
    webhook: &dyn WebhookSender,
) -> Result<usize, DeliverError> {
    let Deliveries { queue, clock, .. } = deliveries;
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

/// Sends the mail that is due, and returns how much was. None is sent any more in this round once the account
/// cannot be used: then no mail pays for it, and the error is returned.
pub async fn deliver_mail(
    deliveries: Deliveries<'_>,
    mail: &dyn MailSender,
    contacts: &dyn ContactStore,
) -> Result<usize, DeliverError> {
    let Deliveries { queue, clock, .. } = deliveries;
    let due = queue.take_due(Channel::Mail, MAIL_ROUND_MAX, clock.now());
    let (mut attempts, mut account) = (Vec::new(), None);
    for delivery in due.await? {
        let attempt = match &account {
            Some(_unusable) => Attempt::NotMade,
            None => match send(mail, &delivery).await {
                Ok(()) => {
                    note(contacts, &delivery, clock.now()).await;
                    Attempt::Made
                }
                Err(MailError::Later(error)) => Attempt::Failed(Failure::Later {
                    error,
                    wait_ms: None,
                }),
                Err(MailError::Refused(error)) => Attempt::Failed(Failure::Final(error)),
                Err(MailError::Account(error)) => {
                    account = Some(error);
                    Attempt::NotMade
                }
            },
        };
        attempts.push((delivery, attempt));
    }
    let count = settle(deliveries, Channel::Mail, attempts).await?;
    match account {
        Some(error) => Err(DeliverError::Account(error)),
        None => Ok(count),
    }
}

/// Notes that the mail was taken. It is not sent again if that fails.
async fn note(contacts: &dyn ContactStore, delivery: &Delivery, now: Timestamp) {
    if let Some(email) = &delivery.email
        && let Err(error) = contacts.note_mailed(email, now).await
    {
        tracing::warn!(%error, "when a mail was taken is not noted");
    }
}

async fn send(mail: &dyn MailSender, delivery: &Delivery) -> Result<(), MailError> {
    let Some(to) = delivery.email.clone() else {
        return Err(MailError::Refused("it is for nobody".to_owned()));
    };
    let message = delivery.body.clone().into_bytes();
    mail.send(&Mail { to, message }).await
}

/// Keeps what became of a round.
async fn settle(
    deliveries: Deliveries<'_>,
    channel: Channel,
    attempts: Vec<(Delivery, Attempt)>,
) -> Result<usize, DeliverError> {
    let (count, now) = (attempts.len(), deliveries.clock.now());
    if count == 0 {
        return Ok(0);
    }
    let counters = deliveries.metrics.deliveries.of(channel);
    let (mut made, mut failed, mut is_gone) = (Vec::new(), Vec::new(), false);
    for (mut delivery, attempt) in attempts {
        match attempt {
            Attempt::Made => {
                counters.made.increase();
                made.push(delivery.id);
            }
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
    if is_gone {
        tracing::error!(
            delivery.channel = channel.as_str(),
            "the other side wants no more messages: they are held until `landing-api queue release`"
        );
        deliveries.queue.hold(channel, true).await?;
    }
    deliveries.queue.settle(made, failed, now).await?;
    Ok(count)
}

/// An attempt has failed.
fn fail(deliveries: Deliveries<'_>, delivery: &mut Delivery, failure: Failure, now: Timestamp) {
    // Without randomness it is not put off further.
    let [jitter] = random(deliveries.entropy).unwrap_or_default();
    delivery.fail(failure, jitter, now);
    let counters = deliveries.metrics.deliveries.of(delivery.kind.channel());
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
