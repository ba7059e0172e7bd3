//! Commands about contacts.

use crate::config::ContactsCommand;
use crate::http::admin::ContactRow;

use super::client::{AdminClient, query};
use super::outcome::{CommandError, Done};
use super::output::Output;

/// Runs one of them.
pub(super) async fn run(
    command: ContactsCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    match command {
        ContactsCommand::Show { email, form } => {
            let path = query("/v1/contacts/show", &[("email", email.as_str())]);
            let contact: ContactRow = client.get(&path).await?;
            Output::new(form).record(
                &contact,
                &[
                    ("Address", &contact.email),
                    ("Signed up", &contact.subscribed_at),
                    ("Last seen", &contact.last_seen_at),
                ],
            )?;
        }
    }
    Ok(Done::Whole)
}
