//! What `check` and `doctor` found, a line each.

use serde::Serialize;

use crate::config::OutputForm;

use super::outcome::{CommandError, Done};
use super::output::Output;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
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
#[derive(Debug)]
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

#[derive(Debug, Serialize)]
struct Finding {
    verdict: CheckVerdict,
    subject: &'static str,
    text: String,
}

/// Findings in their order.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, subject: &'static str, Checked(verdict, text): Checked) {
        self.0.push(Finding {
            verdict,
            subject,
            text,
        });
    }

    /// Prints them. If one failed, the command ends with `error` of its number.
    pub(super) fn print(
        &self,
        form: OutputForm,
        error: fn(String) -> CommandError,
    ) -> Result<Done, CommandError> {
        let mut output = Output::new(form);
        for finding in &self.0 {
            let Finding {
                verdict,
                subject,
                text,
            } = finding;
            match form.json {
                true => output.json(finding)?,
                false => output.line(&format!("{:7}  {subject}: {text}", verdict.as_str()))?,
            }
        }
        output.flush()?;
        let failed = self
            .0
            .iter()
            .filter(|it| it.verdict == CheckVerdict::Failed);
        match failed.count() {
            0 => Ok(Done::Whole),
            1 => Err(error("one check failed, see above".to_owned())),
            count => Err(error(format!("{count} checks failed, see above"))),
        }
    }
}
