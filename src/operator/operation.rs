//! An operation: its input, its answer, and its errors.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::bytes::Bytes;

use crate::app::App;
use crate::domain::EmailAddress;
use crate::ports::{LimiterError, MailError, PageStream, StoreError};

use super::sessions::Sessions;

/// Rows in JSON Lines: whole lines, as many at a time as is convenient.
pub type Lines<E> = BoxStream<'static, Result<Bytes, E>>;

/// The service's flags at start. Secrets in them are not hidden: only the service's user and root get an
/// answer.
#[derive(Default, Serialize, Deserialize)]
pub struct ServiceFlags {
    /// Its working directory, where relative paths begin.
    pub directory: PathBuf,
    /// The words of its command line, including values from environment variables.
    pub words: Vec<String>,
}

/// Input of an operation.
pub struct OperatorRequest {
    pub app: Arc<App>,
    /// Sessions of the admin page, if there is one.
    pub sessions: Option<Arc<Sessions>>,
    pub flags: Arc<ServiceFlags>,
    pub params: Params,
    /// Rows for an import; empty for all other operations.
    pub rows: Lines<io::Error>,
}

impl OperatorRequest {
    /// A request without rows.
    pub fn new(app: Arc<App>, params: Params) -> Self {
        Self {
            app,
            sessions: None,
            flags: Arc::default(),
            params,
            rows: stream::empty().boxed(),
        }
    }
}

/// Output of an operation, in JSON Lines: one value, or rows. An error ends them before they are complete.
pub struct Answer(pub Lines<OperatorError>);

impl Answer {
    /// # Errors
    /// When the value has no form in JSON, which is a bug.
    pub(super) fn one(value: &impl Serialize) -> Result<Self, OperatorError> {
        let line = json_lines([value])?;
        Ok(Self(stream::iter([Ok(line)]).boxed()))
    }

    /// Each value that a store lists, converted by `row`.
    pub(super) fn rows<T: Send + 'static>(
        pages: PageStream<T>,
        row: impl Fn(&T) -> Value + Send + 'static,
    ) -> Result<Self, OperatorError> {
        let lines = pages.map(move |page| Ok(json_lines(page?.iter().map(&row))?));
        Ok(Self(lines.boxed()))
    }
}

/// Values in JSON Lines.
pub(crate) fn json_lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> io::Result<Bytes> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, &value)?;
        lines.push(b'\n');
    }
    Ok(lines.into())
}

/// Parameters: the fields of a JSON object or of a form, each a string.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(pub Value);

impl Params {
    /// The fields of a query or a form. The first one of a name counts.
    pub(super) fn of_form(form: &str) -> Self {
        let mut params = Map::new();
        for (name, value) in url::form_urlencoded::parse(form.as_bytes()) {
            params
                .entry(name)
                .or_insert_with(|| value.into_owned().into());
        }
        Self(params.into())
    }

    /// The text under `name`, if it is not empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    /// The texts under `name`: one, or a list of them.
    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        match self.0.get(name) {
            Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => self.text(name).into_iter().collect(),
        }
    }

    /// The addresses under `name`.
    ///
    /// # Errors
    /// When one of them is none.
    pub(super) fn emails(&self, name: &str) -> Result<Vec<EmailAddress>, OperatorError> {
        let emails = self.texts(name).into_iter().map(EmailAddress::parse);
        let emails: Result<_, _> = emails.collect();
        emails.map_err(|error| OperatorError::Input(format!("the address {error}")))
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        usize::try_from(self.0.get(name)?.as_u64()?).ok()
    }

    /// True if `name` is true, or, in a query or a form, `true`.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Bool(true)) || self.text(name) == Some("true")
    }

    /// The text under `name`, read by `parse`, if there is one.
    ///
    /// # Errors
    /// When `parse` refuses it.
    pub(super) fn parsed<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, OperatorError> {
        let value = self.text(name).map(parse).transpose();
        value.map_err(|error| OperatorError::Input(error.to_string()))
    }
}

/// Why an operation failed. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("this version of the service does not know the command")]
    Unknown,
    /// A parameter is invalid.
    #[error("{0}")]
    Input(String),
    /// Its subject does not exist.
    #[error("{0}")]
    NotFound(String),
    /// It failed after a part was done.
    #[error("{0}")]
    InPart(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    #[error(transparent)]
    Mail(#[from] MailError),
    /// A bug.
    #[error("cannot write the answer: {0}")]
    Unwritable(#[from] io::Error),
}
