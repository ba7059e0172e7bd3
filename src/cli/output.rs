//! Printing: for people, or as JSON.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::config::OutputForm;

/// Standard output.
#[derive(Debug)]
pub struct Output {
    form: OutputForm,
}

impl Output {
    /// Prints in this form.
    #[must_use]
    pub const fn new(form: OutputForm) -> Self {
        Self { form }
    }

    /// Prints one thing: `value` as JSON, or `lines`, each a name and its value.
    ///
    /// # Errors
    /// When standard output cannot be written.
    pub fn record(&self, value: &impl Serialize, lines: &[(&str, &str)]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if self.form.json {
            serde_json::to_writer(&mut out, value)?;
            return writeln!(out);
        }
        let width = lines.iter().map(|(name, _)| name.len()).max();
        let width = width.unwrap_or_default();
        for (name, value) in lines {
            writeln!(out, "{name:width$}  {value}")?;
        }
        Ok(())
    }
}
