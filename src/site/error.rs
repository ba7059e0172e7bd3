//! A faulty file of the site.

use std::error::Error as _;

/// Why the site can't be rendered. Its text is one line, whatever the file's name and content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}: {}",
    .name.escape_debug(),
    .line.map_or_else(String::new, |line| format!(", line {line}")),
    .why.replace(char::is_control, " ")
)]
pub struct SiteError {
    /// File name.
    pub name: String,
    /// Line number, if known.
    pub line: Option<usize>,
    /// The fault, in a few words.
    pub why: String,
}

impl SiteError {
    pub(super) fn new(name: &str, why: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            line: None,
            why: why.into(),
        }
    }
}

impl From<minijinja::Error> for SiteError {
    fn from(error: minijinja::Error) -> Self {
        // The cause of an error in an included template is in its own file.
        let mut error = &error;
        while let Some(cause) = error.source().and_then(|source| source.downcast_ref()) {
            error = cause;
        }
        let why = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self {
            line: error.line(),
            ..Self::new(error.name().unwrap_or("template"), why)
        }
    }
}
