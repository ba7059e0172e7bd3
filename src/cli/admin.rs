//! Commands about the admin page.

use serde_json::{Value, json};

use crate::config::OutputForm;
use crate::operator::links::LINK;

use super::client::{Client, member};
use super::outcome::{CommandError, Done};
use super::output::{note, show};

/// Prints a link.
pub(super) async fn link(form: OutputForm, client: &Client) -> Result<Done, CommandError> {
    let link: Value = client.one(&LINK, json!({})).await?;
    let text = |name| member(&link, name).map(|value| value.as_str().unwrap_or_default());
    let (url, until) = (text("url")?, text("expires_at")?);
    // Alone on its line, for terminals and scripts.
    show(form, &link, |output| output.line(url))?;
    if !form.json {
        note(&format!("The link works once and expires at {until}."));
    }
    Ok(Done::Whole)
}
