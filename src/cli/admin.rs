//! Commands about the admin page.

use crate::config::OutputForm;
use crate::http::admin::LinkRow;

use super::client::{AdminClient, empty};
use super::outcome::{CommandError, Done};
use super::output::{Output, note};

/// Prints a link.
pub(super) async fn link(form: OutputForm, client: &mut AdminClient) -> Result<Done, CommandError> {
    let link: LinkRow = client.post("/v1/admin/link", empty()).await?;
    let mut output = Output::new(form);
    match output.is_json {
        true => output.json(&link)?,
        // Alone on its line, for terminals and scripts.
        false => output.line(&link.url)?,
    }
    output.flush()?;
    if !form.json {
        let until = link.expires_at;
        note(&format!("It opens the admin page once, until {until}."));
    }
    Ok(Done::Whole)
}
