//! A circuit breaker: after repeated failures the upstream is not asked for a while, so that
//! visitors do not each wait for the same failure.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Consecutive failures after which the breaker opens.
const FAILURES_MAX: u32 = 5;
/// Time that it stays open before a turn probes the upstream.
const OPEN_FOR: Duration = Duration::from_secs(10);

/// Decides whether a turn may ask the upstream. Turns are known by the time at which they began.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Failures since the last success.
    failures: u32,
    succeeded_at: Option<Instant>,
    /// None while closed.
    open_until: Option<Instant>,
}

/// The finding of a turn about the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It responds, possibly with an error.
    Alive,
    /// It cannot be reached, or serves nobody.
    Dead,
    /// It asks for a pause of this length.
    Pause(Duration),
}

impl Breaker {
    /// True while the breaker is open.
    pub(super) fn is_open(&self) -> bool {
        let until = self.0.lock().open_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Lets a turn ask the upstream and returns its beginning, unless the breaker is open. The first turn after a
    /// pause is the probe: it keeps the breaker open for others until its verdict, or for another pause.
    pub(super) fn admit(&self) -> Option<Instant> {
        let (mut state, now) = (self.0.lock(), Instant::now());
        if state.open_until.is_some_and(|until| now < until) {
            return None;
        }
        state.open_until = state.open_until.map(|_over| now + OPEN_FOR);
        Some(now)
    }

    /// Records the finding so far of the turn that `began` then; may be called again.
    pub(super) fn report(&self, began: Instant, verdict: Verdict) {
        let mut state = self.0.lock();
        // Unless another turn has been asked for a pause in the meantime.
        let is_probe = state.open_until == Some(began + OPEN_FOR);
        let pause = match verdict {
            Verdict::Alive => {
                state.failures = 0;
                state.succeeded_at = Some(Instant::now());
                state.open_until = state.open_until.filter(|_| !is_probe);
                return;
            }
            Verdict::Dead => {
                // A turn that began before the last success proves nothing.
                let is_newest = Some(began) > state.succeeded_at;
                state.failures += u32::from(is_newest && state.open_until.is_none());
                if !is_probe && state.failures < FAILURES_MAX {
                    return;
                }
                state.failures = 0;
                OPEN_FOR
            }
            Verdict::Pause(pause) => pause,
        };
        // A shorter pause does not end a longer one.
        state.open_until = state.open_until.max(Some(Instant::now() + pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker, times: u32) {
        for _ in 0..times {
            breaker.report(breaker.admit().unwrap(), Verdict::Dead);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_probe_closes_it() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX - 1);
        breaker.report(breaker.admit().unwrap(), Verdict::Alive);
        tokio::time::advance(Duration::from_millis(1)).await;
        fail(&breaker, FAILURES_MAX);
        assert!(breaker.admit().is_none() && breaker.is_open());
        tokio::time::advance(OPEN_FOR - Duration::from_millis(1)).await;
        assert!(breaker.admit().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!breaker.is_open(), "a look is no probe");
        let probe = breaker.admit().unwrap();
        assert!(breaker.admit().is_none(), "one at a time");
        breaker.report(probe, Verdict::Dead);
        assert!(breaker.admit().is_none());
        tokio::time::advance(OPEN_FOR).await;
        breaker.report(breaker.admit().unwrap(), Verdict::Alive);
        tokio::time::advance(Duration::from_millis(1)).await;
        fail(&breaker, FAILURES_MAX - 1);
        assert!(breaker.admit().is_some(), "failures are counted afresh");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_turns_that_began_before_a_success_do_not_count() {
        for (is_alive_meanwhile, is_open) in [(true, false), (false, true)] {
            let breaker = Breaker::default();
            breaker.report(breaker.admit().unwrap(), Verdict::Alive);
            tokio::time::advance(Duration::from_millis(1)).await;
            let passes: Vec<_> = (0..FAILURES_MAX * 3)
                .map(|_| breaker.admit().unwrap())
                .collect();
            if is_alive_meanwhile {
                tokio::time::advance(Duration::from_millis(1)).await;
                breaker.report(breaker.admit().unwrap(), Verdict::Alive);
            }
            for pass in passes {
                breaker.report(pass, Verdict::Dead);
            }
            assert_eq!(breaker.is_open(), is_open);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_is_dropped_leaves_the_next_to_probe_after_a_pause() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX);
        tokio::time::advance(OPEN_FOR).await;
        assert!(breaker.admit().is_some(), "it says nothing more");
        tokio::time::advance(OPEN_FOR).await;
        assert!(breaker.admit().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_closes_it_before_it_is_over_and_may_open_it_again() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX);
        tokio::time::advance(OPEN_FOR).await;
        let probe = breaker.admit().unwrap();
        breaker.report(probe, Verdict::Alive);
        assert!(breaker.admit().is_some());
        breaker.report(probe, Verdict::Pause(OPEN_FOR));
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_was_asked_for_is_kept() {
        let breaker = Breaker::default();
        let earlier = breaker.admit().unwrap();
        let pause = Duration::from_secs(60);
        breaker.report(breaker.admit().unwrap(), Verdict::Pause(pause));
        breaker.report(earlier, Verdict::Pause(pause / 2));
        breaker.report(earlier, Verdict::Alive);
        tokio::time::advance(pause - Duration::from_millis(1)).await;
        assert!(breaker.is_open());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(breaker.admit().is_some());
    }
}
