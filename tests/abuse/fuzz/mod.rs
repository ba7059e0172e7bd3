//! Inputs that were good once, mutated: whatever comes in, nothing panics, hangs or is a 5xx, what is
//! refused is a problem, and nothing stays held.

pub(crate) mod heads;
pub(crate) mod ledger;
pub(crate) mod requests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, available_parallelism};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::Run;
use crate::random::Random;

/// No input may take longer.
const INPUT_MAX: Duration = Duration::from_secs(60);

/// What a thread tries now, and since when.
pub(crate) struct Trace(Mutex<(Instant, Vec<u8>)>);

impl Trace {
    pub(crate) fn begin(&self, input: &[u8]) {
        let (since, current) = &mut *self.0.lock().unwrap();
        *since = Instant::now();
        current.clear();
        current.extend_from_slice(input);
    }
}

/// So many parts of a program, each of so many inputs.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) count: u64,
    pub(crate) inputs: u64,
}

impl Parts {
    /// At least `inputs` altogether.
    pub(crate) fn of(inputs: u64, each: u64) -> Self {
        Self {
            count: inputs.div_ceil(each),
            inputs: each,
        }
    }
}

/// Runs every part on a thread for each core. A part panics for what should not be.
pub(crate) fn run(
    run: Run,
    name: &str,
    parts: Parts,
    part: impl Fn(&mut Random, &Trace) + Sync,
) -> Result<String, String> {
    let next = AtomicU64::new(0);
    let work = |trace: &Trace| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= parts.count {
                return Ok(());
            }
            let mut random = Random::new(run.seed, name, number);
            if catch_unwind(AssertUnwindSafe(|| part(&mut random, trace))).is_err() {
                next.store(parts.count, Ordering::Relaxed);
                let (_, input) = &*trace.0.lock().unwrap();
                let input = input.escape_ascii();
                return Err(format!("seed={} part {number}: \"{input}\"", run.seed));
            }
        }
    };
    let traces: Vec<_> = (0..available_parallelism().unwrap().get())
        .map(|_| Trace(Mutex::new((Instant::now(), Vec::new()))))
        .collect();
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = traces
            .iter()
            .map(|trace| scope.spawn(move || work(trace)))
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(5));
            for (trace, thread) in std::iter::zip(&traces, &threads) {
                let (since, input) = &*trace.0.lock().unwrap();
                if !thread.is_finished() && since.elapsed() > INPUT_MAX {
                    let (seed, input) = (run.seed, input.escape_ascii());
                    println!("{name}: hangs: seed={seed} \"{input}\"");
                    std::process::abort();
                }
            }
        }
        let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
        outcomes.collect::<Result<Vec<()>, String>>()
    })?;
    Ok(format!("{} inputs", parts.count * parts.inputs))
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}
