//! A panic costs one request, not the connection or the process.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use super::problem::{Code, Problem};

/// The problem that a panic is answered with.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Problem {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("panic without a message");
    Problem::of(Code::InternalError).because(format!("panicked: {message}"))
}

/// Awaits `future`; if it panics, gives what it panicked with. All state that requests share sits
/// behind locks that go on after a panic, or is changed in one step.
pub(crate) async fn catch_panic<F: Future>(future: F) -> Result<F::Output, Box<dyn Any + Send>> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        let poll = AssertUnwindSafe(|| future.as_mut().poll(context));
        match std::panic::catch_unwind(poll) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
    .await
}
