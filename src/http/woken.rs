//! Being woken: for what hardly ever comes, beside what comes all the time; and while there is no
//! need to be.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
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

    fn wake(&self) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let task = waiting.clone();
        drop(waiting);
        task.wake();
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

/// Polls a future once more, at once, when it was woken while it was polled. A task that wakes itself
/// goes into a queue, and another thread is called for it: a connection would do so with each piece
/// of a body that it reads.
#[derive(Debug)]
pub(super) struct Attention {
    knock: Arc<Knock>,
    /// Knocks.
    waker: Waker,
    /// The task that a knock wakes.
    task: Waker,
}

#[derive(Debug, Default)]
struct Knock {
    /// Bits: [`HERE`] and [`KNOCKED`]. What each side did before it changes them is seen by the other
    /// side, so every change acquires and releases.
    state: AtomicU8,
    waiting: Waiting,
}

/// Somebody polls, and listens for a knock before going.
const HERE: u8 = 1;
/// Somebody has knocked since.
const KNOCKED: u8 = 2;

/// So often in a row the future is polled before it is the turn of others.
const POLLS_MAX: u32 = 2;

impl Default for Attention {
    fn default() -> Self {
        let knock = Arc::<Knock>::default();
        Self {
            waker: Waker::from(Arc::clone(&knock)),
            knock,
            task: Waker::noop().clone(),
        }
    }
}

impl Attention {
    /// Polls `future`.
    pub(super) fn poll<F: Future>(
        &mut self,
        mut future: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        self.knock.waiting.follow(&mut self.task, context.waker());
        let state = &self.knock.state;
        for _ in 0..POLLS_MAX {
            state.swap(HERE, Ordering::AcqRel);
            let polled = future.as_mut().poll(&mut Context::from_waker(&self.waker));
            if polled.is_ready() || state.swap(0, Ordering::AcqRel) & KNOCKED == 0 {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Whoever knocked before has woken the task, or is about to.
        if self.state.fetch_or(KNOCKED, Ordering::AcqRel) == 0 {
            self.waiting.wake();
        }
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

    /// Counts how often a task is woken.
    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often a future that wakes itself so often is polled, and its task is woken.
    fn attended(wakes: u32) -> (u32, u32) {
        let (mut attention, count) = (Attention::default(), Arc::new(Count::default()));
        let mut polls = 0;
        let mut future = poll_fn(|context| {
            polls += 1;
            if polls <= wakes {
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        });
        let waker = Waker::from(Arc::clone(&count));
        let polled = attention.poll(Pin::new(&mut future), &mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        (polls, count.0.load(Ordering::Relaxed))
    }

    #[test]
    fn what_is_woken_while_it_is_polled_is_polled_again_and_its_task_not_woken() {
        assert_eq!(attended(0), (1, 0));
        assert_eq!(attended(POLLS_MAX - 1), (POLLS_MAX, 0));
    }

    #[test]
    fn what_never_comes_to_rest_leaves_others_their_turn() {
        assert_eq!(attended(POLLS_MAX), (POLLS_MAX, 1));
        assert_eq!(attended(u32::MAX), (POLLS_MAX, 1));
    }

    #[tokio::test]
    async fn what_is_woken_later_wakes_its_task() {
        let (wake, woken) = oneshot::channel();
        let waiting = tokio::spawn(async move {
            let (mut attention, mut woken) = (Attention::default(), woken);
            poll_fn(move |context| attention.poll(Pin::new(&mut woken), context)).await
        });
        tokio::task::yield_now().await;
        wake.send(7).unwrap();
        assert_eq!(waiting.await.unwrap(), Ok(7));
    }
}
