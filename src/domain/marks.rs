//! What a window remembers, small: there are very many windows, most with few marks.
//!
//! Up to [`FEW_MAX`] marks stand in the 40 bytes of the window itself, where a decision finds them
//! beside the window's key without another look into memory. More of them, and the rare ones that
//! are too large for it, are kept on the heap.

use std::num::NonZeroU8;

use super::time::Timestamp;

/// Admissions that share an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When the newest of them was admitted.
    pub newest: Timestamp,
    /// How many they are, at least 1.
    pub count: u32,
}

/// Marks, oldest first. Equal ones are kept alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks(Kept);

const _: () = assert!(size_of::<Marks>() == 40);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kept {
    Few(Few),
    Many {
        /// The sum of their counts, at most `u32::MAX`: a damaged store may hold anything.
        counted: u32,
        marks: Vec<Mark>,
    },
}

/// This many marks need no heap.
const FEW_MAX: usize = 5;

/// Marks of at most `u16::MAX` admissions each, over at most `u32::MAX` milliseconds (49 days).
#[derive(Clone, Debug, PartialEq, Eq)]
struct Few {
    /// One more than there are marks: with 0 to spare, [`Kept`] needs no byte to tell its kinds
    /// apart. What stands behind the marks in the arrays is 0.
    end: NonZeroU8,
    counts: [u16; FEW_MAX],
    /// By how much each is newer than the oldest.
    later_ms: [u32; FEW_MAX],
    oldest: Timestamp,
}

impl Default for Few {
    fn default() -> Self {
        Self {
            end: NonZeroU8::MIN,
            counts: [0; FEW_MAX],
            later_ms: [0; FEW_MAX],
            oldest: Timestamp::default(),
        }
    }
}

impl Default for Marks {
    fn default() -> Self {
        Self(Kept::Few(Few::default()))
    }
}

