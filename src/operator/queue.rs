//! Pending deliveries.

use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{
    Channel, ChannelPause, Delivery, DeliveryId, EmailAddress, QueueStanding, Timestamp,
};
use crate::ports::StoreError;

use super::operation::{Answer, OperatorError, OperatorRequest, Params};
use super::words::minute;

pub const LIST: &str = "queue list";
pub const SHOW: &str = "queue show";
pub const RETRY: &str = "queue retry";
pub const DROP: &str = "queue drop";
pub const HOLD: &str = "queue hold";
pub const RELEASE: &str = "queue release";

/// The queue of a channel.
pub(super) struct Queue {
    pub(super) channel: Channel,
    pub(super) standing: QueueStanding,
    /// While its server is unusable.
    pub(super) pause: Option<ChannelPause>,
}

impl Queue {
    pub(super) async fn all(app: &App, now: Timestamp) -> Result<Vec<Self>, StoreError> {
        let mut queues = Vec::new();
        for channel in Channel::ALL {
            queues.push(Self {
                channel,
                standing: app.deliveries.standing(channel).await?,
                pause: app.metrics.deliveries(channel).pause_at(now),
            });
        }
        Ok(queues)
    }

    /// Why none of its deliveries is attempted.
    pub(super) fn halt(&self) -> Option<String> {
        let name = match self.channel {
            Channel::Webhook => "webhook",
            Channel::Mail => "email",
        };
        if self.standing.is_held {
            return Some(format!("{name} deliveries are paused"));
        }
        let pause = self.pause.as_ref()?;
        let until = minute(&pause.until.to_rfc3339());
        Some(format!("{name} paused until {until} UTC: {}", pause.reason))
    }
}

/// A delivery:
///
/// - `id`, `channel`, `kind` (the event type), and `email`, the address in it
/// - `state`: `pending`, `paused` or `failed`
/// - `queued_at` and `due_at`, when the next attempt is due, if that is known; in RFC 3339
/// - `halt`, why its channel is paused
/// - `attempts`, and `last_error`, of the last failed one
fn row(delivery: &Delivery, queues: &[Queue]) -> Value {
    let channel = delivery.kind.channel();
    let mut queues = queues.iter().filter(|_| delivery.dead_at.is_none());
    let queue = queues.find(|queue| queue.channel == channel);
    let halt = queue.and_then(Queue::halt);
    let state = match (queue, &halt) {
        (None, _) => "failed",
        (Some(_), Some(_)) => "paused",
        (Some(_), None) => "pending",
    };
    let due_at = queue.filter(|queue| !queue.standing.is_held).map(|queue| {
        let pause = queue.pause.as_ref();
        pause.map_or(delivery.due_at, |pause| pause.until.max(delivery.due_at))
    });
    json!({
        "id": delivery.id.to_string(),
        "channel": channel.as_str(),
        "kind": delivery.kind.as_str(),
        "state": state,
        "queued_at": delivery.queued_at.to_rfc3339(),
        "due_at": due_at.map(Timestamp::to_rfc3339),
        "attempts": delivery.attempts,
        "halt": halt,
        "last_error": delivery.last_error,
        "email": delivery.email.as_ref().map(EmailAddress::as_str),
    })
}

pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let queues = Queue::all(&request.app, request.app.clock.now()).await?;
    let pages = request.app.deliveries.list().await?;
    tracing::info!(command = LIST, "operator");
    Answer::rows(pages, move |delivery| row(delivery, &queues))
}

/// Shows the delivery `id` with its body.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let id = id(&request.params)?.ok_or_else(missing)?;
    let found = request.app.deliveries.find(id).await?;
    let delivery = found.ok_or_else(unknown)?;
    let queues = Queue::all(&request.app, request.app.clock.now()).await?;
    let mut row = row(&delivery, &queues);
    if let Some(fields) = row.as_object_mut() {
        fields.insert("body".to_owned(), delivery.body.into());
    }
    Answer::one(&row)
}

/// Makes the delivery `id` due now, or with `all` every one that failed or is not due yet. Ends a pause of
/// the email account.
pub(super) async fn retry(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, now) = (&request.app, request.app.clock.now());
    let id = id(&request.params)?;
    if id.is_none() && !request.params.is_set("all") {
        return Err(missing());
    }
    let count = app.deliveries.retry(id, now).await?;
    tracing::info!(command = RETRY, count, "operator");
    if id.is_some() && count == 0 {
        return Err(unknown());
    }
    let mut notes = Vec::new();
    let mail = app.metrics.deliveries(Channel::Mail);
    if mail.pause_at(now).is_some() {
        notes.push("email is no longer paused".to_owned());
    }
    *mail.pause.lock() = None;
    notes.extend(Queue::all(app, now).await?.iter().filter_map(Queue::halt));
    let result = [&["due now".to_owned()], notes.as_slice()].concat();
    Answer::one(&json!({ "retried": count, "notes": notes, "result": result.join("; ") }))
}

/// Drops the delivery `id`.
pub(super) async fn drop_one(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let id = id(&request.params)?.ok_or_else(missing)?;
    if !request
        .app
        .deliveries
        .drop_one(id, request.app.clock.now())
        .await?
    {
        return Err(unknown());
    }
    tracing::info!(command = DROP, delivery.id = %id, "operator");
    Answer::one(&json!({ "id": id.to_string(), "result": "dropped" }))
}

/// Pauses or resumes `channel`; without one, all.
pub(super) async fn hold(request: OperatorRequest, is_held: bool) -> Result<Answer, OperatorError> {
    let parse = |text: &str| Channel::from_name(text).ok_or("no channel has this name");
    let channel = request.params.parsed("channel", parse)?;
    for channel in channel.map_or_else(|| Channel::ALL.to_vec(), |channel| vec![channel]) {
        request.app.deliveries.hold(channel, is_held).await?;
        let counters = request.app.metrics.deliveries(channel);
        *counters.pause.lock() = None;
    }
    let (command, result) = if is_held {
        (HOLD, "held")
    } else {
        (RELEASE, "released")
    };
    tracing::info!(command, "operator");
    Answer::one(&json!({ "result": result }))
}

fn id(params: &Params) -> Result<Option<DeliveryId>, OperatorError> {
    let parse = |text: &str| DeliveryId::parse(text).ok_or(NO_ID);
    params.parsed("id", parse)
}

const NO_ID: &str = "not a delivery ID: give msg_ and 32 digits, as shown by `queue list`";

fn missing() -> OperatorError {
    OperatorError::Input("give the ID of a delivery".to_owned())
}

fn unknown() -> OperatorError {
    let none =
        "no delivery has this ID: it was delivered or dropped; `queue list` shows the others";
    OperatorError::NotFound(none.to_owned())
}
