//! The window against a naive model and against its promises, on random schedules.

use landing_api::domain::policy::Quota;
use landing_api::domain::time::Timestamp;
use landing_api::domain::window::{BUCKETS, EXACT_COUNT_MAX, LATE_ARRIVAL_MS_MAX, Usage, Window};
use proptest::collection::vec;
use proptest::prelude::*;

/// Far enough from the epoch for any set-back below.
const START_MS: u64 = 1_000_000_000;

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ms(ms)
}

fn quota(count: u32, window_ms: u64) -> Quota {
    Quota::new(count, window_ms).unwrap()
}

/// When a request counts that read the clock at `now_ms`, if the newest mark is at `newest_ms`.
fn arrival_ms(newest_ms: Option<u64>, now_ms: u64) -> u64 {
    match newest_ms {
        Some(newest_ms) if (now_ms..=now_ms + LATE_ARRIVAL_MS_MAX).contains(&newest_ms) => {
            newest_ms
        }
        Some(_) | None => now_ms,
    }
}

/// The rule in the fewest words: every admission by its instant.
#[derive(Default)]
struct NaiveWindow {
    admitted_ms: Vec<u64>,
}

impl NaiveWindow {
    fn arrival_ms(&self, now_ms: u64) -> u64 {
        arrival_ms(self.admitted_ms.iter().copied().max(), now_ms)
    }

    fn peek(&mut self, quota: Quota, now_ms: u64) -> Usage {
        let now_ms = self.arrival_ms(now_ms);
        for ms in &mut self.admitted_ms {
            *ms = (*ms).min(now_ms);
        }
        self.admitted_ms
            .retain(|ms| now_ms - ms < quota.window_ms());
        self.admitted_ms.sort_unstable();
        let counted = self.admitted_ms.len();
        let must_leave = (counted + 1).saturating_sub(quota.count() as usize).max(1);
        let frees_up = self.admitted_ms.get(must_leave - 1);
        Usage {
            counted: u32::try_from(counted).unwrap(),
            reset_ms: quota.window_ms() - frees_up.map_or(0, |ms| now_ms - ms),
        }
    }

    fn admit(&mut self, quota: Quota, now_ms: u64) -> Result<Usage, Usage> {
        let now_ms = self.arrival_ms(now_ms);
        let before = self.peek(quota, now_ms);
        if before.counted >= quota.count() {
            return Err(before);
        }
        self.admitted_ms.push(now_ms);
        Ok(self.peek(quota, now_ms))
    }

    fn refund(&mut self, admitted_ms: u64, quota: Quota, now_ms: u64) -> Usage {
        let now_ms = self.arrival_ms(now_ms);
        self.peek(quota, now_ms);
        let entry = admitted_ms.min(now_ms);
        if let Some(index) = self.admitted_ms.iter().position(|ms| *ms == entry) {
            self.admitted_ms.remove(index);
        }
        self.peek(quota, now_ms)
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Admit,
    Peek,
    /// Of one of the admissions so far, perhaps for the second time.
    Refund(prop::sample::Index),
    Advance(u64),
    SetBack(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Admit),
        1 => Just(Step::Peek),
        2 => any::<prop::sample::Index>().prop_map(Step::Refund),
        4 => (0_u64..900).prop_map(Step::Advance),
        1 => (0_u64..2 * LATE_ARRIVAL_MS_MAX).prop_map(Step::SetBack),
        1 => (0_u64..20_000).prop_map(Step::SetBack),
    ]
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Quotas of both kinds, many with a window that is no multiple of its buckets.
fn any_quota() -> impl Strategy<Value = Quota> {
    let count = prop_oneof![
        6 => 1_u32..12,
        2 => Just(EXACT_COUNT_MAX),
        7 => bucketed_count(),
    ];
    (count, any_window_ms()).prop_map(|(count, window_ms)| quota(count, window_ms))
}

/// Some are more than 16 bits hold.
fn bucketed_count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => EXACT_COUNT_MAX + 1..600, 1 => 60_000_u32..150_000]
}

/// Some have more milliseconds than 32 bits hold: 49 days.
fn any_window_ms() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1000_u64..70_000, 1 => 40 * DAY_MS..Quota::WINDOW_MS_MAX]
}

