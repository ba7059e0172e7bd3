//! Pending deliveries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{
    Channel, ChannelPause, Delivery, DeliveryId, EmailAddress, QueueStanding, Timestamp,
};

use super::operation::{Answer, OperatorError, OperatorRequest, Params};

pub const LIST: &str = "queue list";
pub const SHOW: &str = "queue show";
pub const RETRY: &str = "queue retry";
pub const DROP: &str = "queue drop";
pub const HOLD: &str = "queue hold";
pub const RELEASE: &str = "queue release";

/// A delivery:
///
/// - `id`, `channel`, `kind` (the event type), and `email`, the address in it
/// - `state`: `waiting` or `given up`
/// - `queued_at` and `due_at`, when the next attempt is due, if one is; in RFC 3339
/// - `attempts`, and `last_error`: of the last failed attempt, or else the reason of the channel's pause
fn row(delivery: &Delivery, app: &App, now: Timestamp) -> Value {
    let is_dead = delivery.dead_at.is_some();
    let channel = app.metrics.deliveries.of(delivery.kind.channel());
    let pause = channel.pause_at(now).filter(|_| !is_dead);
    let paused_until = pause.as_ref().map(|pause| pause.until).unwrap_or_default();
    let paused = pause.map(|pause| format!("paused: {}", pause.reason));
    let due_at = delivery.due_at.max(paused_until).to_rfc3339();
    json!({
        "id": delivery.id.to_string(),
        "channel": delivery.kind.channel().as_str(),
        "kind": delivery.kind.as_str(),
        "state": if is_dead { "given up" } else { "waiting" },
        "queued_at": delivery.queued_at.to_rfc3339(),
        "due_at": (!is_dead).then_some(due_at),
        "attempts": delivery.attempts,
        "last_error": delivery.last_error.clone().or(paused),
        "email": delivery.email.as_ref().map(EmailAddress::as_str),
    })
}

pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = request.app.deliveries.list().await?;
    tracing::info!(command = LIST, "operator");
    let (app, now) = (Arc::clone(&request.app), request.app.clock.now());
    Answer::rows(pages, move |delivery| row(delivery, &app, now))
}

/// Shows the delivery `id` with its body.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let id = id(&request.params)?.ok_or_else(missing)?;
    let found = request.app.deliveries.find(id).await?;
    let delivery = found.ok_or_else(unknown)?;
    let mut row = row(&delivery, &request.app, request.app.clock.now());
    if let Some(fields) = row.as_object_mut() {
        fields.insert("body".to_owned(), delivery.body.into());
    }
    Answer::one(&row)
}

/// Makes the delivery `id` due now, or with `all` every one that failed or is not due yet. Ends a pause of
/// the email account.
pub(super) async fn retry(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let id = id(&request.params)?;
    if id.is_none() && !request.params.is_set("all") {
        return Err(missing());
    }
    let count = request
        .app
        .deliveries
        .retry(id, request.app.clock.now())
        .await?;
    let mail = request.app.metrics.deliveries.of(Channel::Mail);
    mail.pause.drop_if(|_pause| true);
    tracing::info!(command = RETRY, count, "operator");
    if id.is_some() && count == 0 {
        return Err(unknown());
    }
    Answer::one(&json!({ "retried": count }))
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
    for channel in Channel::ALL
        .into_iter()
        .filter(|each| channel.is_none_or(|one| one == *each))
    {
        request.app.deliveries.hold(channel, is_held).await?;
        let counters = request.app.metrics.deliveries.of(channel);
        counters.pause.drop_if(|_pause| true);
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

const NO_ID: &str = "not an id: give msg_ and 32 digits, as shown by `queue list`";

fn missing() -> OperatorError {
    OperatorError::Input("give the id of a delivery".to_owned())
}

fn unknown() -> OperatorError {
    let none =
        "no delivery has this id: it was delivered or dropped; `queue list` shows the others";
    OperatorError::NotFound(none.to_owned())
}

/// State of a channel's queue, as printed by `status --json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct QueueRow {
    pub channel: String,
    /// Number of pending deliveries.
    pub waiting: u64,
    /// When the oldest of them was created, in RFC 3339.
    pub oldest_at: Option<String>,
    /// Number of failed deliveries still stored.
    pub given_up: u64,
    /// True if the operator has paused the channel.
    pub is_held: bool,
    /// End of an automatic pause, in RFC 3339, because the other side refuses deliveries.
    pub paused_until: Option<String>,
    /// The other side's words.
    pub pause_reason: Option<String>,
}

impl QueueRow {
    /// The row of a channel.
    pub(super) fn new(
        channel: Channel,
        standing: &QueueStanding,
        pause: Option<ChannelPause>,
    ) -> Self {
        Self {
            channel: channel.as_str().to_owned(),
            waiting: standing.waiting,
            oldest_at: standing.oldest.map(Timestamp::to_rfc3339),
            given_up: standing.dead,
            is_held: standing.is_held,
            paused_until: pause.as_ref().map(|pause| pause.until.to_rfc3339()),
            pause_reason: pause.map(|pause| pause.reason),
        }
    }
}
