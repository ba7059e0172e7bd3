//! A future that is mostly ready at once, and then costs no allocation.

use std::fmt;
use std::future::{self, Future};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The answer of a port that mostly has it at once: nothing is allocated then.
pub enum Answer<'a, T, E> {
    /// There already.
    Ready(Result<T, E>),
    /// Still to come from elsewhere. Nothing is done for it before it is awaited.
    Pending(Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>),
}

impl<'a, T, E> Answer<'a, T, E> {
    /// An answer that is there already.
    #[must_use]
    pub fn ready(value: T) -> Self {
        Self::decided(Ok(value))
    }

    /// One that is there already, good or not.
    #[must_use]
    pub fn decided(outcome: Result<T, E>) -> Self {
        Self::Ready(outcome)
    }

    /// An answer that is there already, made in its place: a large one would cost more to move than
    /// to make.
    #[must_use]
    pub fn filled(fill: impl FnOnce(&mut T)) -> Self
    where
        T: Default,
    {
        let mut answer = Self::Ready(Ok(T::default()));
        if let Self::Ready(Ok(value)) = &mut answer {
            fill(value);
        }
        answer
    }

    /// One that `future` will give.
    #[must_use]
    pub fn pending(future: impl Future<Output = Result<T, E>> + Send + 'a) -> Self {
        Self::Pending(Box::pin(future))
    }
}

impl<'a, T: Unpin + 'a, E: Unpin + 'a> Future for Answer<'a, T, E> {
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.get_mut();
        if let Self::Pending(future) = answer {
            return future.as_mut().poll(context);
        }
        // Nobody asks again. What never comes is no data, and its box no memory.
        let never = Self::Pending(Box::pin(future::pending()));
        match std::mem::replace(answer, never) {
            Self::Ready(outcome) => Poll::Ready(outcome),
            Self::Pending(_) => Poll::Pending,
        }
    }
}

impl<T, E> fmt::Debug for Answer<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(_) => "Answer::Ready(..)",
            Self::Pending(_) => "Answer::Pending(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn poll(answer: &mut Answer<'_, u32, &'static str>) -> Poll<Result<u32, &'static str>> {
        Pin::new(answer).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn an_answer_that_is_there_is_given_at_once_and_once() {
        for (mut answer, outcome) in [
            (Answer::ready(7), Ok(7)),
            (Answer::decided(Err("no")), Err("no")),
            (Answer::filled(|value| *value = 7), Ok(7)),
        ] {
            assert_eq!(poll(&mut answer), Poll::Ready(outcome));
            assert_eq!(poll(&mut answer), Poll::Pending);
        }
    }

    #[test]
    fn an_answer_still_to_come_is_waited_for() {
        let mut polls = 0;
        let mut answer = Answer::pending(future::poll_fn(|_| {
            polls += 1;
            match polls {
                1 => Poll::Pending,
                _ => Poll::Ready(Ok(polls)),
            }
        }));
        assert_eq!(poll(&mut answer), Poll::Pending);
        assert_eq!(poll(&mut answer), Poll::Ready(Ok(2)));
    }
}
