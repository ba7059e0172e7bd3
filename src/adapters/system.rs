//! Time, chance and open files from the operating system: the only place that asks for any of them.
//! And work done [`aside`], for the sake of memory.

use std::time::{SystemTime, UNIX_EPOCH};
use std::{io, panic, thread};

use crate::domain::time::Timestamp;
use crate::ports::{Clock, Entropy, EntropyError};

/// What the main thread usually has.
const STACK_BYTES: usize = 8 << 20;

/// Open files beyond connections: the store's, the log's, the listener's.
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

/// The operating system's random numbers.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|error| EntropyError(error.to_string()))
    }
}

/// Raises the limit on open files to fit so many connections, and says how many fit.
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

/// What comes of `work` on a thread of its own: for what takes much memory for a moment.
///
/// glibc gives a thread memory apart from that of the others, and gives its end back to the system as
/// far as nothing stands there any more. Amid what is kept, all of it would stay as holes. What `work`
/// returns is to be copied and then dropped the same way: of what a thread frees it holds on to some
/// as long as it lives.
///
/// # Errors
/// When there can be no more threads.
pub fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    aside_while(work, || ()).map(|(result, ())| result)
}

/// What comes of `work` [`aside`], and of `meanwhile`, which is done on this thread at the same time.
///
/// # Errors
/// When there can be no more threads; nothing was done then.
pub fn aside_while<T: Send, U>(
    work: impl FnOnce() -> T + Send,
    meanwhile: impl FnOnce() -> U,
) -> io::Result<(T, U)> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let working = thread.spawn_scoped(scope, work)?;
        let done = meanwhile();
        let result = working.join();
        let result = result.unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        Ok((result, done))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_aside_is_done_on_another_thread() {
        let here = thread::current().id();
        assert_ne!(aside(|| thread::current().id()).unwrap(), here);
    }

    #[test]
    fn work_aside_and_work_meanwhile_wait_for_each_other() {
        const PATIENCE: Duration = Duration::from_secs(30);
        let (asked, question) = mpsc::channel();
        let (answered, answer) = mpsc::channel();
        let aside = move || {
            let question: u8 = question.recv_timeout(PATIENCE).unwrap();
            answered.send(question + 1).unwrap();
            question
        };
        let meanwhile = || {
            asked.send(1).unwrap();
            answer.recv_timeout(PATIENCE).unwrap()
        };
        assert_eq!(aside_while(aside, meanwhile).unwrap(), (1, 2));
    }

    #[test]
    fn a_panic_aside_is_one_here() {
        let panicked = panic::catch_unwind(|| aside(|| panic!("aside")).is_ok());
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"aside"));
    }
}