/// Bursts with gaps before them, in sixty-fourths of the window and a few milliseconds: short and
/// long ones, and ones that end just before or after a bucket or the window does. A few bursts are
/// more than 16 bits hold.
fn schedule() -> impl Strategy<Value = Vec<(u64, u64, u32)>> {
    let buckets = prop_oneof![
        Just(0),
        Just(1),
        Just(BUCKETS - 1),
        Just(BUCKETS),
        0..BUCKETS + 2
    ];
    let burst = prop_oneof![40 => 1_u32..400, 1 => 65_000_u32..66_000];
    vec((buckets, 0_u64..4, burst), 1..30)
}

/// Sends the schedule's requests; hands every admission to `admitted`, every refusal to `refused`.
fn run(
    window: &mut Window,
    quota: Quota,
    schedule: &[(u64, u64, u32)],
    mut admitted: impl FnMut(u64),
    mut refused: impl FnMut(u64, &Window, Usage),
) -> u64 {
    let mut now_ms = START_MS;
    for (buckets, extra_ms, burst) in schedule {
        now_ms += buckets * quota.window_ms() / BUCKETS + extra_ms;
        let mut last = None;
        for _ in 0..*burst {
            match window.admit(quota, at(now_ms)) {
                Ok(admission) => {
                    last = Some(admission.usage);
                    admitted(now_ms);
                }
                Err(usage) => {
                    refused(now_ms, window, usage);
                    break;
                }
            }
        }
        if let Some(usage) = last {
            assert_eq!(usage, window.clone().peek(quota, at(now_ms)));
        }
    }
    now_ms
}

