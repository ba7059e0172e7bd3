//! What every [`CountStore`] must do.

use landing_api::domain::hourly_counts::{Counted, Counts, Hour, KEPT_HOURS};
use landing_api::ports::CountStore;

use crate::fixtures::START;

pub(crate) fn counts(number: u64) -> Counts {
    let mut counts = Counts::default();
    for counted in Counted::ALL {
        counts.add(counted, number + counted as u64);
    }
    counts
}

async fn list(store: &dyn CountStore, since: Hour, until: Hour) -> Vec<(Hour, Counts)> {
    let hours = store.list(since, until).await.unwrap();
    hours.into_iter().collect()
}

/// The whole contract; `store` is empty.
pub(crate) async fn check(store: &dyn CountStore) {
    let now = Hour::of(START);
    let next = Hour::of(START.plus_ms(3_600_000));
    assert_eq!(list(store, now.minus(KEPT_HOURS), next).await, []);
    // Across the end of a month.
    let earlier = now.minus(24 * 25);
    store.add(now, &counts(5)).await.unwrap();
    store.add(earlier, &counts(7)).await.unwrap();
    let mut sum = counts(5);
    sum.add_all(&counts(2));
    store.add(now, &counts(2)).await.unwrap();
    let (first, second) = ((earlier, counts(7)), (now, sum));
    assert_eq!(list(store, earlier, next).await, [first, second]);
    // From the first hour to before the last.
    assert_eq!(list(store, earlier, now).await, [first]);
    assert_eq!(list(store, now, next).await, [second]);
    for (since, until) in [(now, now), (next, now), (next, next)] {
        assert_eq!(list(store, since, until).await, []);
    }
    // What is too old is dropped.
    let later = Hour::of(earlier.start().plus_ms(KEPT_HOURS * 3_600_000));
    store.add(later, &counts(1)).await.unwrap();
    let end = Hour::of(later.start().plus_ms(3_600_000));
    let kept = list(store, earlier, end).await.into_iter();
    let kept: Vec<_> = kept.map(|(hour, _)| hour).collect();
    assert_eq!(kept, [now, later]);
}
