//! Outcomes of commands.

use std::fmt::Display;
use std::io;

use tokio::task::spawn_blocking;

use crate::adapters::files::OpenError;
use crate::ports::StoreError;
use crate::wiring::StoresError;

/// Outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything was done.
    Whole,
    /// Something was skipped, as shown in the output.
    InPart,
}

impl Done {
    /// The exit status.
    pub const fn status(self) -> u8 {
        match self {
            Self::Whole => 0,
            Self::InPart => 3,
        }
    }
}

/// Why a command failed, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line makes no sense.
    #[error("{0}")]
    Input(String),
    /// The command's task failed.
    #[error("{0}")]
    Failed(String),
    /// The data directory can't be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Something couldn't be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The stores are unavailable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A signal ended it.
    #[error("interrupted: anything not printed may not have been done")]
    Interrupted,
    /// Nobody reads standard output any more, for example behind `| head`. Not a failure.
    #[error("standard output was closed")]
    OutputClosed,
}

impl From<StoresError> for CommandError {
    fn from(error: StoresError) -> Self {
        match error {
            StoresError::Flag(line) => Self::Input(line),
            StoresError::Database(_) => Self::failed(error),
            StoresError::DataDir(error) => Self::Open(error),
            StoresError::Thread(error) => Self::Io(error),
        }
    }
}

impl CommandError {
    /// The task failed because of `error`.
    pub(super) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    /// The exit status.
    pub const fn status(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Failed(_) | Self::Open(_) | Self::Io(_) | Self::Store(_) => 1,
            Self::Input(_) => 2,
            // Like shells report a process ended by SIGINT.
            Self::Interrupted => 130,
        }
    }
}

/// Runs blocking work. A signal doesn't wait for it.
pub(super) async fn blocking<T: Send + 'static, E: Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, CommandError> {
    let done = spawn_blocking(work).await;
    done.map_err(CommandError::failed)?
        .map_err(CommandError::failed)
}