proptest! {
    #[test]
    fn the_exact_kind_is_the_naive_model(
        count in 1_u32..9,
        window_ms in 1000_u64..5000,
        steps in vec(step(), 1..120),
    ) {
        let quota = quota(count, window_ms);
        let (mut window, mut naive) = (Window::default(), NaiveWindow::default());
        let mut grants = Vec::new();
        let mut now_ms = START_MS;
        for step in steps {
            match step {
                Step::Admit => {
                    let result = window.admit(quota, at(now_ms));
                    if let Ok(admission) = result {
                        prop_assert_eq!(admission.at, at(naive.arrival_ms(now_ms)));
                        grants.push(admission.at.as_ms());
                    }
                    let usage = result.map(|admission| admission.usage);
                    prop_assert_eq!(usage, naive.admit(quota, now_ms));
                }
                Step::Peek => {
                    prop_assert_eq!(window.peek(quota, at(now_ms)), naive.peek(quota, now_ms));
                }
                Step::Refund(_) if grants.is_empty() => {}
                Step::Refund(which) => {
                    let admitted_ms = *which.get(&grants);
                    let usage = window.refund(at(admitted_ms), quota, at(now_ms));
                    prop_assert_eq!(usage, naive.refund(admitted_ms, quota, now_ms));
                }
                Step::Advance(ms) => now_ms += ms,
                Step::SetBack(ms) => now_ms -= ms,
            }
            prop_assert!(window.clone().peek(quota, at(now_ms)).counted <= count);
        }
    }

    #[test]
    fn no_stretch_of_the_windows_length_holds_more_than_the_limit(
        quota in any_quota(),
        schedule in schedule(),
    ) {
        let mut admitted = Vec::new();
        run(&mut Window::default(), quota, &schedule, |ms| admitted.push(ms), |_, _, _| {});
        let count = quota.count() as usize;
        for (first, one_too_many) in admitted.iter().zip(admitted.iter().skip(count)) {
            prop_assert!(one_too_many - first >= quota.window_ms());
        }
    }

    #[test]
    fn a_place_is_free_exactly_when_a_refusal_said(
        quota in any_quota(),
        schedule in schedule(),
    ) {
        let check = |now_ms, window: &Window, usage: Usage| {
            assert!((1..=quota.window_ms()).contains(&usage.reset_ms));
            let then_ms = now_ms + usage.reset_ms;
            assert!(window.clone().admit(quota, at(then_ms - 1)).is_err());
            assert!(window.clone().admit(quota, at(then_ms)).is_ok());
        };
        run(&mut Window::default(), quota, &schedule, |_| {}, check);
    }

    #[test]
    fn buckets_delay_a_free_place_by_one_bucket_at_most(
        count in bucketed_count(),
        window_ms in any_window_ms(),
        schedule in schedule(),
    ) {
        let quota = quota(count, window_ms);
        let span_ms = window_ms.div_ceil(BUCKETS);
        let (mut window, mut admitted) = (Window::default(), Vec::new());
        let now_ms = run(&mut window, quota, &schedule, |ms| admitted.push(ms), |_, _, _| {});
        prop_assert!(window.buckets().len() as u64 <= BUCKETS + 1);
        let surely_counted = admitted.iter().filter(|ms| now_ms - *ms < window_ms).count();
        let perhaps_counted = admitted.iter().filter(|ms| now_ms - *ms < window_ms + span_ms).count();
        let counted = window.peek(quota, at(now_ms)).counted as usize;
        prop_assert!((surely_counted..=perhaps_counted).contains(&counted));
    }

    #[test]
    fn a_refund_undoes_an_admission(quota in any_quota(), schedule in schedule()) {
        let mut window = Window::default();
        let now_ms = run(&mut window, quota, &schedule, |_| {}, |_, _, _| {});
        let before = window.peek(quota, at(now_ms));
        let mut charged = window.clone();
        if charged.admit(quota, at(now_ms)).is_ok() {
            let after = charged.refund(at(now_ms), quota, at(now_ms));
            prop_assert_eq!(after.counted, before.counted);
            if quota.count() <= EXACT_COUNT_MAX {
                prop_assert_eq!(charged, window);
            }
        }
    }

    #[test]
    fn nobody_waits_longer_than_one_window_when_the_clock_was_set_back(
        quota in any_quota(),
        schedule in schedule(),
        back_ms in 0..START_MS,
    ) {
        let mut window = Window::default();
        let now_ms = run(&mut window, quota, &schedule, |_| {}, |_, _, _| {}) - back_ms;
        let usage = window.clone().peek(quota, at(now_ms));
        // For a late arrival the newest bucket counts, not the clock.
        let now_ms = arrival_ms(window.newest().map(Timestamp::as_ms), now_ms);
        prop_assert_eq!(window.peek(quota, at(now_ms)), usage);
        prop_assert!(usage.reset_ms <= quota.window_ms());
        prop_assert!(window.clone().admit(quota, at(now_ms + usage.reset_ms)).is_ok());
        prop_assert!(window.is_expired(quota, at(now_ms + quota.window_ms())));
    }

    #[test]
    fn a_thread_that_comes_late_counts_at_the_newest_mark(late_ms in 0_u64..300) {
        let quota = quota(2, 1000);
        let mut window = Window::default();
        window.admit(quota, at(START_MS)).unwrap();
        let now_ms = START_MS - late_ms;
        let expected = if late_ms <= 100 { START_MS } else { now_ms };
        let admitted_at = |now_ms| window.clone().admit(quota, at(now_ms)).unwrap().at;
        prop_assert_eq!(admitted_at(now_ms), at(expected));
        prop_assert_eq!(admitted_at(START_MS + late_ms), at(START_MS + late_ms));
    }
}

#[test]
fn every_limit_admits_exactly_that_many() {
    for count in (1..=64).chain([255, 256, 257, 1000]) {
        let quota = quota(count, 60_000);
        let mut window = Window::default();
        let tries = 2 * count + 1;
        let admitted = (0..tries).filter(|_| window.admit(quota, at(START_MS)).is_ok());
        assert_eq!(admitted.count(), count as usize, "{count}");
        let full = window.clone();
        assert!(window.admit(quota, at(START_MS + 59_999)).is_err());
        assert_eq!(window, full, "a refusal left something: {count}");
        let Usage { counted, reset_ms } = window.admit(quota, at(START_MS + 60_000)).unwrap().usage;
        assert_eq!((counted, reset_ms), (1, 60_000), "{count}");
    }
}

