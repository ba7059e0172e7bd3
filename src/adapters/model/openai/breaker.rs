//! Stops asking an upstream that cannot answer: every visitor would wait for the same failure.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// So many failures to reach the upstream, one after the other, and it is taken for dead.
const FAILURES_MAX: u32 = 5;
/// How long a dead upstream is left alone before one turn tries it again.
const DEAD_PAUSE: Duration = Duration::from_secs(10);

/// Whether the upstream is asked at all.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
    /// How often a turn has found the upstream alive.
    signs_of_life: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl State {
    fn check(self) -> Result<(), BreakerOpen> {
        match self {
            Self::Closed { .. } => Ok(()),
            Self::Open { until } if until <= Instant::now() => Ok(()),
            Self::Open { .. } | Self::HalfOpen => Err(BreakerOpen),
        }
    }
}

/// What one turn found out about the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It answers, be it with an error.
    Alive,
    /// It cannot be reached, or takes no request.
    Dead,
    /// It said nothing in time. A whole answer comes at once, so this may be a long one: it counts as
    /// dead unless another turn has found the upstream alive meanwhile.
    Silent,
    /// It wants to be left alone for so long.
    Pause(Duration),
}

/// The breaker is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the breaker is open: the upstream failed a moment ago")]
pub(super) struct BreakerOpen;

impl Breaker {
    /// Lets a turn ask the upstream. After a pause only one does, until it has found something out:
    /// the first byte of an answer is enough.
    ///
    /// # Errors
    /// [`BreakerOpen`] when the upstream is left alone.
    pub(super) fn admit(&self) -> Result<Pass<'_>, BreakerOpen> {
        let mut state = self.lock();
        state.check()?;
        let is_trial = matches!(*state, State::Open { .. });
        if is_trial {
            *state = State::HalfOpen;
        }
        Ok(Pass {
            breaker: self,
            is_trial,
            signs_of_life: self.signs_of_life.load(Ordering::Relaxed),
        })
    }

    /// Whether a turn would be let through now; lets none through.
    ///
    /// # Errors
    /// [`BreakerOpen`] when the upstream is left alone.
    pub(super) fn check(&self) -> Result<(), BreakerOpen> {
        self.lock().check()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leave to ask the upstream once.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    is_trial: bool,
    /// How many there had been when it began.
    signs_of_life: u64,
}

impl Pass<'_> {
    /// Tells what has come of it so far.
    pub(super) fn report(&mut self, finding: Finding) {
        let mut state = self.breaker.lock();
        let is_alive_elsewhere =
            self.breaker.signs_of_life.load(Ordering::Relaxed) != self.signs_of_life;
        if finding == Finding::Alive {
            self.breaker.signs_of_life.fetch_add(1, Ordering::Relaxed);
        }
        let open = |pause| State::Open {
            until: Instant::now() + pause,
        };
        *state = match (finding, *state) {
            // A shorter pause does not end a longer one.
            (Finding::Pause(pause), State::Open { until }) => State::Open {
                until: until.max(Instant::now() + pause),
            },
            (Finding::Pause(pause), State::Closed { .. } | State::HalfOpen) => open(pause),
            // What began before the breaker opened does not close it.
            (Finding::Alive | Finding::Dead | Finding::Silent, State::Open { .. }) => *state,
            (Finding::Alive | Finding::Dead | Finding::Silent, State::HalfOpen)
                if !self.is_trial =>
            {
                *state
            }
            (Finding::Alive, State::Closed { .. } | State::HalfOpen) => State::default(),
            (Finding::Silent, State::Closed { .. }) if is_alive_elsewhere => *state,
            (Finding::Silent, State::HalfOpen) if is_alive_elsewhere => State::default(),
            (Finding::Dead | Finding::Silent, State::HalfOpen) => open(DEAD_PAUSE),
            (Finding::Dead | Finding::Silent, State::Closed { failures }) => match failures + 1 {
                FAILURES_MAX.. => open(DEAD_PAUSE),
                failures => State::Closed { failures },
            },
        };
        self.is_trial = false;
    }
}

