//! The other end of commands: the service that runs on the data directory, or, if none does, the stores
//! opened by this process. Both answer the same.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::UnixStream;
use tokio_util::bytes::Bytes;

use crate::adapters::admin_socket;
use crate::adapters::files::data_dir::refuse_foreign;
use crate::app::App;
use crate::config::{Args, OutputForm};
use crate::operator::operate;
use crate::operator::operation::{Answer, Lines, OperatorRequest, Params};
use crate::operator::socket::{
    Failure, RequestHead, message_lines, read_head, read_rows, write_message,
};
use crate::wiring::stores::{Stores, WindowsFor, open_stopped};

use super::outcome::{CommandError, blocking};

/// The other end of a command, and the format in which its answers are printed.
pub(super) struct Client {
    pub(super) end: End,
    pub(super) form: OutputForm,
}

/// The other end of a command.
pub(super) enum End {
    /// The stores, opened by this process.
    Here(Arc<App>, Stores),
    /// The service that runs on this data directory.
    There(PathBuf),
}

impl Client {
    /// Finds the service on the data directory of `args`, or opens the directory; `windows` selects whether the
    /// limiter's windows are opened too.
    pub(super) async fn open(
        args: &Args,
        windows: WindowsFor,
        form: OutputForm,
    ) -> Result<Self, CommandError> {
        if let Some(dir) = &args.data_dir
            && connect(dir)?.is_some()
        {
            let end = End::There(dir.clone());
            return Ok(Self { end, form });
        }
        let (app, stores) = open_stopped(args, windows).await?;
        let end = End::Here(Arc::new(app), stores);
        Ok(Self { end, form })
    }

    /// True if a service runs on the data directory.
    pub(super) const fn is_running(&self) -> bool {
        matches!(self.end, End::There(_))
    }

    /// The one value that `operation` answers.
    pub(super) async fn one<T: DeserializeOwned>(
        &self,
        operation: &str,
        params: Value,
    ) -> Result<T, CommandError> {
        self.send(operation, params, stream::empty().boxed()).await
    }

    /// The same of an operation that reads `rows`.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        operation: &str,
        params: Value,
        rows: Lines<io::Error>,
    ) -> Result<T, CommandError> {
        let lines = self.ask(operation, params, rows).await?;
        let lines: Vec<Bytes> = lines.try_collect().await?;
        serde_json::from_slice(&lines.concat()).map_err(other_version)
    }

    /// The rows that `operation` answers.
    pub(super) async fn rows(
        &self,
        operation: &str,
        params: Value,
    ) -> Result<Lines<CommandError>, CommandError> {
        self.ask(operation, params, stream::empty().boxed()).await
    }

    async fn ask(
        &self,
        operation: &str,
        params: Value,
        rows: Lines<io::Error>,
    ) -> Result<Lines<CommandError>, CommandError> {
        match &self.end {
            End::Here(app, _) => {
                let mut request = OperatorRequest::new(Arc::clone(app), Params(params));
                request.rows = rows;
                let answer = operate(operation, request).await;
                let Answer(lines) = answer.map_err(Failure::from)?;
                let lines = lines.map_err(|error| Failure::from(error).into());
                Ok(lines.boxed())
            }
            End::There(dir) => ask_service(dir, operation, params, rows).await,
        }
    }

    /// Closes the stores if they are in this process.
    pub(super) async fn close(self) -> Result<(), CommandError> {
        let End::Here(app, stores) = self.end else {
            return Ok(());
        };
        drop(app);
        blocking(move || stores.close()).await
    }
}

/// The answer of the service on `dir`.
async fn ask_service(
    dir: &Path,
    operation: &str,
    params: Value,
    rows: Lines<io::Error>,
) -> Result<Lines<CommandError>, CommandError> {
    let Some(stream) = connect(dir)? else {
        return Err(broken_off(&io::ErrorKind::ConnectionRefused.into()));
    };
    let (reader, mut writer) = stream.into_split();
    let head = RequestHead {
        operation: operation.to_owned(),
        params: Params(params),
    };
    let mut lines = message_lines(reader);
    match write_message(&mut writer, &head, rows).await {
        // The service may respond before it has read the whole request.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        // It waits for the rest of an incomplete request.
        written => written.map_err(|error| broken_off(&error))?,
    }
    let head = read_head::<Option<Failure>>(&mut lines).await;
    let failure = head.map_err(|error| {
        if error.kind() == io::ErrorKind::InvalidData {
            other_version(error)
        } else {
            broken_off(&error)
        }
    })?;
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    let lines = read_rows(lines).map_err(|error| broken_off(&error));
    Ok(lines.boxed())
}

/// Connects to the service on the data directory at `path`, if one runs there.
fn connect(path: &Path) -> Result<Option<UnixStream>, CommandError> {
    let connected = admin_socket::connect(path).or_else(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            refuse_foreign(path)?;
        }
        let path = path.display();
        Err(CommandError::Failed(format!(
            "cannot connect to {path}/admin.sock: {error}"
        )))
    })?;
    Ok(connected.map(UnixStream::from_std).transpose()?)
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unknown(text) => other_version(text),
            Failure::Input(text) => Self::Input(text),
            Failure::Failed(text) => Self::Failed(text),
        }
    }
}

fn broken_off(error: &io::Error) -> CommandError {
    CommandError::Failed(format!(
        "the connection to the service was lost before the command was done: {error}"
    ))
}

/// A field that every answer of this version has.
pub(super) fn member<'a>(answer: &'a Value, name: &str) -> Result<&'a Value, CommandError> {
    let missing = || other_version(format!("missing field `{name}`"));
    answer.get(name).ok_or_else(missing)
}

pub(super) fn other_version(what: impl std::fmt::Display) -> CommandError {
    CommandError::Failed(format!(
        "the service on the data directory is a different version than this program: {what}; \
         restart it, or use its own program"
    ))
}
