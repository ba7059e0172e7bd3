//! When to order a certificate: a rule on times alone.

use std::ops::Range;

use super::time::{DAY_MS, Timestamp};

/// Pause after the first failed order. It doubles with each further failure.
const PAUSE_MIN_MS: u64 = 10 * 60 * 1000;

/// When the next order is due.
///
/// `validity` is that of the certificate in use: `None` without one, or if it isn't the one the flags ask
/// for. It is renewed while a third of its lifetime is left. `last` is the start of the last order and the number of
/// failures in a row; it is stored as failed before it begins, so that a process killed in the middle waits as well.
/// One in the future means that the clock was wrong, and doesn't count.
pub fn order_due(
    validity: Option<&Range<Timestamp>>,
    last: Option<(Timestamp, u32)>,
    now: Timestamp,
) -> Timestamp {
    let wanted = validity.map_or_else(Timestamp::default, |valid| {
        let left_ms = valid.end.ms_since(valid.start) / 3;
        Timestamp::from_ms(valid.end.as_ms().saturating_sub(left_ms))
    });
    let last = last.filter(|(at, _)| *at <= now);
    let allowed = last.map_or_else(Timestamp::default, |(at, failures)| {
        at.plus_ms(pause_ms(failures, validity))
    });
    wanted.max(allowed)
}

/// Pause after an order. After a success it matters only if the clock is wrong: then every new certificate
/// seems to expire at once.
fn pause_ms(failures: u32, validity: Option<&Range<Timestamp>>) -> u64 {
    match (failures.checked_sub(1), validity) {
        (Some(doublings), _) => {
            let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
            PAUSE_MIN_MS.saturating_mul(factor).min(DAY_MS)
        }
        (None, Some(valid)) => (valid.end.ms_since(valid.start) / 3).min(DAY_MS),
        (None, None) => PAUSE_MIN_MS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(60 * 365 * DAY_MS);
    const HOUR_MS: u64 = DAY_MS / 24;

    fn days(days: u64) -> Range<Timestamp> {
        NOW..NOW.plus_ms(days * DAY_MS)
    }

    fn due(validity: Option<&Range<Timestamp>>, last: Option<(u64, u32)>) -> u64 {
        let last =
            last.map(|(ago_ms, failures)| (Timestamp::from_ms(NOW.as_ms() - ago_ms), failures));
        order_due(validity, last, NOW).ms_since(NOW)
    }

    #[test]
    fn a_certificate_of_any_lifetime_is_renewed_while_a_third_of_it_is_left() {
        for lifetime in [6, 45, 90, 5 * 365] {
            let latest = lifetime * DAY_MS / 3 * 2;
            assert_eq!(due(Some(&days(lifetime)), None), latest, "{lifetime} days");
        }
    }

    #[test]
    fn without_a_certificate_an_order_is_due_unless_one_was_made_a_moment_ago() {
        assert_eq!(due(None, None), 0);
        for failures in [0, 1] {
            assert_eq!(due(None, Some((60_000, failures))), 9 * 60_000);
            assert_eq!(due(None, Some((HOUR_MS, failures))), 0);
        }
    }

    #[test]
    fn the_pause_doubles_with_each_failure_up_to_a_day() {
        let minutes = [10, 20, 40, 80, 160, 320, 640, 1280, 1440, 1440];
        for (failures, minutes) in (1..).zip(minutes) {
            assert_eq!(due(None, Some((0, failures))), minutes * 60_000);
        }
        assert_eq!(due(None, Some((0, u32::MAX))), DAY_MS);
        // One that is expiring is not retried any sooner, and one that isn't expiring is not rushed.
        let late = Timestamp::from_ms(NOW.as_ms() - 80 * DAY_MS)..NOW.plus_ms(10 * DAY_MS);
        assert_eq!(due(Some(&late), Some((0, 2))), 20 * 60_000);
        assert_eq!(due(Some(&days(90)), Some((0, 1))), 60 * DAY_MS);
    }

    #[test]
    fn a_clock_that_is_years_off_makes_neither_a_storm_nor_a_wait_of_years() {
        // Clock ahead: a certificate issued a moment ago has expired.
        let expired = Timestamp::from_ms(NOW.as_ms() - 900 * DAY_MS)
            ..Timestamp::from_ms(NOW.as_ms() - 810 * DAY_MS);
        assert_eq!(due(Some(&expired), Some((0, 0))), DAY_MS);
        let short = expired.start..expired.start.plus_ms(6 * HOUR_MS);
        assert_eq!(due(Some(&short), Some((0, 0))), 2 * HOUR_MS);
        // The clock was ahead at the last order, and has been corrected.
        let last = (NOW.plus_ms(900 * DAY_MS), 3);
        assert_eq!(order_due(None, Some(last), NOW), Timestamp::default());
        // Clock behind: a certificate that is not valid yet is not ordered again.
        let coming = NOW.plus_ms(900 * DAY_MS)..NOW.plus_ms(990 * DAY_MS);
        assert_eq!(due(Some(&coming), None), 960 * DAY_MS);
        // Nothing overflows.
        let endless = Timestamp::default()..Timestamp::from_ms(u64::MAX);
        assert!(due(Some(&endless), Some((0, 0))) > DAY_MS);
        let backwards = NOW..Timestamp::default();
        assert_eq!(due(Some(&backwards), None), 0);
    }
}
