//! Commands that show what one operation answers.

use serde_json::{Value, json};

use crate::config::{
    AdminCommand, AgentsCommand, BlockCommand, MailCommand, QuestionsCommand, QueueCommand,
};
use crate::operator::{agents, block, links, mail, questions, queue};

use super::client::{Client, member};
use super::input::obtain;
use super::list::{Cell, ListColumn, list, show_members};
use super::outcome::{CommandError, Done};
use super::output::{note, show};

const AGENT_COLUMNS: [ListColumn; 3] = [
    ListColumn("Revoked (UTC)", "revoked_at", 16, Cell::Time),
    ListColumn("Expires", "expires_at", 16, Cell::Time),
    ListColumn("Client ID", "client_id", 0, Cell::Text),
];

const BLOCK_COLUMNS: [ListColumn; 2] = [
    ListColumn("Since (UTC)", "since", 16, Cell::Time),
    ListColumn("Network", "network", 0, Cell::Text),
];

const QUESTION_COLUMNS: [ListColumn; 3] = [
    ListColumn("Hour (UTC)", "asked_at", 16, Cell::Time),
    ListColumn("Language", "language", 8, Cell::Text),
    ListColumn("Question", "text", 0, Cell::Text),
];

const QUEUE_COLUMNS: [ListColumn; 5] = [
    ListColumn("Id", "id", 36, Cell::Text),
    ListColumn("State", "state", 8, Cell::Text),
    ListColumn("Next (UTC)", "due_at", 16, Cell::Time),
    ListColumn("Event", "kind", 23, Cell::Text),
    ListColumn("Last error", "last_error", 0, Cell::Text),
];

const DELIVERY: [(&str, &str); 10] = [
    ("Id", "id"),
    ("Channel", "channel"),
    ("Event", "kind"),
    ("State", "state"),
    ("Pause", "halt"),
    ("Queued", "queued_at"),
    ("Next attempt", "due_at"),
    ("Failed attempts", "attempts"),
    ("Last error", "last_error"),
    ("Body", "body"),
];

const RESULT: [(&str, &str); 1] = [("Result", "result")];

/// Runs a command about agents.
pub(super) async fn agents(command: AgentsCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        AgentsCommand::ListRevoked => {
            let columns = &AGENT_COLUMNS;
            list(agents::LIST_REVOKED, json!({}), columns, client).await
        }
        AgentsCommand::Revoke { client_id, consent } => {
            let what = "revoke this registration with all its tokens for good";
            obtain(consent, what).await?;
            let params = json!({"client_id": client_id});
            let members = [("Client ID", "client_id"), RESULT[0]];
            show_members(agents::REVOKE, params, &members, client).await
        }
    }
}

/// Runs a command about blocked networks.
pub(super) async fn block(command: BlockCommand, client: &Client) -> Result<Done, CommandError> {
    let (operation, named) = match command {
        BlockCommand::List => {
            return list(block::LIST, json!({}), &BLOCK_COLUMNS, client).await;
        }
        BlockCommand::Add(named) => (block::ADD, named),
        BlockCommand::Remove(named) => (block::REMOVE, named),
    };
    let params = json!({"network": named.network.to_string()});
    let members = [("Network", "network"), RESULT[0]];
    show_members(operation, params, &members, client).await
}

/// Runs a command about questions.
pub(super) async fn questions(
    QuestionsCommand::List: QuestionsCommand,
    client: &Client,
) -> Result<Done, CommandError> {
    let columns = &QUESTION_COLUMNS;
    list(questions::LIST, json!({}), columns, client).await
}

/// Runs a command about deliveries.
pub(super) async fn queue(command: QueueCommand, client: &Client) -> Result<Done, CommandError> {
    let (operation, params, members) = match command {
        QueueCommand::List => {
            return list(queue::LIST, json!({}), &QUEUE_COLUMNS, client).await;
        }
        QueueCommand::Show { id } => (queue::SHOW, json!({"id": id}), &DELIVERY[..]),
        QueueCommand::Retry { id, all } => {
            let members = &[("Due now", "retried"), RESULT[0]][..];
            (queue::RETRY, json!({"id": id, "all": all}), members)
        }
        QueueCommand::Drop { id, consent } => {
            obtain(consent, "drop this delivery, which is then never sent").await?;
            let members = &[DELIVERY[0], RESULT[0]][..];
            (queue::DROP, json!({"id": id}), members)
        }
        QueueCommand::Hold => (queue::HOLD, json!({}), &RESULT[..]),
        QueueCommand::Release => (queue::RELEASE, json!({}), &RESULT[..]),
    };
    show_members(operation, params, members, client).await
}

/// Runs a command about email.
pub(super) async fn mail(command: MailCommand, client: &Client) -> Result<Done, CommandError> {
    let (operation, recipient) = match command {
        MailCommand::Test(recipient) => (mail::TEST, recipient),
        MailCommand::Allow(recipient) => (mail::ALLOW, recipient),
    };
    let params = json!({"address": recipient.address});
    show_members(operation, params, &RESULT, client).await
}

/// Prints a link to the admin page.
pub(super) async fn admin(
    AdminCommand::Link: AdminCommand,
    client: &Client,
) -> Result<Done, CommandError> {
    let link: Value = client.one(links::LINK, json!({})).await?;
    let text = |name| member(&link, name).map(|value| value.as_str().unwrap_or_default());
    let (url, until) = (text("url")?, text("expires_at")?);
    // Alone on its line, for terminals and scripts.
    show(client.form, &link, |output| output.line(url))?;
    if !client.form.json {
        note(&format!("The link works once and expires at {until}."));
    }
    Ok(Done::Whole)
}
