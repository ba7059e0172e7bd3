//! What one limiter decision costs, part by part and beside what one would use instead.
//!
//! | Module | Measures |
//! |---|---|
//! | `window` | the rule alone, on one window |
//! | `port` | a decision through the port, with sled behind it: one key, many, refused, two policies |
//! | `peers` | the same decisions by governor, which forgets them at a restart, and by sled itself |
//! | `threads` | two threads, on one key and on keys of their own |
//! | `headers` | what the answer says of a decision |
//! | `memory` | a million windows: bytes each, and what comes back when they have expired |
//!
//! `memory` prints figures of its own, and runs when it is asked for by name.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a bench may fail, and criterion's macros make undocumented functions"
)]
#![allow(
    clippy::disallowed_methods,
    reason = "a bench measures with the real clock"
)]

mod headers;
mod limiters;
mod memory;
mod peers;
mod port;
mod threads;
mod window;

use std::time::Duration;

use criterion::{Criterion, criterion_group};

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = window::bench, port::bench, peers::bench, threads::bench, headers::bench
}

fn main() {
    if std::env::args().any(|argument| argument == "memory") {
        memory::report();
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
