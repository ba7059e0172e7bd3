//! Threads: a check that the system grants enough of them, and work that must not block its caller forever.

use parking_lot::Mutex;
use std::io;
use std::num::NonZero;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// Threads besides those of the runtime, which has one per core: 8 of sled, one each for the log, the
/// ledger and the limiter, two that close the stores, and some for DNS lookups.
const THREADS_RESERVED: usize = 16;

/// Deadline of a write to a pipe.
const PIPE_DEADLINE: Duration = Duration::from_secs(2);

/// Runs `write`, which writes to standard output or standard error, and waits at most 2 s for it. A full
/// pipe that nobody reads must not block the start or the end of the process.
pub fn write_to_pipe<F: FnOnce() + Send + 'static>(write: F) {
    let (sender, receiver) = mpsc::channel::<F>();
    let (done, ended) = mpsc::channel::<()>();
    let thread = thread::Builder::new().spawn(move || {
        // Dropped at the end, which wakes the caller.
        let _done = done;
        if let Ok(write) = receiver.recv() {
            write();
        }
    });
    match thread {
        Ok(_detached) => {
            // Fails only if the thread is gone.
            let _ = sender.send(write);
            let _ = ended.recv_timeout(PIPE_DEADLINE);
        }
        Err(_no_thread) => write(),
    }
}

/// Starts as many threads as the service needs and ends them again. Libraries hang or panic when they
/// cannot start a thread, so this is checked first.
pub fn check_threads() -> io::Result<()> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let count = cores + THREADS_RESERVED;
    let gate = Mutex::new(());
    let wait = || drop(gate.lock());
    let closed = gate.lock();
    let started = thread::scope(|scope| {
        // The threads end when this guard is dropped, also after an error.
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

/// Runs each job on its own thread and returns their results; a job that panics has none. Returns
/// `None` at the `deadline` if a job is still running; that job continues.
pub fn run_within<T: Send + 'static, const N: usize>(
    deadline: Duration,
    jobs: [Box<dyn FnOnce() -> T + Send>; N],
) -> io::Result<Option<Vec<T>>> {
    let (end, ended) = mpsc::channel();
    for job in jobs {
        let end = end.clone();
        // Fails after the deadline.
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
        let wait = move || assert!(held.recv().is_err());
        let work = move || tell.send(()).unwrap();
        let jobs: [Box<dyn FnOnce() + Send>; 2] = [Box::new(wait), Box::new(work)];
        let ended = run_within(Duration::from_millis(50), jobs);
        assert_eq!(ended.unwrap(), None);
        assert_eq!(told.recv(), Ok(()));
        drop(hold);
        let panic = || panic!("on purpose");
        let jobs: [Box<dyn FnOnce() -> u8 + Send>; 2] = [Box::new(|| 1), Box::new(panic)];
        let ended = run_within(Duration::from_secs(30), jobs);
        assert_eq!(ended.unwrap(), Some(vec![1]));
    }

    #[test]
    fn there_are_enough_threads_here() {
        check_threads().unwrap();
    }
}
