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

use std::ops::Deref;

use arrayvec::ArrayVec;
use thin_vec::{ThinVec, thin_vec};

use super::policy::Quota;
use super::time::Timestamp;

/// Up to this count every admission is logged by its millisecond.
pub const EXACT_COUNT_MAX: u32 = 256;

/// Above it, a window is kept in so many slots.
pub const SLOTS: u64 = 64;

/// By how much a request's `now` may lie before the newest mark and still be taken for a thread
/// that read the clock early and came late.
pub const LATECOMER_MS_MAX: u64 = 100;

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
///
/// There are very many of them, most with a single mark: those take 16 bytes and no heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window(Log);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Log {
    /// One mark; none if its count is 0.
    Short { count: u32, newest: Timestamp },
    /// Two or more, oldest first.
    Long {
        /// The sum of their counts, at most `u32::MAX`: a damaged store may hold anything.
        counted: u32,
        marks: ThinVec<Mark>,
    },
}

const _: () = assert!(size_of::<Window>() == 16);

/// A window's marks, oldest first.
#[derive(Clone, Debug)]
pub struct Marks<'a> {
    short: ArrayVec<Mark, 1>,
    long: &'a [Mark],
}

impl Deref for Marks<'_> {
    type Target = [Mark];

    fn deref(&self) -> &[Mark] {
        match self.long {
            [] => &self.short,
            long => long,
        }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self(Log::Short {
            count: 0,
            newest: Timestamp::default(),
        })
    }
}

impl Window {
    /// A window from marks that a store kept. They are put in order; empty ones are dropped.
    #[must_use]
    pub fn from_marks(marks: impl IntoIterator<Item = Mark>) -> Self {
        let mut marks: ThinVec<Mark> = marks.into_iter().filter(|mark| mark.count > 0).collect();
        marks.sort_by_key(|mark| mark.newest);
        Self::from_sorted(marks)
    }

    fn from_sorted(mut marks: ThinVec<Mark>) -> Self {
        if marks.len() > 1 {
            let counted = total(&marks);
            return Self(Log::Long { counted, marks });
        }
        marks.pop().map_or_else(Self::default, |mark| {
            Self(Log::Short {
                count: mark.count,
                newest: mark.newest,
            })
        })
    }

