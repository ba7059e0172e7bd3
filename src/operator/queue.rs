//! Pending deliveries.

use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{Channel, Delivery, DeliveryId, EmailAddress, Timestamp};

use super::operation::{Answer, OperatorError, OperatorRequest, Params};
use super::words::minute;

pub const LIST: &str = "queue list";
pub const SHOW: &str = "queue show";
pub const RETRY: &str = "queue retry";
pub const DROP: &str = "queue drop";
pub const HOLD: &str = "queue hold";
pub const RELEASE: &str = "queue release";

/// Why no delivery of a channel is attempted.
#[derive(Clone)]
pub(super) struct Halt {
    channel: Channel,
    pub(super) words: String,
    /// When it ends by itself.
    until: Option<Timestamp>,
}

impl Halt {
    /// That of a channel that the operator has paused (`is_held`), or whose server is unusable.
    pub(super) fn of(app: &App, channel: Channel, is_held: bool, now: Timestamp) -> Option<Self> {
        let name = match channel {
            Channel::Webhook => "webhook",
            Channel::Mail => "email",
        };
        let (words, until) = if is_held {
            (format!("{name} deliveries are paused"), None)
        } else {
            let pause = app.metrics.deliveries.of(channel).pause_at(now)?;
            let until = minute(&pause.until.to_rfc3339());
            let words = format!("{name} paused until {until} UTC: {}", pause.reason);
            (words, Some(pause.until))
        };
        Some(Self {
            channel,
            words,
            until,
        })
    }

    async fn all(app: &App, now: Timestamp) -> Result<Vec<Self>, OperatorError> {
        let mut halts = Vec::new();
        for channel in Channel::ALL {
            let is_held = app.deliveries.standing(channel).await?.is_held;
            halts.extend(Self::of(app, channel, is_held, now));
        }
        Ok(halts)
    }
}

/// A delivery:
///
/// - `id`, `channel`, `kind` (the event type), and `email`, the address in it
/// - `state`: `pending`, `paused` or `failed`
/// - `queued_at` and `due_at`, when the next attempt is due, if that is known; in RFC 3339
/// - `halt`, why its channel is paused
/// - `attempts`, and `last_error`, of the last failed one
fn row(delivery: &Delivery, halts: &[Halt]) -> Value {
    let is_dead = delivery.dead_at.is_some();
    let channel = delivery.kind.channel();
    let mut halts = halts.iter().filter(|_| !is_dead);
    let halt = halts.find(|halt| halt.channel == channel);
    let due_at = match halt {
        Some(halt) => halt.until.map(|until| until.max(delivery.due_at)),
        None => Some(delivery.due_at).filter(|_| !is_dead),
    };
    let state = match halt {
        Some(_) => "paused",
        None if is_dead => "failed",
        None => "pending",
    };
    json!({
        "id": delivery.id.to_string(),
        "channel": channel.as_str(),
        "kind": delivery.kind.as_str(),
        "state": state,
        "queued_at": delivery.queued_at.to_rfc3339(),
        "due_at": due_at.map(Timestamp::to_rfc3339),
        "attempts": delivery.attempts,
        "halt": halt.map(|halt| &halt.words),
        "last_error": delivery.last_error,
        "email": delivery.email.as_ref().map(EmailAddress::as_str),
    })
}

pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let halts = Halt::all(&request.app, request.app.clock.now()).await?;
    let pages = request.app.deliveries.list().await?;
    tracing::info!(command = LIST, "operator");
    Answer::rows(pages, move |delivery| row(delivery, &halts))
}

/// Shows the delivery `id` with its body.
pub(super) async fn show(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let id = id(&request.params)?.ok_or_else(missing)?;
    let found = request.app.deliveries.find(id).await?;
    let delivery = found.ok_or_else(unknown)?;
    let halts = Halt::all(&request.app, request.app.clock.now()).await?;
    let mut row = row(&delivery, &halts);
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
    let mail = app.metrics.deliveries.of(Channel::Mail);
    if mail.pause_at(now).is_some() {
        notes.push("email is no longer paused".to_owned());
    }
    mail.pause.drop_if(|_pause| true);
    let halts = Halt::all(app, now).await?.into_iter();
    notes.extend(halts.map(|halt| halt.words));
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

const NO_ID: &str = "not a delivery ID: give msg_ and 32 digits, as shown by `queue list`";

fn missing() -> OperatorError {
    OperatorError::Input("give the ID of a delivery".to_owned())
}

fn unknown() -> OperatorError {
    let none =
        "no delivery has this ID: it was delivered or dropped; `queue list` shows the others";
    OperatorError::NotFound(none.to_owned())
}
