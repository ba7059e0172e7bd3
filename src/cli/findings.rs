//! What `check` and `doctor` found, a line each.

use serde::Serialize;

use crate::config::OutputForm;

use super::outcome::{CommandError, Done};
use super::output;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warning,
    Failed,
}

#[derive(Debug, Serialize)]
struct Finding {
    verdict: Verdict,
    subject: &'static str,
    text: String,
}

/// Findings in their order.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(Verdict::Ok, subject, text.into());
    }

    /// Something that may be meant so. The text says what to do.
    pub(super) fn warn(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(Verdict::Warning, subject, text.into());
    }

    /// Something that does not work. The text says what to do.
    pub(super) fn fail(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(Verdict::Failed, subject, text.into());
    }

    fn add(&mut self, verdict: Verdict, subject: &'static str, text: String) {
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
        let mut text = String::new();
        for finding in &self.0 {
            if form.json {
                let line = serde_json::to_string(finding);
                text.push_str(&line.map_err(|error| CommandError::Failed(error.to_string()))?);
            } else {
                let verdict = match finding.verdict {
                    Verdict::Ok => "ok",
                    Verdict::Warning => "warning",
                    Verdict::Failed => "failed",
                };
                let Finding {
                    subject,
                    text: told,
                    ..
                } = finding;
                text.push_str(&format!("{verdict:7}  {subject}: {told}"));
            }
            text.push('\n');
        }
        output::print(text.as_bytes())?;
        let failed = self.0.iter().filter(|it| it.verdict == Verdict::Failed);
        match failed.count() {
            0 => Ok(Done::Whole),
            1 => Err(error("one check failed, see above".to_owned())),
            count => Err(error(format!("{count} checks failed, see above"))),
        }
    }
}
