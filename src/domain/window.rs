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
//! not. Ages are compared, never `now - length`.
//!
//! Threads do not arrive in the order in which they read the clock. A request whose `now` lies up
//! to [`LATECOMER_MS_MAX`] before the newest mark counts at that mark: were marks moved back for
//! each latecomer, one too many would get in. A larger gap is the clock having been set back; marks
//! that it left in the future are moved to now, so that nobody waits longer than one window. That
//! must be done on a refusal too: were they left in the future, their age would stand still.

pub use super::marks::Mark;
use super::marks::Marks;
use super::policy::Quota;
use super::time::Timestamp;

/// Up to this count every admission is logged by its millisecond.
pub const EXACT_COUNT_MAX: u32 = 256;

/// Above it, a window is kept in so many slots.
pub const SLOTS: u64 = 64;

/// By how much a request's `now` may lie before the newest mark and still be taken for a thread
/// that read the clock early and came late.
pub const LATECOMER_MS_MAX: u64 = 100;

/// How full a window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// How many are counted. More than the quota's count only if the quota has been lowered.
    pub counted: u32,
    /// Milliseconds until one more would be admitted than now; the window's length when nothing
    /// is counted.
    pub reset_ms: u64,
}

/// One that was admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// How full the window is with it.
    pub usage: Usage,
    /// The instant it is recorded at, which a refund must name.
    pub at: Timestamp,
}

/// What was admitted and when. It does not know its quota: that is an argument, so that a changed
/// one holds at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window(Marks);

impl Window {
    /// A window from marks that a store kept. They are put in order; empty ones are dropped.
    #[must_use]
    pub fn from_marks(marks: impl IntoIterator<Item = Mark>) -> Self {
        let mut marks: Vec<Mark> = marks.into_iter().filter(|mark| mark.count > 0).collect();
        marks.sort_by_key(|mark| mark.newest);
        Self(Marks::from_sorted(marks))
    }

    /// The marks, oldest first.
    pub fn marks(&self) -> impl Iterator<Item = Mark> {
        self.0.iter()
    }

    /// How many marks there are.
    #[must_use]
    pub fn marks_count(&self) -> usize {
        self.0.len()
    }

    /// When the newest admission was; nothing if none is counted.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        self.0.newest()
    }

    /// Whether nothing is counted any more at `now`.
    #[must_use]
    pub fn is_expired(&self, quota: Quota, now: Timestamp) -> bool {
        self.newest()
            .is_none_or(|newest| has_left(newest, quota, now))
    }

    /// How full the window is. Charges nothing.
    pub fn peek(&mut self, quota: Quota, now: Timestamp) -> Usage {
        let now = self.settle(quota, now);
        self.usage(quota, now)
    }

    /// Charges one if there is room.
    ///
    /// # Errors
    /// How full the window is, when there is no room; nothing has been recorded then.
    pub fn admit(&mut self, quota: Quota, now: Timestamp) -> Result<Admission, Usage> {
        let now = self.settle(quota, now);
        let counted = self.0.counted();
        if counted >= quota.count() {
            return Err(self.usage(quota, now));
        }
        self.record(quota, now);
        // The count is not summed up again. There was room, so one more than now is admitted once
        // the oldest mark has left.
        let oldest = self.0.oldest().unwrap_or(now);
        Ok(Admission {
            usage: Usage {
                counted: counted + 1,
                reset_ms: quota.window_ms() - now.ms_since(oldest),
            },
            at: now,
        })
    }

    /// Adds one at `now`, which no mark is newer than.
    fn record(&mut self, quota: Quota, now: Timestamp) {
        match self.newest() {
            Some(newest) if shares_slot(newest, quota, now) => self.0.raise_newest(now),
            Some(_) | None => self.0.push_one(now),
        }
    }

    /// Takes back one that was admitted at `admitted`. Does nothing if it has left the window.
    ///
    /// A shared mark keeps its instant: the others in it may be as new.
    pub fn refund(&mut self, admitted: Timestamp, quota: Quota, now: Timestamp) -> Usage {
        let now = self.settle(quota, now);
        // The entry is in the first mark that is not older, or, after the clock was set back, in
        // the mark at now that all later ones were merged into.
        let admitted = admitted.min(now);
        let found = self
            .marks()
            .enumerate()
            .find(|(_, mark)| mark.newest >= admitted)
            .filter(|(_, mark)| {
                mark.newest == admitted || shares_slot(admitted, quota, mark.newest)
            });
        if let Some((index, _)) = found {
            self.0.edit(|marks| {
                if let Some(mark) = marks.get_mut(index) {
                    mark.count -= 1;
                    if mark.count == 0 {
                        marks.remove(index);
                    }
                }
            });
        }
        self.usage(quota, now)
    }

    /// Says at which instant a request counts whose thread read the clock at `now`, drops what has
    /// left by then and moves what lies later to it.
    fn settle(&mut self, quota: Quota, now: Timestamp) -> Timestamp {
        let now = self.arrival(now);
        if self.newest().is_some_and(|newest| newest > now) {
            self.0.edit(|marks| {
                let future = marks.partition_point(|mark| mark.newest <= now);
                let later = marks.drain(future..).map(|mark| mark.count);
                let count = later.fold(0, u32::saturating_add);
                marks.push(Mark { newest: now, count });
            });
        }
        let has_left = |admitted| has_left(admitted, quota, now);
        if self.0.oldest().is_some_and(has_left) {
            self.0.drop_oldest(has_left);
        }
        now
    }

    /// The newest mark's instant for a latecomer; `now` for everybody else.
    fn arrival(&self, now: Timestamp) -> Timestamp {
        match self.newest() {
            Some(newest) if newest.ms_since(now) <= LATECOMER_MS_MAX => newest.max(now),
            Some(_) | None => now,
        }
    }

    fn usage(&self, quota: Quota, now: Timestamp) -> Usage {
        // With a lowered limit several places must become free before one more is admitted.
        let counted = self.0.counted();
        let sum = match counted {
            // There may be more.
            u32::MAX => self.0.sum(),
            _ => counted.into(),
        };
        let must_leave = (sum + 1).saturating_sub(quota.count().into()).max(1);
        let frees_up = match must_leave {
            1 => self.0.oldest(),
            several => self.leaves_last_of(several),
        };
        Usage {
            counted,
            reset_ms: match frees_up {
                Some(newest) => quota.window_ms() - now.ms_since(newest),
                None => quota.window_ms(),
            },
        }
    }

    /// The instant of the mark with which `several` admissions have left.
    fn leaves_last_of(&self, several: u64) -> Option<Timestamp> {
        let mut left = 0;
        let last = self.marks().find(|mark| {
            left += u64::from(mark.count);
            left >= several
        });
        last.map(|mark| mark.newest)
    }
}

/// Whether an admission at `admitted` no longer counts at `now`.
fn has_left(admitted: Timestamp, quota: Quota, now: Timestamp) -> bool {
    now.ms_since(admitted) >= quota.window_ms()
}

/// Whether admissions at `earlier` and, not before it, `later` are kept as one mark.
fn shares_slot(earlier: Timestamp, quota: Quota, later: Timestamp) -> bool {
    if quota.count() <= EXACT_COUNT_MAX {
        return earlier == later;
    }
    let slot_ms = quota.window_ms().div_ceil(SLOTS);
    later.ms_since(earlier) <= later.as_ms() % slot_ms
}
