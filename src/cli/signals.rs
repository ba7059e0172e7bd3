//! The effects of signals. SIGTERM, SIGINT and SIGQUIT stop the service. No other signal ends it, unless it
//! can't be caught or reports a fault of the program.

use std::io;
use std::ops::RangeInclusive;

use futures_util::future::select_all;
use rustix::process::Signal as Other;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::outcome::CommandError;

/// SIGTERM, SIGINT and SIGQUIT, caught from creation on.
pub(super) struct StopSignals([Signal; 3]);

impl StopSignals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::quit())?,
        ]))
    }

    /// Resolves at the next one.
    pub(super) async fn next(&mut self) {
        let signals = self.0.iter_mut();
        select_all(signals.map(|signal| Box::pin(signal.recv()))).await;
    }
}

/// Signals whose default is to end the process: those with a name, two of Linux that POSIX doesn't have
/// (STKFLT and PWR), and the real-time ones of glibc.
#[rustfmt::skip]
const OTHERS: [i32; 11] = [
    Other::HUP.as_raw(), Other::USR1.as_raw(), Other::USR2.as_raw(), Other::ALARM.as_raw(), Other::VTALARM.as_raw(),
    Other::PROF.as_raw(), Other::IO.as_raw(), Other::XCPU.as_raw(), Other::XFSZ.as_raw(), 16, 30,
];
const REAL_TIME: RangeInclusive<i32> = 34..=64;

/// Logs and ignores all other signals. SIGHUP also rereads the certificate.
pub(super) fn outlive_others(has_certificate: bool) {
    for number in OTHERS.into_iter().chain(REAL_TIME) {
        // Fails where the system has no such signal.
        let Ok(mut received) = signal(SignalKind::from_raw(number)) else {
            continue;
        };
        let effect = match has_certificate && number == Other::HUP.as_raw() {
            true => "rereading the certificate",
            false => "ignored",
        };
        tokio::spawn(async move {
            while received.recv().await.is_some() {
                tracing::info!(signal = number, "signal received: {effect}");
            }
        });
    }
}

/// Runs `work` of a command, unless a signal ends it.
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
