//! Commands about the admin page.

use std::io::{self, Write as _};

use crate::config::AdminCommand;
use crate::http::admin::LinkRow;

use super::client::{AdminClient, empty};
use super::outcome::{CommandError, Done};

/// Runs one of them.
pub(super) async fn run(
    command: AdminCommand,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    let AdminCommand::Link { form } = command;
    let link: LinkRow = client.post("/v1/admin/link", empty()).await?;
    let mut out = io::stdout().lock();
    if form.json {
        serde_json::to_writer(&mut out, &link).map_err(io::Error::from)?;
        writeln!(out)?;
    } else {
        // Alone on its line, for terminals and scripts.
        writeln!(out, "{}", link.url)?;
        let until = link.expires_at;
        // There is no other place to report a failure.
        let _ = writeln!(io::stderr(), "It opens the admin page once, until {until}.");
    }
    Ok(Done::Whole)
}
