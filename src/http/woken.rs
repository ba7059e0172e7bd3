//! Being woken: for what hardly ever comes, beside what comes all the time; and while there is no
//! need to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::task;

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
    waiting: Waiting,
}

/// The task that waits. It stays when it is woken.
#[derive(Debug)]
struct Waiting(Mutex<Waker>);

impl<F> WhenWoken<F> {
    pub(super) fn new(future: F) -> Self {
        let bell = Arc::new(Bell {
            // The first poll tells the future whom to wake.
            has_rung: AtomicBool::new(true),
            waiting: Waiting::default(),
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
        this.bell.waiting.follow(&mut this.task, context.waker());
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

impl Default for Waiting {
    fn default() -> Self {
        Self(Mutex::new(Waker::noop().clone()))
    }
}

impl Waiting {
    /// Makes it `task`, if that is not the one `known`.
    fn follow(&self, known: &mut Waker, task: &Waker) {
        if known.will_wake(task) {
            return;
        }
        known.clone_from(task);
        let task = task.clone();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *waiting, task);
        drop(waiting);
        // It may be the last to know its task, and take that along.
        drop(before);
    }

    /// By reference: its task is neither run nor freed here, behind the lock.
    fn wake(&self) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.wake_by_ref();
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // What was done before each of several rings is seen by who takes them together.
        self.has_rung.fetch_or(true, Ordering::Release);
        self.waiting.wake();
    }
}

/// Polls a future once more, at once, when it woke itself while it was polled. A task that wakes
/// itself goes into a queue, and another thread is called for it: an HTTP/1 connection would do so
/// with each piece of a body that it reads.
#[derive(Debug)]
pub(super) struct Attention {
    knock: Arc<Knock>,
    /// Knocks.
    waker: Waker,
    /// The task that a knock wakes.
    task: Waker,
}

/// Whoever knocks from elsewhere than the task that polls, or while it does not, wakes that task.
#[derive(Debug)]
struct Knock {
    /// The task that polls; nothing outside of any, where every knock is one from elsewhere.
    polled_by: Option<task::Id>,
    /// It polls now. Only whoever polls changes this, only that task looks here, and one thread runs it
    /// at a time.
    is_polling: AtomicBool,
    /// It has knocked since it began to poll. Likewise.
    has_knocked: AtomicBool,
    waiting: Waiting,
}

/// So often in a row the future is polled before it is the turn of others.
const POLLS_MAX: u32 = 2;

impl Attention {
    /// To be made by the task that polls: were it polled by another, a wake could be lost.
    pub(super) fn new() -> Self {
        let knock = Arc::new(Knock {
            polled_by: task::try_id(),
            is_polling: AtomicBool::new(false),
            has_knocked: AtomicBool::new(false),
            waiting: Waiting::default(),
        });
        Self {
            waker: Waker::from(Arc::clone(&knock)),
            knock,
            task: Waker::noop().clone(),
        }
    }

    /// Polls `future`.
    pub(super) fn poll<F: Future>(
        &mut self,
        mut future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let Self {
            knock,
            waker,
            task: known,
        } = self;
        debug_assert_eq!(knock.polled_by, task::try_id());
        knock.waiting.follow(known, context.waker());
        for _ in 0..POLLS_MAX {
            knock.has_knocked.store(false, Ordering::Relaxed);
            knock.is_polling.store(true, Ordering::Relaxed);
            let polled = future.as_mut().poll(&mut Context::from_waker(waker));
            knock.is_polling.store(false, Ordering::Relaxed);
            if polled.is_ready() || !knock.has_knocked.load(Ordering::Relaxed) {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Knock {
    /// Whether whoever asks is what is polled, or called by it.
    fn is_within(&self) -> bool {
        self.polled_by.is_some()
            && self.polled_by == task::try_id()
            && self.is_polling.load(Ordering::Relaxed)
    }
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_within() {
            self.has_knocked.store(true, Ordering::Relaxed);
        } else {
            self.waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc;

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
        task::yield_now().await;
        wake.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }

    /// Counts how often a task is woken.
    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future that does not end, for a task whose wakes are counted.
    fn attend(attention: &mut Attention, future: impl Future<Output = ()>) -> Arc<Count> {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let polled = attention.poll(pin!(future), &mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        count
    }

    /// How often a future that wakes itself so often is polled, and its task is woken.
    fn attended(wakes: u32) -> (u32, u32) {
        let mut polls = 0;
        let future = poll_fn(|context| {
            polls += 1;
            if polls <= wakes {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        });
        let count = attend(&mut Attention::new(), future);
        (polls, count.0.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn what_wakes_itself_while_it_is_polled_is_polled_again_and_its_task_not_woken() {
        for (wakes, expected) in [(0, (1, 0)), (POLLS_MAX - 1, (POLLS_MAX, 0))] {
            let attended = tokio::spawn(async move { attended(wakes) });
            assert_eq!(attended.await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn what_never_comes_to_rest_leaves_others_their_turn() {
        for wakes in [POLLS_MAX, u32::MAX] {
            let attended = tokio::spawn(async move { attended(wakes) });
            assert_eq!(attended.await.unwrap(), (POLLS_MAX, 1));
        }
    }

    #[tokio::test]
    async fn what_is_woken_from_elsewhere_while_it_is_polled_wakes_its_task() {
        let polls_and_wakes = tokio::spawn(async {
            let mut polls = 0;
            let future = poll_fn(|context| {
                polls += 1;
                let (done, is_done) = mpsc::channel();
                let waker = context.waker().clone();
                task::spawn_blocking(move || {
                    waker.wake();
                    done.send(()).unwrap();
                });
                is_done.recv().unwrap();
                Poll::Pending
            });
            let count = attend(&mut Attention::new(), future);
            (polls, count.0.load(Ordering::Relaxed))
        });
        assert_eq!(polls_and_wakes.await.unwrap(), (1, 1));
    }

    #[tokio::test]
    async fn what_its_own_task_wakes_when_it_is_not_polled_wakes_the_task() {
        let wakes = tokio::spawn(async {
            let mut attention = Attention::new();
            let count = attend(&mut attention, pending());
            attention.waker.wake_by_ref();
            count.0.load(Ordering::Relaxed)
        });
        assert_eq!(wakes.await.unwrap(), 1);
    }

    #[test]
    fn outside_of_any_task_whatever_is_woken_wakes_its_task() {
        assert_eq!(attended(1), (1, 1));
    }

    #[tokio::test]
    async fn what_is_woken_later_wakes_its_task() {
        let (wake, woken) = oneshot::channel();
        let waiting = tokio::spawn(async move {
            let (mut attention, mut woken) = (Attention::new(), woken);
            poll_fn(move |context| attention.poll(Pin::new(&mut woken), context)).await
        });
        task::yield_now().await;
        wake.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }
}
