//! The sliding window: never more than the quota's count in any interval of its length.
//!
//! A window is a list of buckets, oldest first. A bucket is a number of admissions and the instant
//! of the newest of them. For counts up to [`EXACT_COUNT_MAX`] a bucket spans one millisecond, and
//! the list is an exact log. Above that it spans 1/[`BUCKETS`] of the window. A bucket counts until
//! its newest admission has expired, so the limit still holds; a place becomes free later than in
//! the exact log, by at most the span of one bucket. Both kinds are the same data, so a stored
//! window is read correctly after the limit or its kind has changed.
//!
//! The window is half-open: at `admitted + length` the place is free, one millisecond before it is
//! not. Ages are compared, never `now - length`.
//!
//! Threads may arrive in another order than they read the clock. A request whose `now` lies up to
//! [`LATE_ARRIVAL_MS_MAX`] before the newest bucket is counted in that bucket: clamping the bucket
//! to the earlier instant would expire it early and admit one too many. A larger difference means
//! that the clock was set back. Buckets in the future are then clamped to `now`, on refusals too,
//! so that nobody waits longer than one window.

use smallvec::SmallVec;

use super::policy::Quota;
use super::time::Timestamp;

/// The largest count for which every admission is logged by its millisecond.
pub const EXACT_COUNT_MAX: u32 = 256;

/// The number of buckets that a window is divided into above [`EXACT_COUNT_MAX`].
pub const BUCKETS: u64 = 64;

/// The largest difference, in milliseconds, between a request's `now` and a newer bucket that is
/// taken for reordered threads and not for a clock that was set back.
pub const LATE_ARRIVAL_MS_MAX: u64 = 100;

/// Admissions that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The instant of the newest admission.
    pub newest: Timestamp,
    /// The number of admissions, at least 1.
    pub count: u32,
}

/// The usage of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The number of admissions that count. Above the quota's count only after it was lowered.
    pub counted: u32,
    /// Milliseconds until one more can be admitted than now; the window's length when nothing is
    /// counted.
    pub reset_ms: u64,
}

/// An admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Usage of the window, including this admission.
    pub usage: Usage,
    /// The instant it was recorded at, which a refund must name.
    pub at: Timestamp,
}

/// The admissions of one key. The quota is not part of it but an argument of every call, so that a
/// changed quota takes effect at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Oldest first.
    buckets: SmallVec<[Bucket; 1]>,
    /// The sum of the buckets' counts. Wider than they are: a damaged store may contain anything.
    counted: u64,
}

impl Window {
    /// A window of stored buckets. They are sorted; empty ones are dropped.
    pub fn from_buckets(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let counting = buckets.into_iter().filter(|bucket| bucket.count > 0);
        let mut buckets: SmallVec<[Bucket; 1]> = counting.collect();
        buckets.sort_by_key(|bucket| bucket.newest);
        let counted = total(&buckets);
        Self { buckets, counted }
    }

    /// The buckets, oldest first.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The instant of the newest admission; none if the window is empty.
    pub fn newest(&self) -> Option<Timestamp> {
        self.buckets.last().map(|bucket| bucket.newest)
    }

    /// True if nothing counts any more at `now`.
    pub fn is_expired(&self, quota: Quota, now: Timestamp) -> bool {
        self.newest()
            .is_none_or(|newest| has_expired(newest, quota, now))
    }

    /// Usage of the window. Charges nothing.
    pub fn peek(&mut self, quota: Quota, now: Timestamp) -> Usage {
        let now = self.advance(quota, now);
        self.usage(quota, now)
    }

    /// True if one more can be admitted. Charges nothing.
    pub fn has_room(&mut self, quota: Quota, now: Timestamp) -> bool {
        // Time only makes more room, so a window with room needs no look at its buckets.
        if self.is_full(quota) {
            self.advance(quota, now);
        }
        !self.is_full(quota)
    }

    fn is_full(&self, quota: Quota) -> bool {
        self.counted >= u64::from(quota.count())
    }

