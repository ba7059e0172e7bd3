//! What is known of how the model thinks: whether its text begins inside a thought that the server
//! opened in its own prompt, with nothing before the closing mark to tell.
//!
//! The doubt is a number, and the rule is a sum:
//!
//! - It begins at [`DOUBT_AT_FIRST`]. At zero the model is known to speak: its text is what it says.
//! - An answer without such a closing mark lowers it: a whole one by [`WHOLE_WEIGHT`], one that was
//!   cut short by one, as the mark may be in what is missing.
//! - A closing mark that belongs to nothing raises it: from zero to where it began, as a visitor may
//!   have made the model write it; otherwise to [`DOUBT_MAX`].
//!
//! While there is a doubt, nothing is handed out before an answer's end, and an answer that was cut
//! short is refused. So whole answers always pass, and where every answer is cut short, no more than
//! [`DOUBT_AT_FIRST`] in a row are refused, or [`DOUBT_MAX`] after a model that seemed to think
//! first. The price: if a model does think first, and never gets to its mark within its limit, its
//! thinking is shown after so many refusals. Nothing tells it from one that speaks.

use std::sync::atomic::{AtomicU32, Ordering};

/// The doubt before the first answer.
const DOUBT_AT_FIRST: u32 = 3;
/// The most doubt there is.
const DOUBT_MAX: u32 = 6;
/// How much of the doubt a whole answer takes away.
const WHOLE_WEIGHT: u32 = 3;

/// Learnt from answers, for those that come.
#[derive(Debug)]
pub(super) struct Habit(AtomicU32);

impl Default for Habit {
    fn default() -> Self {
        Self(AtomicU32::new(DOUBT_AT_FIRST))
    }
}

impl Habit {
    /// Whether the model is known not to think first.
    pub(super) fn speaks(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    /// A thought ended that had not begun.
    pub(super) fn thought_first(&self) {
        self.change(|doubt| match doubt {
            0 => DOUBT_AT_FIRST,
            _ => DOUBT_MAX,
        });
    }

    /// In an answer no thought ended that had not begun. `is_whole` says that it was not cut short.
    pub(super) fn spoke(&self, is_whole: bool) {
        let weight = if is_whole { WHOLE_WEIGHT } else { 1 };
        self.change(|doubt| doubt.saturating_sub(weight));
    }

    fn change(&self, next: impl Fn(u32) -> u32) {
        // It never fails: there is always a next one.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |doubt| {
                Some(next(doubt))
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many answers of a kind it takes until the model is known to speak.
    fn settled_after(habit: &Habit, is_whole: bool) -> u32 {
        let mut answers = 0;
        while !habit.speaks() {
            habit.spoke(is_whole);
            answers += 1;
            assert!(answers < 100, "it never settles");
        }
        answers
    }

    #[test]
    fn whole_answers_settle_it_soon_and_cut_ones_in_the_end() {
        for (is_whole, first, after_thoughts) in [(true, 1, 2), (false, 3, 6)] {
            let habit = Habit::default();
            assert_eq!(settled_after(&habit, is_whole), first);
            habit.thought_first();
            assert_eq!(settled_after(&habit, is_whole), first, "one may be made up");
            for _ in 0..50 {
                habit.thought_first();
            }
            assert_eq!(settled_after(&habit, is_whole), after_thoughts);
        }
    }
}
