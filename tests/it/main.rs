//! Every test but the short ones that stand beside what they test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a test may fail; the allowances of .clippy.toml do not reach its helpers"
)]

mod contracts;
mod limiter;
mod window;
