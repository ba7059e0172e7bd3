//! Printing what there is many of.

use serde::de::DeserializeOwned;

use crate::config::OutputForm;

use super::client::AdminClient;
use super::outcome::{CommandError, Done};
use super::output::Output;

/// Prints the rows at `path`, which answers in JSON Lines: as they are, or below `heading` as `line` shows
/// each.
pub(super) async fn list<T: DeserializeOwned>(
    path: &str,
    heading: &str,
    line: fn(&T) -> String,
    form: OutputForm,
    client: &mut AdminClient,
) -> Result<Done, CommandError> {
    let mut rows = client.pieces(path).await?;
    let mut output = Output::new(form);
    if output.is_json {
        while let Some(bytes) = rows.next().await? {
            output.bytes(&bytes)?;
        }
    } else {
        output.heading(heading)?;
        while let Some(row) = rows.line::<T>().await? {
            output.line(line(&row).trim_end())?;
        }
    }
    output.flush()?;
    Ok(Done::Whole)
}
