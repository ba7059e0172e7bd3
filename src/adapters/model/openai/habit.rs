//! What is known of how the model thinks: whether its text begins inside a thought that the server
//! opened in its own prompt, with nothing before the closing mark to tell.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Learnt from finished answers, for those that come.
///
/// Until one of them has settled that the model does not think first, nothing is handed out before
/// an answer's end: it could turn out to have been thought.
#[derive(Debug, Default)]
pub(super) struct Habit(Mutex<Known>);

/// What is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Known {
    /// Nothing yet.
    #[default]
    Nothing,
    /// It ends thoughts that it did not begin.
    ThinksFirst,
    /// Its text is what it says.
    Speaks,
}

impl Habit {
    pub(super) fn known(&self) -> Known {
        *self.lock()
    }

    /// A thought ended that had not begun.
    pub(super) fn thought_first(&self) {
        *self.lock() = Known::ThinksFirst;
    }

    /// An answer said all it had to say, and no thought ended in it that had not begun. After one
    /// in which that was so, it takes two: a visitor may have made the model write the mark, and
    /// that must not hold back all later answers.
    pub(super) fn spoke(&self) {
        let mut known = self.lock();
        *known = match *known {
            Known::ThinksFirst => Known::Nothing,
            Known::Nothing | Known::Speaks => Known::Speaks,
        };
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_answer_settles_it_and_after_a_thought_it_takes_two() {
        let habit = Habit::default();
        assert_eq!(habit.known(), Known::Nothing);
        habit.spoke();
        assert_eq!(habit.known(), Known::Speaks);
        habit.thought_first();
        habit.thought_first();
        assert_eq!(habit.known(), Known::ThinksFirst);
        habit.spoke();
        assert_eq!(habit.known(), Known::Nothing);
        habit.spoke();
        assert_eq!(habit.known(), Known::Speaks);
    }
}
