//! Panics as problems: a panic costs one request, not the connection or the process.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;

use super::problem::{Code, Problem};

/// The problem of a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Problem {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message");
    Problem::of(Code::InternalError).because(format!("panicked: {message}"))
}

/// Awaits `future` and catches its panic. State that requests share is behind locks that tolerate
/// poisoning, or is changed in one step.
pub(crate) fn catch_panic<F: Future>(
    future: F,
) -> impl Future<Output = Result<F::Output, Box<dyn Any + Send>>> {
    AssertUnwindSafe(future).catch_unwind()
}
