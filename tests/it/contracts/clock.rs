//! What every [`Clock`] must do.

use landing_api::adapters::system::SystemClock;
use landing_api::ports::Clock;

use crate::prelude::*;

/// The contract. `pass` lets some time pass, which may be less than the clock's resolution.
fn check(clock: &dyn Clock, pass: impl Fn()) {
    // June 2025: seconds instead of milliseconds, or another epoch, would be far before it.
    assert!(clock.now() >= Timestamp::from_ms(1_750_000_000_000));
    for _ in 0..3 {
        let before = clock.now();
        while clock.now() == before {
            pass();
        }
    }
}

#[test]
fn the_systems_clock_does_not_stand_still() {
    check(&SystemClock, thread::yield_now);
}

#[test]
fn the_manual_clock_moves_as_it_is_told_and_not_otherwise() {
    let clock = ManualClock::new(START);
    check(&clock, || clock.advance_ms(1));
    assert_eq!(clock.now(), START.plus_ms(3));
    assert_eq!(clock.now(), START.plus_ms(3));
    clock.advance_ms(60_000);
    assert_eq!(clock.now(), START.plus_ms(60_003));
    let earlier = Timestamp::from_ms(START.as_ms() - 86_400_000);
    clock.set(earlier);
    assert_eq!(clock.now(), earlier);
}
