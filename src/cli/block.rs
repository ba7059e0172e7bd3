//! Commands about blocked networks.

use serde_json::json;

use crate::config::{BlockCommand, NamedNetwork};
use crate::operator::block::{ADD, LIST, REMOVE};
use crate::operator::operation::Operation;

use super::client::Client;
use super::list::{Cell, ListColumn, list, show_members};
use super::outcome::{CommandError, Done};
use super::output::note;

const COLUMNS: [ListColumn; 3] = [
    ListColumn("Since (UTC)", "since", 19, Cell::Time),
    ListColumn("By", "by", 7, Cell::Text),
    ListColumn("Network", "network", 0, Cell::Text),
];

/// Runs one of them.
pub(super) async fn run(command: BlockCommand, client: &Client) -> Result<Done, CommandError> {
    match command {
        BlockCommand::List(form) => {
            if !client.is_running() {
                note(
                    "no service is running: these are the networks of LANDING_BLOCK, not those of the \
                     service's flags",
                );
            }
            list(&LIST, json!({}), &COLUMNS, form, client).await
        }
        BlockCommand::Add(named) => change(&ADD, named, client).await,
        BlockCommand::Remove(named) => change(&REMOVE, named, client).await,
    }
}

async fn change(
    operation: &Operation,
    named: NamedNetwork,
    client: &Client,
) -> Result<Done, CommandError> {
    let params = json!({"network": named.network.to_string()});
    let members = [("Network", "network"), ("Result", "result")];
    show_members(operation, params, &members, named.form, client).await
}