    /// Charges one if there is room.
    ///
    /// # Errors
    /// The window's usage, if there is no room. Nothing is recorded.
    pub fn admit(&mut self, quota: Quota, now: Timestamp) -> Result<Admitted, Usage> {
        let now = self.advance(quota, now);
        if self.is_full(quota) {
            return Err(self.usage(quota, now));
        }
        match self.buckets.last_mut() {
            Some(last) if shares_bucket(last.newest, quota, now) => {
                last.newest = now;
                last.count += 1;
            }
            Some(_) | None => self.buckets.push(Bucket {
                newest: now,
                count: 1,
            }),
        }
        self.counted += 1;
        let usage = self.usage(quota, now);
        Ok(Admitted { usage, at: now })
    }

    /// Removes one admission that was recorded at `admitted`. Does nothing if it has expired.
    ///
    /// A bucket that still holds others keeps its instant: they may be as new.
    pub fn refund(&mut self, admitted: Timestamp, quota: Quota, now: Timestamp) -> Usage {
        let now = self.advance(quota, now);
        // The clock may have been set back since: the admission was then clamped to `now`.
        let admitted = admitted.min(now);
        let mut buckets = self.buckets.iter_mut().enumerate();
        let found = buckets.find(|(_, bucket)| bucket.newest >= admitted);
        let found = found.filter(|(_, bucket)| shares_bucket(admitted, quota, bucket.newest));
        if let Some((index, bucket)) = found {
            bucket.count -= 1;
            self.counted -= 1;
            if bucket.count == 0 {
                self.buckets.remove(index);
            }
        }
        self.usage(quota, now)
    }

    /// Normalises `now` against the newest bucket, clamps buckets in the future to it, and drops
    /// expired ones.
    fn advance(&mut self, quota: Quota, now: Timestamp) -> Timestamp {
        let now = self.arrival(now);
        if self.newest().is_some_and(|newest| newest > now) {
            let future = self.buckets.partition_point(|bucket| bucket.newest <= now);
            let count = total(self.buckets.get(future..).unwrap_or_default());
            self.buckets.truncate(future);
            self.buckets.push(Bucket {
                newest: now,
                count: u32::try_from(count).unwrap_or(u32::MAX),
            });
            self.counted = total(&self.buckets);
        }
        let is_expired = |bucket: &&Bucket| has_expired(bucket.newest, quota, now);
        let expired = self.buckets.iter().take_while(is_expired).count();
        if expired > 0 {
            self.counted -= total(self.buckets.get(..expired).unwrap_or_default());
            self.buckets.drain(..expired);
        }
        now
    }

    /// The newest bucket's instant for a late arrival; `now` otherwise.
    fn arrival(&self, now: Timestamp) -> Timestamp {
        match self.newest() {
            Some(newest) if newest.ms_since(now) <= LATE_ARRIVAL_MS_MAX => newest.max(now),
            Some(_) | None => now,
        }
    }

    fn usage(&self, quota: Quota, now: Timestamp) -> Usage {
        // After the limit was lowered, several must expire before one more is admitted.
        let must_expire = (self.counted + 1)
            .saturating_sub(quota.count().into())
            .max(1);
        let mut expired = 0;
        let frees_up = self.buckets.iter().find(|bucket| {
            expired += u64::from(bucket.count);
            expired >= must_expire
        });
        Usage {
            counted: u32::try_from(self.counted).unwrap_or(u32::MAX),
            reset_ms: match frees_up {
                Some(bucket) => quota.window_ms() - now.ms_since(bucket.newest),
                None => quota.window_ms(),
            },
        }
    }
}

fn total(buckets: &[Bucket]) -> u64 {
    buckets.iter().map(|bucket| u64::from(bucket.count)).sum()
}

fn has_expired(admitted: Timestamp, quota: Quota, now: Timestamp) -> bool {
    now.ms_since(admitted) >= quota.window_ms()
}

/// True if admissions at `earlier` and `later` are counted in one bucket.
fn shares_bucket(earlier: Timestamp, quota: Quota, later: Timestamp) -> bool {
    if earlier == later || quota.count() <= EXACT_COUNT_MAX {
        return earlier == later;
    }
    let span_ms = quota.window_ms().div_ceil(BUCKETS);
    earlier.as_ms() / span_ms == later.as_ms() / span_ms
}