#[test]
fn a_refund_takes_one_entry_once_and_only_while_it_counts() {
    let check = |refunds: &[(u64, u64)], counted: u32, why: &str| {
        let quota = quota(3, 10_000);
        let mut window = Window::default();
        for offset_ms in [0, 10, 20] {
            window.admit(quota, at(START_MS + offset_ms)).unwrap();
        }
        for (admitted_ms, now_ms) in refunds {
            window.refund(at(START_MS + admitted_ms), quota, at(START_MS + now_ms));
        }
        let now_ms = refunds
            .iter()
            .map(|(_, now_ms)| *now_ms)
            .max()
            .unwrap_or(20);
        let usage = window.peek(quota, at(START_MS + now_ms));
        assert_eq!(usage.counted, counted, "{why}");
    };
    check(&[], 3, "nothing refunded");
    check(&[(10, 20)], 2, "one");
    check(&[(10, 20), (10, 20)], 2, "one twice");
    check(&[(0, 20), (10, 20), (20, 20)], 0, "all");
    check(&[(5, 20)], 3, "one that was never admitted");
    check(&[(20, 10_019)], 0, "the last one left");
    check(&[(0, 10_000)], 2, "one that has just left");
    check(&[(0, 99_999)], 0, "one that left long ago");
}

#[test]
fn a_changed_quota_holds_at_once_for_what_was_counted() {
    let check = |from: Quota, admissions: u32, to: Quota, counted: u32, admits: u32| {
        let mut window = Window::default();
        for index in 0..admissions {
            window.admit(from, at(START_MS + u64::from(index))).unwrap();
        }
        // As a store gives it back.
        let mut window = Window::from_buckets(window.buckets().iter().copied());
        let now_ms = START_MS + u64::from(admissions);
        let case = format!("{from} to {to}");
        let usage = window.peek(to, at(now_ms));
        assert_eq!(usage.counted, counted, "{case}");
        let mut again = window.clone();
        let admitted = (0..2 * to.count()).filter(|_| again.admit(to, at(now_ms)).is_ok());
        assert_eq!(admitted.count(), admits as usize, "{case}");
        if admits == 0 {
            let then_ms = now_ms + usage.reset_ms;
            assert!(window.clone().admit(to, at(then_ms - 1)).is_err(), "{case}");
            assert!(window.clone().admit(to, at(then_ms)).is_ok(), "{case}");
        }
    };
    let minute = 60_000;
    check(quota(8, minute), 8, quota(10, minute), 8, 2);
    check(quota(8, minute), 8, quota(3, minute), 8, 0);
    check(quota(8, minute), 8, quota(1, minute), 8, 0);
    check(quota(200, minute), 200, quota(300, minute), 200, 100);
    check(quota(300, minute), 300, quota(200, minute), 300, 0);
    check(quota(300, minute), 300, quota(400, minute), 300, 100);
    check(quota(8, minute), 8, quota(8, 2 * minute), 8, 0);
    check(quota(8, minute), 5, quota(8, 2 * minute), 5, 3);
    check(quota(300, minute), 300, quota(300, 1000), 300, 0);
}

#[test]
fn buckets_of_a_damaged_store_saturate() {
    let bucket = |ms| landing_api::domain::window::Bucket {
        newest: at(ms),
        count: u32::MAX,
    };
    let quota = quota(5, 1000);
    let mut window =
        Window::from_buckets([bucket(u64::MAX), bucket(START_MS), bucket(START_MS + 1)]);
    let usage = window.peek(quota, at(START_MS + 2));
    assert_eq!((usage.counted, usage.reset_ms), (u32::MAX, 1000));
    assert!(window.admit(quota, at(START_MS + 1001)).is_err());
    assert!(window.admit(quota, at(START_MS + 1002)).is_ok());
}

#[test]
fn admissions_of_one_span_share_a_bucket_and_those_of_the_next_do_not() {
    // A bucket spans a second.
    let (large, small) = (quota(1000, 1000 * BUCKETS), quota(200, 1000 * BUCKETS));
    let begin_ms = START_MS / 1000 * 1000;
    for (quota, buckets) in [(large, 2), (small, 200)] {
        let mut window = Window::default();
        for span_ms in [0, 1000] {
            for number in 0..100 {
                assert!(window.admit(quota, at(begin_ms + span_ms + number)).is_ok());
            }
        }
        assert_eq!(window.buckets().len(), buckets);
    }
}
