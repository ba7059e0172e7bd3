//! A circuit breaker: after repeated failures the upstream is not asked for a while, so that
//! visitors do not each wait for the same failure.

use parking_lot::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// Consecutive failures after which the breaker opens.
const FAILURES_MAX: u32 = 5;
/// Time that it stays open before a turn probes the upstream.
const OPEN_FOR: Duration = Duration::from_secs(10);

/// Decides whether a turn may ask the upstream.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    /// Failures since the last success.
    failures: u32,
    successes: u64,
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

impl BreakerState {
    /// A shorter pause does not end a longer one.
    fn open_for(&mut self, pause: Duration) {
        self.open_until = self.open_until.max(Some(Instant::now() + pause));
    }
}

impl Breaker {
    /// True while the breaker is open.
    pub(super) fn is_open(&self) -> bool {
        let until = self.0.lock().open_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Lets a turn ask the upstream, unless the breaker is open. The first turn after a pause is the
    /// probe: it keeps the breaker open for others until its verdict, or for another pause.
    pub(super) fn admit(&self) -> Option<Pass<'_>> {
        let mut state = self.0.lock();
        if let Some(until) = state.open_until {
            if Instant::now() < until {
                return None;
            }
            state.open_for(OPEN_FOR);
        }
        Some(Pass {
            breaker: self,
            probe_until: state.open_until,
            successes: state.successes,
        })
    }
}

/// Permission for one turn to ask the upstream.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    breaker: &'a Breaker,
    /// End of the time for which a probe keeps the breaker open.
    probe_until: Option<Instant>,
    /// Number of successes before this turn began.
    successes: u64,
}

impl Pass<'_> {
    /// Records the finding of the turn so far; may be called again.
    pub(super) fn report(&self, verdict: Verdict) {
        let mut state = self.breaker.0.lock();
        match verdict {
            Verdict::Alive => {
                state.failures = 0;
                state.successes += 1;
                // Keeps a pause that another turn was asked for in the meantime.
                if state.open_until == self.probe_until {
                    state.open_until = None;
                }
            }
            Verdict::Dead => {
                // A turn that began before the last success proves nothing.
                let counts = state.open_until.is_none() && state.successes == self.successes;
                state.failures += u32::from(counts);
                if self.probe_until.is_some() || counts && state.failures >= FAILURES_MAX {
                    state.open_for(OPEN_FOR);
                }
            }
            Verdict::Pause(pause) => state.open_for(pause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail(breaker: &Breaker, times: u32) {
        for _ in 0..times {
            breaker.admit().unwrap().report(Verdict::Dead);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_probe_closes_it() {
        let breaker = Breaker::default();
        fail(&breaker, FAILURES_MAX - 1);
        breaker.admit().unwrap().report(Verdict::Alive);
        fail(&breaker, FAILURES_MAX);
        assert!(breaker.admit().is_none() && breaker.is_open());
        tokio::time::advance(OPEN_FOR - Duration::from_millis(1)).await;
        assert!(breaker.admit().is_none());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!breaker.is_open(), "a look is no probe");
        let probe = breaker.admit().unwrap();
        assert!(breaker.admit().is_none(), "one at a time");
        probe.report(Verdict::Dead);
        assert!(breaker.admit().is_none());
        tokio::time::advance(OPEN_FOR).await;
        breaker.admit().unwrap().report(Verdict::Alive);
        fail(&breaker, FAILURES_MAX - 1);
        assert!(breaker.admit().is_some(), "failures are counted afresh");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_of_turns_that_began_before_a_success_do_not_count() {
        for (is_alive_meanwhile, is_open) in [(true, false), (false, true)] {
            let breaker = Breaker::default();
            breaker.admit().unwrap().report(Verdict::Alive);
            let passes: Vec<_> = (0..FAILURES_MAX * 3)
                .map(|_| breaker.admit().unwrap())
                .collect();
            if is_alive_meanwhile {
                breaker.admit().unwrap().report(Verdict::Alive);
            }
            for pass in passes {
                pass.report(Verdict::Dead);
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
        probe.report(Verdict::Alive);
        assert!(breaker.admit().is_some());
        probe.report(Verdict::Pause(OPEN_FOR));
        assert!(breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_was_asked_for_is_kept() {
        let breaker = Breaker::default();
        let earlier = breaker.admit().unwrap();
        let pause = Duration::from_secs(60);
        breaker.admit().unwrap().report(Verdict::Pause(pause));
        earlier.report(Verdict::Pause(pause / 2));
        earlier.report(Verdict::Alive);
        tokio::time::advance(pause - Duration::from_millis(1)).await;
        assert!(breaker.is_open());
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(breaker.admit().is_some());
    }
}
