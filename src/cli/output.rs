//! Printing, for people or as JSON: results, and the findings of a check, each a verdict and its reason, in a line that says
//! what to do.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write as _};

use anstream::AutoStream;
use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;

use crate::config::OutputForm;
use crate::domain::printable;

use super::outcome::{CommandError, Done};

pub(super) use crate::operator::words::{grouped, plural};

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Yellow.on_default().bold();

/// Bytes printed at a time.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output. Without colours if it isn't a terminal, or if `NO_COLOR` is set.
pub(super) struct Output {
    out: BufWriter<AutoStream<Stdout>>,
    /// True if it prints JSON.
    pub(super) is_json: bool,
}

impl Output {
    /// Prints in this form.
    pub(super) fn new(form: OutputForm) -> Self {
        Self {
            out: BufWriter::with_capacity(BUFFER_BYTES, AutoStream::auto(io::stdout())),
            is_json: form.json,
        }
    }

    /// Prints a line of JSON.
    pub(super) fn json(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let mut line = serde_json::to_vec(value).map_err(io::Error::from)?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// Prints names and values, one per line.
    pub(super) fn fields(&mut self, lines: &[(&str, impl AsRef<str>)]) -> Result<(), CommandError> {
        let width = lines.iter().map(|(name, _)| name.len()).max();
        let width = width.unwrap_or_default();
        for (name, value) in lines {
            self.field((HEADING, name), width, value.as_ref())?;
        }
        Ok(())
    }

    /// Prints a name in a style, padded to `width` columns, and a value.
    fn field(
        &mut self,
        (style, name): (Style, &str),
        width: usize,
        value: &str,
    ) -> Result<(), CommandError> {
        let value = printable(value, &[]);
        self.styled(&format!("{style}{name:width$}{style:#}  {value}"))
    }

    /// Prints a heading.
    pub(super) fn heading(&mut self, text: &str) -> Result<(), CommandError> {
        self.styled(&format!("{HEADING}{}{HEADING:#}", printable(text, &[])))
    }

    /// Prints a line.
    pub(super) fn line(&mut self, text: &str) -> Result<(), CommandError> {
        self.styled(&printable(text, &[]))
    }

    fn styled(&mut self, line: &str) -> Result<(), CommandError> {
        writeln!(self.out, "{line}").map_err(unwritten)
    }

    /// Prints whole lines, unchanged unless a terminal shows them.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        if !io::stdout().is_terminal() {
            return self.out.write_all(bytes).map_err(unwritten);
        }
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let text = printable(&text, &['\n', '\t']);
        self.out.write_all(text.as_bytes()).map_err(unwritten)
    }

    /// Prints the buffer. A command ends with it: an error after that would be lost.
    pub(super) fn flush(&mut self) -> Result<(), CommandError> {
        self.out.flush().map_err(unwritten)
    }
}

/// Prints `value` as JSON, or for people with `print`.
pub(super) fn show(
    form: OutputForm,
    value: &impl Serialize,
    print: impl FnOnce(&mut Output) -> Result<(), CommandError>,
) -> Result<Done, CommandError> {
    let mut output = Output::new(form);
    if output.is_json {
        output.json(value)?;
    } else {
        print(&mut output)?;
    }
    output.flush()?;
    Ok(Done::Whole)
}

/// Prints bytes, and nothing else.
pub(super) fn print(bytes: &[u8]) -> Result<Done, CommandError> {
    let mut output = Output::new(OutputForm { json: false });
    output.bytes(bytes)?;
    output.flush()?;
    Ok(Done::Whole)
}

fn unwritten(error: io::Error) -> CommandError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return CommandError::OutputClosed;
    }
    CommandError::Failed(format!("cannot write to standard output: {error}"))
}

/// Notes something for the operator that isn't a result, on standard error.
pub(super) fn note(text: &str) {
    // There is no other place to report a failure.
    let text = printable(text, &[]);
    let _ = writeln!(anstream::stderr(), "{NOTE}note{NOTE:#}: {text}");
}

/// Prints why a command failed, on standard error.
pub fn report(error: &CommandError) {
    if !matches!(error, CommandError::OutputClosed) {
        // There is no other place to report a failure.
        let error = error.to_string();
        let error = printable(&error, &[]);
        let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {error}");
    }
}

const FAILED: &str = "failed";

/// A verdict, its colour, and its reason.
pub(super) struct Checked(pub(super) &'static str, Style, pub(super) String);

pub(super) fn ok(text: impl Into<String>) -> Checked {
    Checked("ok", GOOD, text.into())
}

/// Right here, but not elsewhere.
pub(super) fn noted(text: impl Into<String>) -> Checked {
    Checked("note", GOOD, text.into())
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
