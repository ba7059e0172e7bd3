//! Clock, randomness, the user and the limit on open files, from the operating system.

use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::domain::Timestamp;
use crate::ports::{Clock, Entropy};

/// Open files besides connections: stores, listener, outgoing connections.
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

/// The operating system's random number generator. Without it the standard library's hash maps panic, too.
#[derive(Clone, Copy, Debug)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[allow(clippy::panic, reason = "tokens must never be made of anything else")]
    fn fill(&self, bytes: &mut [u8]) {
        if SystemRandom::new().fill(bytes).is_err() {
            panic!("no random bytes");
        }
    }
}

/// Effective id of the process's user.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Raises the limit on open files to fit `wanted` connections. Returns the number that fits.
pub fn fit_connections(wanted: u64) -> usize {
    let files = wanted + FILES_RESERVED;
    let mut limit = getrlimit(Resource::Nofile);
    // None is unlimited.
    limit.current = limit.current.map(|soft| {
        let hard = limit.maximum.unwrap_or(u64::MAX);
        soft.max(files.min(hard))
    });
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "cannot raise the limit on open files");
        limit = getrlimit(Resource::Nofile);
    }
    let limit = limit.current.unwrap_or(u64::MAX);
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
