//! Waiting for what hardly ever comes, beside what comes all the time.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Polls a future only when that has been woken. A task that waits for several polls all of them
/// whenever one of them has something; to ask the others costs a lock or a look at a timer each,
/// and may make cores wait for each other.
#[derive(Debug)]
pub(super) struct WhenWoken<F> {
    future: F,
    bell: Arc<Bell>,
    /// Rings the bell.
    waker: Waker,
    /// The task that the bell wakes.
    task: Waker,
}

#[derive(Debug)]
struct Bell {
    has_rung: AtomicBool,
    /// The task that waits. It stays when it is woken.
    task: Mutex<Waker>,
}

impl<F> WhenWoken<F> {
    pub(super) fn new(future: F) -> Self {
        let bell = Arc::new(Bell {
            // The first poll tells the future whom to wake.
            has_rung: AtomicBool::new(true),
            task: Mutex::new(Waker::noop().clone()),
        });
        Self {
            future,
            waker: Waker::from(Arc::clone(&bell)),
            bell,
            task: Waker::noop().clone(),
        }
    }
}

impl<F: Future + Unpin> Future for WhenWoken<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.get_mut();
        // Before the look at the bell, so that none that rings later is missed. It is nearly always
        // the same task.
        if !this.task.will_wake(context.waker()) {
            this.task.clone_from(context.waker());
            this.bell.wake_later(&this.task);
        }
        let has_rung = &this.bell.has_rung;
        // A look is enough: whoever rings wakes the task after that, so a ring that is not seen yet
        // is seen by the poll that it leads to. To take it costs more, and comes before the future is
        // polled: if that is woken meanwhile, it is polled again.
        if !has_rung.load(Ordering::Relaxed) || !has_rung.swap(false, Ordering::Acquire) {
            return Poll::Pending;
        }
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker))
    }
}

impl Bell {
    /// Wakes `task` from now on.
    fn wake_later(&self, task: &Waker) {
        let task = task.clone();
        let mut waiting = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *waiting, task);
        drop(waiting);
        // It may be the last to know its task, and take that along.
        drop(before);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // What was done before each of several rings is seen by who takes them together.
        self.has_rung.fetch_or(true, Ordering::Release);
        let waiting = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let task = waiting.clone();
        drop(waiting);
        task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use futures_util::future::poll_fn;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_future_is_polled_once_for_each_time_that_it_is_woken() {
        let (wake, mut woken) = oneshot::channel();
        let polls = AtomicU32::new(0);
        let mut rare = WhenWoken::new(poll_fn(|context| {
            polls.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut woken).poll(context)
        }));
        for _ in 0..5 {
            let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut rare).poll(context))).await;
            assert!(polled.is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        wake.send(7).unwrap();
        assert_eq!(rare.await, Ok(7));
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn whoever_waits_last_is_woken() {
        let (wake, woken) = oneshot::channel();
        let mut rare = WhenWoken::new(woken);
        let polled = poll_fn(|context| Poll::Ready(Pin::new(&mut rare).poll(context))).await;
        assert!(polled.is_pending());
        let waiting = tokio::spawn(rare);
        tokio::task::yield_now().await;
        wake.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }
}
