//! The operator's commands.
//!
//! | Module | Holds |
//! |---|---|
//! | [`client`] | the connection to the operator's API, of a running service or of this process |
//! | [`output`], `progress`, [`outcome`] | printing, and how commands end |
//! | `admin`, `contacts` | a file for each group of commands |
//!
//! Exit status: 0 done, 1 failed, 2 wrong flags or input, 3 done in part, 130 interrupted.

mod admin;
pub mod client;
mod contacts;
mod handbook;
pub mod outcome;
pub mod output;
mod progress;

use std::io;

use tokio::signal::unix::{SignalKind, signal};

use crate::config::{Args, Command};

use self::client::AdminClient;
pub use self::outcome::{CommandError, Done};
pub use self::output::report;

/// Runs a command. `args` name the data directory, if the command needs one.
///
/// # Errors
/// [`CommandError`] when the command did nothing of what was asked for.
pub async fn run(command: Command, args: Option<&Args>) -> Result<Done, CommandError> {
    match command {
        Command::Contacts(command) => {
            with_client(args, async |client| contacts::run(command, client).await).await
        }
        Command::Admin(command) => {
            with_client(args, async |client| admin::run(command, client).await).await
        }
        Command::Handbook { topic } => {
            handbook::print(topic)?;
            Ok(Done::Whole)
        }
    }
}

/// Does `work` with a connection to the operator's API.
async fn with_client(
    args: Option<&Args>,
    work: impl AsyncFnOnce(&mut AdminClient) -> Result<Done, CommandError>,
) -> Result<Done, CommandError> {
    let missing = || CommandError::Input("the command needs a --data-dir".to_owned());
    let mut client = AdminClient::open(args.ok_or_else(missing)?).await?;
    let ended = tokio::select! {
        ended = work(&mut client) => ended,
        signalled = signalled() => Err(signalled.err().map_or(CommandError::Interrupted, Into::into)),
    };
    // After an error, too: the stores of a stopped service must be closed.
    let closed = client.close().await;
    let done = ended?;
    closed.map(|()| done)
}

/// Ready at SIGINT or SIGTERM.
async fn signalled() -> io::Result<()> {
    let mut interruptions = signal(SignalKind::interrupt())?;
    let mut terminations = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interruptions.recv() => {}
        _ = terminations.recv() => {}
    }
    Ok(())
}
