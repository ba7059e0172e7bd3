//! Input of commands: files, lists of names, and confirmations.

use std::fmt::Display;
use std::io::{self, BufRead as _, IsTerminal as _, Read, Write as _};
use std::path::Path;

use crate::adapters::files::part_file;
use crate::config::Consent;

use super::outcome::{CommandError, blocking};

/// Maximum size of a file that is read whole.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Opens a file to read, `-` for standard input.
pub(super) async fn open(path: &Path) -> Result<Box<dyn Read + Send>, CommandError> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let opened = part_file::open(path).await;
    let file = opened.map_err(|error| unreadable(path, error))?;
    Ok(Box::new(file.into_std().await))
}

/// The file at `path` cannot be read.
pub(super) fn unreadable(path: &Path, error: impl Display) -> CommandError {
    CommandError::Failed(format!("cannot read {}: {error}", path.display()))
}

/// The lines of a file, `-` for standard input, with their numbers and without surrounding white space. Empty
/// ones are left out.
pub(super) async fn read_lines(path: &Path) -> Result<Vec<(usize, String)>, CommandError> {
    let file = open(path).await?;
    let read = blocking(move || io::read_to_string(file.take(WHOLE_BYTES_MAX + 1)));
    let text = read.await.map_err(|error| unreadable(path, error))?;
    if text.len() as u64 > WHOLE_BYTES_MAX {
        let path = path.display();
        return Err(CommandError::Input(format!("{path} is larger than 16 MiB")));
    }
    let lines = text.lines().map(|line| line.trim().to_owned());
    let lines = lines.enumerate().map(|(index, line)| (index + 1, line));
    Ok(lines.filter(|(_, line)| !line.is_empty()).collect())
}

/// Asks for confirmation of `what`, such as "erase this address for good", unless it was already given.
///
/// # Errors
/// When the answer is no, or when there is no terminal to ask on.
pub(super) async fn obtain(consent: Consent, what: &str) -> Result<(), CommandError> {
    if consent.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CommandError::Input(format!(
            "there is no terminal to confirm on: pass --yes to {what}"
        )));
    }
    let question = format!("Really {what}? [y/N] ");
    // On a thread of its own, so that a signal can end the command in the meantime.
    let is_wanted = blocking(move || {
        let mut err = anstream::stderr();
        err.write_all(question.as_bytes())?;
        err.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok::<_, io::Error>(matches!(answer.trim(), "y" | "Y" | "yes"))
    });
    match is_wanted.await? {
        true => Ok(()),
        false => Err(CommandError::Failed("nothing was changed".to_owned())),
    }
}
