//! Confirmation before a command destroys something.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::config::Consent;

use super::outcome::{CommandError, blocking};

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
