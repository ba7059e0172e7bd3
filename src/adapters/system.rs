//! Clock, randomness, threads and the limits on them and on open files, from the operating system.

use std::io;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::domain::time::Timestamp;
use crate::ports::{Clock, Entropy, EntropyError};

/// Open files beyond connections: those of the stores, the listener, outgoing connections.
const FILES_RESERVED: u64 = 256;

/// Threads beyond those of the runtime, of which it has one for each core: 8 of sled, one each of the
/// log, the ledger and the limiter, two that close the stores, and some that look names up.
const THREADS_RESERVED: usize = 16;

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

/// Starts as many threads as the service needs and ends them again. Without this a start with too
/// few would hang or panic, because libraries take for granted that theirs can be started.
///
/// # Errors
/// When the system does not allow that many.
pub fn check_threads() -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let count = cores + THREADS_RESERVED;
    let gate = Mutex::new(());
    let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    let started = thread::scope(|scope| {
        // They end when this is dropped, also after an error.
        let _closed = closed;
        (0..count).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, wait).map(drop))
    });
    started.map_err(|error| {
        let wanted = "raise the limit on processes (ulimit -u, TasksMax=, pids.max)";
        io::Error::new(
            error.kind(),
            format!("cannot start {count} threads: {error}; {wanted}"),
        )
    })
}

/// Work for a thread of its own.
pub type Job<T> = Box<dyn FnOnce() -> T + Send>;

/// Runs each job on a thread of its own. Returns what they return, or `None` if not all of them ended
/// within `deadline`; those go on. One that panics returns nothing.
///
/// # Errors
/// When the system cannot start a thread. Jobs may be dropped without being run then.
pub fn run_within<T: Send + 'static, const N: usize>(
    deadline: Duration,
    jobs: [Job<T>; N],
) -> io::Result<Option<Vec<T>>> {
    let (end, ended) = mpsc::channel();
    for job in jobs {
        let end = end.clone();
        // Fails if nobody waits any more.
        thread::Builder::new().spawn(move || drop(end.send(job())))?;
    }
    drop(end);
    let deadline = Instant::now() + deadline;
    let mut results = Vec::with_capacity(N);
    loop {
        match ended.recv_timeout(deadline - Instant::now()) {
            Ok(result) => results.push(result),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(Some(results)),
            Err(mpsc::RecvTimeoutError::Timeout) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_does_not_end_is_not_waited_for() {
        let (hold, held) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let wait: Job<()> = Box::new(move || assert!(held.recv().is_err()));
        let work: Job<()> = Box::new(move || tell.send(()).unwrap());
        let ended = run_within(Duration::from_millis(50), [wait, work]);
        assert_eq!(ended.unwrap(), None);
        assert_eq!(told.recv(), Ok(()));
        drop(hold);
        let one: Job<u8> = Box::new(|| 1);
        let panic: Job<u8> = Box::new(|| panic!("on purpose"));
        let ended = run_within(Duration::from_secs(30), [one, panic]);
        assert_eq!(ended.unwrap(), Some(vec![1]));
    }

    #[test]
    fn there_are_enough_threads_here() {
        check_threads().unwrap();
    }
}
