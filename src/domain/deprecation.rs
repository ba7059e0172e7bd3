//! Operations that will be removed.

use super::time::{DAY_MS, Timestamp};

/// The notice that an operation will be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deprecation {
    /// The path to use instead.
    pub replacement: &'static str,
    /// When the notice was given.
    pub announced: Timestamp,
    /// Days between notice and removal. Fewer than [`Deprecation::NOTICE_DAYS_MIN`] count as that
    /// many.
    pub notice_days: u64,
}

impl Deprecation {
    /// The least number of days between notice and removal.
    pub const NOTICE_DAYS_MIN: u64 = 90;

    /// The operation is not removed before this instant.
    pub fn sunset(&self) -> Timestamp {
        let days = self.notice_days.max(Self::NOTICE_DAYS_MIN);
        self.announced.plus_ms(days.saturating_mul(DAY_MS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_removed_before_ninety_days_have_passed() {
        for (notice_days, expected) in [(0, 90), (89, 90), (90, 90), (91, 91), (365, 365)] {
            let deprecation = Deprecation {
                replacement: "/api/v2/health",
                announced: Timestamp::from_ms(1_000),
                notice_days,
            };
            let notice_ms = deprecation.sunset().ms_since(deprecation.announced);
            assert_eq!(notice_ms, expected * 86_400_000);
        }
    }
}
