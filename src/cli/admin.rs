//! Commands about the admin page.

use serde_json::json;

use crate::config::OutputForm;
use crate::operator::links::{LINK, LinkRow};

use super::client::Client;
use super::outcome::{CommandError, Done};
use super::output::{Output, note};

/// Prints a link.
pub(super) async fn link(form: OutputForm, client: &Client) -> Result<Done, CommandError> {
    let link: LinkRow = client.one(&LINK, json!({})).await?;
    let mut output = Output::new(form);
    if output.is_json {
        output.json(&link)?;
    } else {
        // Alone on its line, for terminals and scripts.
        output.line(&link.url)?;
    }
    output.flush()?;
    if !form.json {
        let until = link.expires_at;
        note(&format!("It opens the admin page once, until {until}."));
    }
    Ok(Done::Whole)
}
