//! What `check` and `doctor` found, a line each.

use serde_json::json;

use crate::config::OutputForm;

use super::outcome::{CommandError, Done};
use super::output::Output;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckVerdict {
    Ok,
    Warning,
    Failed,
}

impl CheckVerdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// What a check found, in a line.
pub(super) struct Checked(CheckVerdict, String);

pub(super) fn ok(text: impl Into<String>) -> Checked {
    Checked(CheckVerdict::Ok, text.into())
}

/// Something that may be meant so. The text says what to do.
pub(super) fn warning(text: impl Into<String>) -> Checked {
    Checked(CheckVerdict::Warning, text.into())
}

/// Something that does not work. The text says what to do.
pub(super) fn failed(text: impl Into<String>) -> Checked {
    Checked(CheckVerdict::Failed, text.into())
}

/// What was found of each subject, in order.
#[derive(Default)]
pub(super) struct Findings(Vec<(&'static str, Checked)>);

impl Findings {
    pub(super) fn add(&mut self, subject: &'static str, checked: Checked) {
        self.0.push((subject, checked));
    }

    /// Prints them. If one failed, the command ends with `error` of its number.
    pub(super) fn print(
        &self,
        form: OutputForm,
        error: fn(String) -> CommandError,
    ) -> Result<Done, CommandError> {
        let mut output = Output::new(form);
        for (subject, Checked(verdict, text)) in &self.0 {
            let verdict = verdict.as_str();
            match form.json {
                true => output.json(&json!({
                    "verdict": verdict, "subject": subject, "text": text,
                }))?,
                false => output.field(verdict, 7, &format!("{subject}: {text}"))?,
            }
        }
        output.flush()?;
        let verdicts = self.0.iter().map(|(_, checked)| checked.0);
        let failed = verdicts.filter(|verdict| *verdict == CheckVerdict::Failed);
        match failed.count() {
            0 => Ok(Done::Whole),
            1 => Err(error("one check failed, see above".to_owned())),
            count => Err(error(format!("{count} checks failed, see above"))),
        }
    }
}