impl Drop for Pass<'_> {
    /// A trial that found nothing out leaves the next turn to try.
    fn drop(&mut self) {
        let mut state = self.breaker.lock();
        // An older turn may have learnt of a pause meanwhile: that holds.
        if self.is_trial && matches!(*state, State::HalfOpen) {
            *state = State::Open {
                until: Instant::now(),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker, times: u32) {
        for _ in 0..times {
            breaker.admit().unwrap().report(Finding::Dead);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_trial_closes_it() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX - 1);
        breaker.admit().unwrap().report(Finding::Alive);
        fail(&breaker, FAILURES_MAX);
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
        assert_eq!(breaker.check(), Err(BreakerOpen));
        tokio::time::advance(DEAD_PAUSE - Duration::from_millis(1)).await;
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(breaker.check(), Ok(()), "looking is no trial");
        let mut trial = breaker.admit().unwrap();
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen, "one at a time");
        trial.report(Finding::Dead);
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
        tokio::time::advance(DEAD_PAUSE).await;
        breaker.admit().unwrap().report(Finding::Alive);
        fail(&breaker, FAILURES_MAX - 1);
        assert!(breaker.admit().is_ok(), "failures are counted afresh");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_counts_unless_another_turn_found_life_meanwhile() {
        for (is_alive_meanwhile, is_open) in [(true, false), (false, true)] {
            let breaker = Breaker::default();
            breaker.admit().unwrap().report(Finding::Alive);
            let passes: Vec<_> = (0..FAILURES_MAX * 3)
                .map(|_| breaker.admit().unwrap())
                .collect();
            if is_alive_meanwhile {
                breaker.admit().unwrap().report(Finding::Alive);
            }
            for mut pass in passes {
                pass.report(Finding::Silent);
            }
            assert_eq!(breaker.admit().is_err(), is_open);
        }
        // One after the other, with nobody else about, they count.
        let breaker = Breaker::default();
        for _ in 0..FAILURES_MAX {
            breaker.admit().unwrap().report(Finding::Silent);
        }
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_trial_closes_it_only_if_there_was_life_meanwhile() {
        for (is_alive_meanwhile, is_open) in [(true, false), (false, true)] {
            let breaker = Breaker::default();
            let mut earlier = breaker.admit().unwrap();
            fail(&breaker, FAILURES_MAX);
            tokio::time::advance(DEAD_PAUSE).await;
            let mut trial = breaker.admit().unwrap();
            if is_alive_meanwhile {
                earlier.report(Finding::Alive);
            }
            trial.report(Finding::Silent);
            assert_eq!(breaker.admit().is_err(), is_open);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_is_dropped_leaves_the_next_to_try() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX);
        tokio::time::advance(DEAD_PAUSE).await;
        drop(breaker.admit().unwrap());
        assert!(breaker.admit().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_closes_it_before_it_is_over_and_may_open_it_again() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX);
        tokio::time::advance(DEAD_PAUSE).await;
        let mut trial = breaker.admit().unwrap();
        trial.report(Finding::Alive);
        assert!(breaker.admit().is_ok());
        trial.report(Finding::Pause(DEAD_PAUSE));
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
        drop(trial);
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_was_asked_for_is_kept() {
        let breaker = Breaker::default();
        let mut earlier = breaker.admit().unwrap();
        let pause = Duration::from_secs(60);
        breaker.admit().unwrap().report(Finding::Pause(pause));
        earlier.report(Finding::Pause(pause / 2));
        earlier.report(Finding::Alive);
        tokio::time::advance(pause - Duration::from_millis(1)).await;
        assert_eq!(breaker.admit().unwrap_err(), BreakerOpen);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(breaker.admit().is_ok());
    }
}
