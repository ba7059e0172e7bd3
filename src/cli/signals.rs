//! The signals that ask the process to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::outcome::CommandError;

/// SIGTERM and SIGINT, from the moment that it is made.
pub(super) struct StopSignals {
    terminations: Signal,
    interruptions: Signal,
}

impl StopSignals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            terminations: signal(SignalKind::terminate())?,
            interruptions: signal(SignalKind::interrupt())?,
        })
    }

    /// Ready at the next one.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminations.recv() => {}
            _ = self.interruptions.recv() => {}
        }
    }
}

/// Does `work` of a command, unless a signal ends it.
pub(super) async fn unless_interrupted<T>(
    work: impl Future<Output = Result<T, CommandError>>,
) -> Result<T, CommandError> {
    let interrupted = async {
        StopSignals::new()?.next().await;
        Err(CommandError::Interrupted)
    };
    tokio::select! {
        ended = work => ended,
        ended = interrupted => ended,
    }
}
