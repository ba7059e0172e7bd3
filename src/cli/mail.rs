//! Commands about mail.

use serde_json::json;

use crate::config::MailCommand;
use crate::operator::mail::TEST;

use super::client::Client;
use super::list::show_members;
use super::outcome::{CommandError, Done};

/// Runs one of them.
pub(super) async fn run(command: MailCommand, client: &Client) -> Result<Done, CommandError> {
    let MailCommand::Test(test) = command;
    let params = json!({"address": test.address.as_str()});
    show_members(&TEST, params, &[("Result", "result")], test.form, client).await
}
