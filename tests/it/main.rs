//! All integration tests, in one binary: it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]

mod assistant_pages;
mod contracts;
mod limiter;
mod site;
mod window;
