//! Commands about mail.

use serde_json::json;

use crate::config::MailCommand;
use crate::operator::mail::{ALLOW, TEST};

use super::client::Client;
use super::list::show_members;
use super::outcome::{CommandError, Done};

/// Runs one of them.
pub(super) async fn run(command: MailCommand, client: &Client) -> Result<Done, CommandError> {
    let (operation, recipient) = match command {
        MailCommand::Test(recipient) => (&TEST, recipient),
        MailCommand::Allow(recipient) => (&ALLOW, recipient),
    };
    let params = json!({"address": recipient.address.as_str()});
    let members = [("Result", "result")];
    show_members(operation, params, &members, recipient.form, client).await
}