impl Marks {
    /// Takes marks that are in order and count something each.
    pub(super) fn from_sorted(marks: Vec<Mark>) -> Self {
        let mut few = Few::default();
        match marks.iter().all(|mark| few.push(*mark)) {
            true => Self(Kept::Few(few)),
            false => Self(Kept::Many {
                counted: total(&marks),
                marks,
            }),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Mark> {
        let (few, many) = match &self.0 {
            Kept::Few(few) => (Some(few), [].as_slice()),
            Kept::Many { marks, .. } => (None, marks.as_slice()),
        };
        let few = few.into_iter().flat_map(Few::iter);
        few.chain(many.iter().copied())
    }

    pub(super) fn len(&self) -> usize {
        match &self.0 {
            Kept::Few(few) => few.len(),
            Kept::Many { marks, .. } => marks.len(),
        }
    }

    pub(super) fn oldest(&self) -> Option<Timestamp> {
        match &self.0 {
            Kept::Few(few) => (few.len() > 0).then_some(few.oldest),
            Kept::Many { marks, .. } => marks.first().map(|mark| mark.newest),
        }
    }

    pub(super) fn newest(&self) -> Option<Timestamp> {
        match &self.0 {
            Kept::Few(few) => few.newest(),
            Kept::Many { marks, .. } => marks.last().map(|mark| mark.newest),
        }
    }

    /// The sum of their counts.
    pub(super) fn sum(&self) -> u64 {
        self.iter().map(|mark| u64::from(mark.count)).sum()
    }

    /// The sum of their counts, at most `u32::MAX`.
    pub(super) fn counted(&self) -> u32 {
        match &self.0 {
            Kept::Few(few) => few.counts.iter().map(|count| u32::from(*count)).sum(),
            Kept::Many { counted, .. } => *counted,
        }
    }

    /// Adds a mark of one, which none is newer than.
    pub(super) fn push_one(&mut self, at: Timestamp) {
        let one = Mark {
            newest: at,
            count: 1,
        };
        let is_kept = match &mut self.0 {
            Kept::Few(few) => few.push(one),
            Kept::Many { counted, marks } => {
                *counted = counted.saturating_add(1);
                marks.push(one);
                true
            }
        };
        if !is_kept {
            self.edit(|marks| marks.push(one));
        }
    }

    /// Counts one more under the newest mark, which moves to `at`.
    pub(super) fn raise_newest(&mut self, at: Timestamp) {
        let is_kept = match &mut self.0 {
            Kept::Few(few) => few.raise_newest(at),
            Kept::Many { counted, marks } => {
                *counted = counted.saturating_add(1);
                raise_last(marks, at);
                true
            }
        };
        if !is_kept {
            self.edit(|marks| raise_last(marks, at));
        }
    }

    /// Drops the marks for whose instants `is_gone` holds, which are the oldest.
    pub(super) fn drop_oldest(&mut self, is_gone: impl Fn(Timestamp) -> bool) {
        let gone = self.iter().take_while(|mark| is_gone(mark.newest)).count();
        match &mut self.0 {
            Kept::Few(few) => few.drop_first(gone),
            // The sum is known to be exact, and they stay many.
            Kept::Many { counted, marks }
                if *counted < u32::MAX && marks.len() - gone > FEW_MAX =>
            {
                *counted -= total(marks.get(..gone).unwrap_or_default());
                marks.drain(..gone);
            }
            Kept::Many { .. } => self.edit(|marks| drop(marks.drain(..gone))),
        }
    }

    /// Changes the marks in any way that leaves them in order and counting something each.
    pub(super) fn edit(&mut self, change: impl FnOnce(&mut Vec<Mark>)) {
        let mut marks = match std::mem::take(self).0 {
            Kept::Few(few) => few.iter().collect(),
            Kept::Many { marks, .. } => marks,
        };
        change(&mut marks);
        *self = Self::from_sorted(marks);
    }
}

impl Few {
    fn len(&self) -> usize {
        usize::from(self.end.get() - 1)
    }

    fn iter(&self) -> impl Iterator<Item = Mark> {
        let marks = self.later_ms.iter().zip(&self.counts);
        let marks = marks.map(|(later_ms, count)| Mark {
            newest: self.oldest.plus_ms(u64::from(*later_ms)),
            count: u32::from(*count),
        });
        marks.take(self.len())
    }

    fn newest(&self) -> Option<Timestamp> {
        let last = self.len().checked_sub(1)?;
        let later_ms = self.later_ms.get(last)?;
        Some(self.oldest.plus_ms(u64::from(*later_ms)))
    }

    /// Adds a mark that none is newer than. Says whether there was room; if not, nothing changed.
    fn push(&mut self, mark: Mark) -> bool {
        let index = self.len();
        let oldest = match index {
            0 => mark.newest,
            _ => self.oldest,
        };
        let is_set = self.set(index, oldest, mark);
        self.end = self.end.saturating_add(u8::from(is_set));
        is_set
    }

    /// Counts one more under the newest mark, of which there must be one. Says whether there was
    /// room; if not, nothing changed.
    fn raise_newest(&mut self, at: Timestamp) -> bool {
        let last = self.len().saturating_sub(1);
        let oldest = match last {
            0 => at,
            _ => self.oldest,
        };
        let count = self.counts.get(last).copied().unwrap_or_default();
        let mark = Mark {
            newest: at,
            count: u32::from(count) + 1,
        };
        self.set(last, oldest, mark)
    }

    /// Puts a mark in place. Says whether it fits; if not, nothing changed.
    fn set(&mut self, index: usize, oldest: Timestamp, mark: Mark) -> bool {
        let later_ms = u32::try_from(mark.newest.ms_since(oldest));
        let place = self.later_ms.get_mut(index).zip(self.counts.get_mut(index));
        let (Ok(later_ms), Ok(count), Some(place)) = (later_ms, u16::try_from(mark.count), place)
        else {
            return false;
        };
        (*place.0, *place.1) = (later_ms, count);
        self.oldest = oldest;
        true
    }

    fn drop_first(&mut self, gone: usize) {
        let mut kept = Self::default();
        for mark in self.iter().skip(gone) {
            kept.push(mark);
        }
        *self = kept;
    }
}

/// The sum of the marks' counts, at most `u32::MAX`.
fn total(marks: &[Mark]) -> u32 {
    let add = |sum: u32, mark: &Mark| sum.saturating_add(mark.count);
    marks.iter().fold(0, add)
}

fn raise_last(marks: &mut [Mark], at: Timestamp) {
    if let Some(last) = marks.last_mut() {
        last.newest = at;
        last.count = last.count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        PushOne(u64),
        RaiseNewest(u64),
        /// As many are to be dropped.
        DropOldest(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let later_ms = || prop_oneof![4 => 0_u64..1000, 1 => 0..u64::from(u32::MAX) * 2];
        prop_oneof![
            4 => later_ms().prop_map(Step::PushOne),
            2 => later_ms().prop_map(Step::RaiseNewest),
            1 => (0_usize..8).prop_map(Step::DropOldest),
        ]
    }

    fn mark() -> impl Strategy<Value = Mark> {
        let counts =
            prop_oneof![4 => 1_u32..9, 2 => u32::from(u16::MAX) - 1..u32::from(u16::MAX) + 2];
        (0_u64..500, counts).prop_map(|(ms, count)| Mark {
            newest: Timestamp::from_ms(ms),
            count,
        })
    }

    proptest! {
        #[test]
        fn few_and_many_marks_are_kept_as_in_any_list(
            mut list in vec(mark(), 0..9),
            steps in vec(step(), 0..40),
        ) {
            list.sort_by_key(|mark| mark.newest);
            let mut marks = Marks::from_sorted(list.clone());
            let mut now_ms = 500;
            for step in steps {
                match step {
                    Step::PushOne(later_ms) => {
                        now_ms += later_ms;
                        let newest = Timestamp::from_ms(now_ms);
                        marks.push_one(newest);
                        list.push(Mark { newest, count: 1 });
                    }
                    Step::RaiseNewest(later_ms) => {
                        let Some(last) = list.last_mut() else { continue };
                        now_ms += later_ms;
                        last.newest = Timestamp::from_ms(now_ms);
                        last.count += 1;
                        marks.raise_newest(last.newest);
                    }
                    Step::DropOldest(count) => {
                        let first_kept = list.get(count).map(|mark| mark.newest);
                        let is_gone = |at| first_kept.is_none_or(|kept| at < kept);
                        marks.drop_oldest(is_gone);
                        list.retain(|mark| !is_gone(mark.newest));
                    }
                }
                prop_assert_eq!(&marks, &Marks::from_sorted(list.clone()));
                prop_assert_eq!(marks.iter().collect::<Vec<_>>(), list.clone());
                prop_assert_eq!(marks.len(), list.len());
                prop_assert_eq!(marks.oldest(), list.first().map(|mark| mark.newest));
                prop_assert_eq!(marks.newest(), list.last().map(|mark| mark.newest));
                prop_assert_eq!(marks.counted(), total(&list));
                prop_assert_eq!(marks.sum(), u64::from(total(&list)));
            }
        }
    }
}
