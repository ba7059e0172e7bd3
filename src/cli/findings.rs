//! Findings of a check: a verdict and its reason, in a line that says what to do.

use std::fmt::Display;

use clap::builder::styling::Style;
use serde_json::json;

use crate::config::OutputForm;

use super::outcome::{CommandError, Done};
use super::output::{ERROR, GOOD, NOTE, Output, plural};

const FAILED: &str = "failed";

/// A verdict, its colour, and its reason.
pub(super) struct Checked(&'static str, Style, String);

pub(super) fn ok(text: impl Into<String>) -> Checked {
    Checked("ok", GOOD, text.into())
}

/// Possibly unintended.
pub(super) fn warning(text: impl Into<String>) -> Checked {
    Checked("warning", NOTE, text.into())
}

/// Broken.
pub(super) fn failed(text: impl Display) -> Checked {
    Checked(FAILED, ERROR, text.to_string())
}

impl<T: Into<String>, E: Display> From<Result<T, E>> for Checked {
    fn from(found: Result<T, E>) -> Self {
        found.map_or_else(failed, ok)
    }
}

/// Findings by subject, in order.
#[derive(Default)]
pub(super) struct Findings(Vec<(&'static str, Checked)>);

impl Findings {
    pub(super) fn add(&mut self, subject: &'static str, checked: impl Into<Checked>) {
        self.0.push((subject, checked.into()));
    }

    /// Prints them. If any failed, the command ends with `error` of their number.
    pub(super) fn print(
        &self,
        form: OutputForm,
        error: fn(String) -> CommandError,
    ) -> Result<Done, CommandError> {
        let mut output = Output::new(form);
        for (subject, Checked(verdict, style, text)) in &self.0 {
            if form.json {
                let value = json!({"verdict": verdict, "subject": subject, "text": text});
                output.json(&value)?;
            } else {
                output.field((*style, verdict), 7, &format!("{subject}: {text}"))?;
            }
        }
        output.flush()?;
        let failed = self.0.iter().filter(|(_, checked)| checked.0 == FAILED);
        match failed.count() as u64 {
            0 => Ok(Done::Whole),
            count => Err(error(plural(count, "check") + " failed, see above")),
        }
    }
}
