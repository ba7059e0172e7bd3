//! Delivering what is due.

use futures_util::{StreamExt as _, stream};

use crate::domain::{Channel, Delivery, Failure, Timestamp};
use crate::metrics::Metrics;
use crate::ports::{
    Clock, DeliveryQueue, Entropy, EntropyError, StoreError, WebhookError, WebhookSender, random,
};

/// How many deliveries a round has.
const ROUND_MAX: usize = 64;

/// How many of them are tried at once.
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
    /// There is no randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
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
                fail(deliveries, &mut delivery, failure, now)?;
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
fn fail(
    deliveries: Deliveries<'_>,
    delivery: &mut Delivery,
    failure: Failure,
    now: Timestamp,
) -> Result<(), DeliverError> {
    let [jitter] = random(deliveries.entropy)?;
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
    Ok(())
}
