//! Commands about the admin page.

use serde_json::json;

use crate::config::OutputForm;
use crate::operator::links::{LINK, LinkRow};

use super::client::Client;
use super::outcome::{CommandError, Done};
use super::output::{note, show};

/// Prints a link.
pub(super) async fn link(form: OutputForm, client: &Client) -> Result<Done, CommandError> {
    let link: LinkRow = client.one(&LINK, json!({})).await?;
    // Alone on its line, for terminals and scripts.
    show(form, &link, |output| output.line(&link.url))?;
    if !form.json {
        let until = link.expires_at;
        note(&format!("It opens the admin page once, until {until}."));
    }
    Ok(Done::Whole)
}