    /// The marks, oldest first.
    #[must_use]
    pub fn marks(&self) -> Marks<'_> {
        let (short, long) = match &self.0 {
            Log::Short { count: 0, .. } => (None, [].as_slice()),
            Log::Short { count, newest } => {
                let mark = Mark {
                    newest: *newest,
                    count: *count,
                };
                (Some(mark), [].as_slice())
            }
            Log::Long { marks, .. } => (None, marks.as_slice()),
        };
        Marks {
            short: short.into_iter().collect(),
            long,
        }
    }

    /// When the newest admission was; nothing if none is counted.
    #[must_use]
    pub fn newest(&self) -> Option<Timestamp> {
        match &self.0 {
            Log::Short { count, newest } => (*count > 0).then_some(*newest),
            Log::Long { marks, .. } => marks.last().map(|mark| mark.newest),
        }
    }

    fn oldest(&self) -> Option<Timestamp> {
        match &self.0 {
            Log::Short { count, newest } => (*count > 0).then_some(*newest),
            Log::Long { marks, .. } => marks.first().map(|mark| mark.newest),
        }
    }

    /// How many are counted.
    fn counted(&self) -> u32 {
        match &self.0 {
            Log::Short { count, .. } => *count,
            Log::Long { counted, .. } => *counted,
        }
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
        if self.counted() >= quota.count() {
            return Err(self.usage(quota, now));
        }
        self.record(quota, now);
        Ok(Admission {
            usage: self.usage(quota, now),
            at: now,
        })
    }

    /// Adds one at `now`, which no mark is newer than.
    fn record(&mut self, quota: Quota, now: Timestamp) {
        let one = Mark {
            newest: now,
            count: 1,
        };
        match &mut self.0 {
            Log::Short { count, newest } if *count == 0 || shares_slot(*newest, quota, now) => {
                *newest = now;
                *count += 1;
            }
            &mut Log::Short { count, newest } => {
                self.0 = Log::Long {
                    counted: count.saturating_add(1),
                    marks: thin_vec![Mark { newest, count }, one],
                };
            }
            Log::Long { counted, marks } => {
                match marks.last_mut() {
                    Some(last) if shares_slot(last.newest, quota, now) => {
                        last.newest = now;
                        last.count += 1;
                    }
                    Some(_) | None => marks.push(one),
                }
                *counted += 1;
            }
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
        let marks = self.marks();
        let found = marks
            .iter()
            .position(|mark| mark.newest >= admitted)
            .filter(|&index| {
                marks.get(index).is_some_and(|mark| {
                    mark.newest == admitted || shares_slot(admitted, quota, mark.newest)
                })
            });
        if let Some(index) = found {
            self.edit(|marks| {
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
            self.edit(|marks| {
                let future = marks.partition_point(|mark| mark.newest <= now);
                let count = total(marks.get(future..).unwrap_or_default());
                marks.truncate(future);
                marks.push(Mark { newest: now, count });
            });
        }
        if self
            .oldest()
            .is_some_and(|oldest| has_left(oldest, quota, now))
        {
            self.drop_oldest(|mark| has_left(mark.newest, quota, now));
        }
        now
    }

    /// Drops the marks for which `is_gone` holds, which are the oldest.
    fn drop_oldest(&mut self, is_gone: impl Fn(&Mark) -> bool) {
        match &mut self.0 {
            Log::Short { .. } => *self = Self::default(),
            Log::Long { counted, marks } => {
                let gone = marks.partition_point(is_gone);
                if marks.len() - gone > 1 && *counted < u32::MAX {
                    *counted -= total(marks.get(..gone).unwrap_or_default());
                    marks.drain(..gone);
                } else {
                    self.edit(|marks| drop(marks.drain(..gone)));
                }
            }
        }
    }

    /// Changes the marks in any way that leaves them in order.
    fn edit(&mut self, change: impl FnOnce(&mut ThinVec<Mark>)) {
        let mut marks = match std::mem::take(self).0 {
            Log::Long { marks, .. } => marks,
            Log::Short { count: 0, .. } => ThinVec::new(),
            Log::Short { count, newest } => thin_vec![Mark { newest, count }],
        };
        change(&mut marks);
        *self = Self::from_sorted(marks);
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
        let counted = match &self.0 {
            // There may be more.
            Log::Long { marks, .. } if self.counted() == u32::MAX => {
                marks.iter().map(|mark| u64::from(mark.count)).sum()
            }
            Log::Short { .. } | Log::Long { .. } => u64::from(self.counted()),
        };
        let must_leave = (counted + 1).saturating_sub(quota.count().into()).max(1);
        let frees_up = match must_leave {
            1 => self.oldest(),
            several => self.leaves_last_of(several),
        };
        Usage {
            counted: self.counted(),
            reset_ms: match frees_up {
                Some(newest) => quota.window_ms() - now.ms_since(newest),
                None => quota.window_ms(),
            },
        }
    }

    /// The instant of the mark with which `several` admissions have left.
    fn leaves_last_of(&self, several: u64) -> Option<Timestamp> {
        let mut left = 0;
        let marks = self.marks();
        let last = marks.iter().find(|mark| {
            left += u64::from(mark.count);
            left >= several
        });
        last.map(|mark| mark.newest)
    }
}

/// The sum of the marks' counts, at most `u32::MAX`.
fn total(marks: &[Mark]) -> u32 {
    let add = |sum: u32, mark: &Mark| sum.saturating_add(mark.count);
    marks.iter().fold(0, add)
}

/// Whether an admission at `admitted` no longer counts at `now`.
fn has_left(admitted: Timestamp, quota: Quota, now: Timestamp) -> bool {
    now.ms_since(admitted) >= quota.window_ms()
}

/// Whether admissions at `earlier` and `later` are kept as one mark.
fn shares_slot(earlier: Timestamp, quota: Quota, later: Timestamp) -> bool {
    if quota.count() <= EXACT_COUNT_MAX {
        return earlier == later;
    }
    let slot_ms = quota.window_ms().div_ceil(SLOTS);
    earlier.as_ms() / slot_ms == later.as_ms() / slot_ms
}
