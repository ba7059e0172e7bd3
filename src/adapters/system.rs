//! Clock, randomness, threads and the limit on open files, from the operating system.

use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::time::Timestamp;
use crate::ports::{Clock, Entropy, EntropyError};

/// Open files beyond connections: those of the stores, the listener, outgoing connections.
const FILES_RESERVED: u64 = 256;

/// The wall clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "the one place that reads the clock"
    )]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::from_ms(u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX))
    }
}

/// The operating system's random number generator.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|error| EntropyError(error.to_string()))
    }
}

/// How long a line may take to be written.
const PIPE_PATIENCE: Duration = Duration::from_secs(2);

/// Runs `write`, which writes to standard output or standard error. Goes on after 2 s if nobody reads
/// that: a full pipe must hold up neither the start nor the end of the process.
pub fn write_to_pipe(write: impl FnOnce() + Send + 'static) {
    let write = Arc::new(Mutex::new(Some(write)));
    let (written, waiting) = mpsc::channel();
    let run = move || {
        let write = write.lock().unwrap_or_else(PoisonError::into_inner).take();
        write.into_iter().for_each(|write| write());
    };
    let in_thread = run.clone();
    let thread = thread::Builder::new().spawn(move || {
        in_thread();
        // Fails if nobody waits any more.
        let _ = written.send(());
    });
    match thread {
        Ok(_detached) => {
            let _ = waiting.recv_timeout(PIPE_PATIENCE);
        }
        Err(_too_many_threads) => run(),
    }
}

/// Raises the limit on open files to fit `wanted` connections. Returns how many fit.
#[must_use]
pub fn fit_connections(wanted: u64) -> usize {
    let files = wanted + FILES_RESERVED;
    let limit = rlimit::increase_nofile_limit(files).unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot raise the limit on open files");
        rlimit::getrlimit(rlimit::Resource::NOFILE).map_or(0, |(soft, _hard)| soft)
    });
    let fitting = limit.saturating_sub(FILES_RESERVED).clamp(1, wanted);
    if fitting < wanted {
        tracing::warn!(
            connections_max = fitting,
            wanted,
            "the limit on open files is too low for --max-connections; further connections wait"
        );
    }
    usize::try_from(fitting).unwrap_or(usize::MAX)
}
