//! The sliding window: never more than the quota's count in any stretch of time of its length.
//!
//! A window is a list of marks, oldest first; a mark is an instant and how many were admitted up
//! to it. For counts up to [`EXACT_COUNT_MAX`] a mark stands for one millisecond, and the list is
//! the exact log. Above that, admissions of the same 1/[`SLOTS`] of the window share a mark whose
//! instant is the newest of them: it counts until that newest one has left, so the promise holds
//! and only patience is lost, at most one slot of it. Both kinds are the same data, so a stored
//! window is read correctly after the limit or its kind has changed.
//!
//! The window is half-open: at `admitted + length` the place is free, one millisecond before it is
//! not. Ages are compared, never `now - length`. Marks that lie in the future because the clock
//! was set back are moved to now, so that nobody waits longer than one window.

use super::policy::Quota;
use super::time::Timestamp;

/// Up to this count every admission is logged by its millisecond.
pub const EXACT_COUNT_MAX: u32 = 256;

/// Above it, a window is kept in so many slots.
pub const SLOTS: u64 = 64;

/// Admissions that share an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When the newest of them was admitted.
    pub newest: Timestamp,
    /// How many they are, at least 1.
    pub count: u32,
}

/// How full a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How many are counted. More than the quota's count only if the quota has been lowered.
    pub counted: u32,
    /// Milliseconds until one more would be admitted than now; the window's length when nothing
    /// is counted.
    pub reset_ms: u64,
}

/// What was admitted and when. It does not know its quota: that is an argument, so that a changed
/// one holds at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    marks: Vec<Mark>,
}

impl Window {
    /// A window from marks that a store kept. They are put in order; empty ones are dropped.
    #[must_use]
    pub fn from_marks(mut marks: Vec<Mark>) -> Self {
        marks.retain(|mark| mark.count > 0);
        marks.sort_by_key(|mark| mark.newest);
        Self { marks }
    }

    /// The marks, oldest first.
    #[must_use]
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// When the newest admission was; nothing if none is counted.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        self.marks.last().map(|mark| mark.newest)
    }

    /// Whether nothing is counted any more at `now`.
    #[must_use]
    pub fn is_expired(&self, quota: Quota, now: Timestamp) -> bool {
        self.newest()
            .is_none_or(|newest| has_left(newest, quota, now))
    }

    /// How full the window is. Charges nothing.
    pub fn peek(&mut self, quota: Quota, now: Timestamp) -> Usage {
        self.settle(quota, now);
        self.usage(quota, now)
    }

    /// Charges one if there is room.
    ///
    /// # Errors
    /// How full the window is, when there is no room; nothing has been recorded then.
    pub fn admit(&mut self, quota: Quota, now: Timestamp) -> Result<Usage, Usage> {
        let before = self.peek(quota, now);
        if before.counted >= quota.count() {
            return Err(before);
        }
        match self.marks.last_mut() {
            Some(last) if shares_slot(last.newest, quota, now) => {
                last.newest = now;
                last.count += 1;
            }
            _ => self.marks.push(Mark {
                newest: now,
                count: 1,
            }),
        }
        Ok(self.usage(quota, now))
    }

    /// Takes back one that was admitted at `admitted`. Does nothing if it has left the window.
    ///
    /// A shared mark keeps its instant: the others in it may be as new.
    pub fn refund(&mut self, admitted: Timestamp, quota: Quota, now: Timestamp) -> Usage {
        self.settle(quota, now);
        // The entry is in the first mark that is not older, or, after the clock was set back, in
        // the mark at now that all later ones were merged into.
        let admitted = admitted.min(now);
        let found = self
            .marks
            .iter()
            .position(|mark| mark.newest >= admitted)
            .filter(|&index| {
                self.marks.get(index).is_some_and(|mark| {
                    mark.newest == admitted || shares_slot(admitted, quota, mark.newest)
                })
            });
        if let Some(index) = found
            && let Some(mark) = self.marks.get_mut(index)
        {
            mark.count -= 1;
            if mark.count == 0 {
                self.marks.remove(index);
            }
        }
        self.usage(quota, now)
    }

    /// Drops what has left and moves what lies in the future to now.
    fn settle(&mut self, quota: Quota, now: Timestamp) {
        if self.newest().is_some_and(|newest| newest > now) {
            let future = self.marks.partition_point(|mark| mark.newest <= now);
            let count = total(self.marks.get(future..).unwrap_or_default());
            self.marks.truncate(future);
            self.marks.push(Mark { newest: now, count });
        }
        let gone = self
            .marks
            .partition_point(|mark| has_left(mark.newest, quota, now));
        if gone > 0 {
            self.marks.drain(..gone);
        }
    }

    fn usage(&self, quota: Quota, now: Timestamp) -> Usage {
        let counted = total(&self.marks);
        // With a lowered limit several places must become free before one more is admitted.
        let must_leave = counted.saturating_sub(quota.count() - 1).max(1);
        let mut left = 0_u32;
        let frees_up = self.marks.iter().find(|mark| {
            left = left.saturating_add(mark.count);
            left >= must_leave
        });
        Usage {
            counted,
            reset_ms: match frees_up {
                Some(mark) => quota.window_ms() - now.ms_since(mark.newest),
                None => quota.window_ms(),
            },
        }
    }
}

/// How many `marks` stand for. Saturates, as marks from a damaged store may hold anything.
fn total(marks: &[Mark]) -> u32 {
    marks
        .iter()
        .fold(0, |sum, mark| sum.saturating_add(mark.count))
}

/// Whether an admission at `admitted` no longer counts at `now`.
fn has_left(admitted: Timestamp, quota: Quota, now: Timestamp) -> bool {
    now.ms_since(admitted) >= quota.window_ms()
}

/// Whether admissions at `earlier` and `later` are kept as one mark.
fn shares_slot(earlier: Timestamp, quota: Quota, later: Timestamp) -> bool {
    let slot_ms = if quota.count() <= EXACT_COUNT_MAX {
        1
    } else {
        quota.window_ms().div_ceil(SLOTS)
    };
    earlier.as_ms() / slot_ms == later.as_ms() / slot_ms
}
