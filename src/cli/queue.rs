//! Commands about pending deliveries.

use serde_json::json;

use crate::config::QueueCommand;
use crate::operator::queue::{DROP, HOLD, LIST, RELEASE, RETRY, SHOW};

use super::client::Client;
use super::consent::obtain;
use super::list::{Cell, ListColumn, list, show_members};
use super::outcome::{CommandError, Done};

const COLUMNS: [ListColumn; 5] = [
    ListColumn("Id", "id", 36, Cell::Text),
    ListColumn("State", "state", 8, Cell::Text),
    ListColumn("Next (UTC)", "due_at", 16, Cell::Minute),
    ListColumn("Event", "kind", 23, Cell::Text),
    ListColumn("Last error", "last_error", 0, Cell::Text),
];

const MEMBERS: [(&str, &str); 9] = [
    ("Id", "id"),
    ("Channel", "channel"),
    ("Event", "kind"),
    ("State", "state"),
    ("Queued", "queued_at"),
    ("Next attempt", "due_at"),
    ("Failed attempts", "attempts"),
    ("Last error", "last_error"),
    ("Body", "body"),
];

/// Runs one of them.
pub(super) async fn run(command: QueueCommand, client: &Client) -> Result<Done, CommandError> {
    let result = [("Result", "result")];
    match command {
        QueueCommand::List(form) => list(&LIST, json!({}), &COLUMNS, form, client).await,
        QueueCommand::Show(named) => {
            show_members(&SHOW, json!({"id": named.id}), &MEMBERS, named.form, client).await
        }
        QueueCommand::Retry { id, all: _, form } => {
            let params = id.map_or_else(|| json!({"all": true}), |id| json!({ "id": id }));
            show_members(&RETRY, params, &[("Due now", "retried")], form, client).await
        }
        QueueCommand::Drop { id, consent } => {
            obtain(consent, "drop this delivery, so that it is never sent").await?;
            let members = [("Id", "id"), ("Result", "result")];
            show_members(&DROP, json!({ "id": id }), &members, consent.form, client).await
        }
        QueueCommand::Hold(form) => show_members(&HOLD, json!({}), &result, form, client).await,
        QueueCommand::Release(form) => {
            show_members(&RELEASE, json!({}), &result, form, client).await
        }
    }
}
