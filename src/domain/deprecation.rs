//! Operations that will be removed (spec 9).

use super::time::Timestamp;

/// The notice that an operation will be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deprecation {
    announced: Timestamp,
    notice_days: u64,
    replacement: &'static str,
}

impl Deprecation {
    /// The least days between notice and removal.
    pub const NOTICE_DAYS_MIN: u64 = 90;

    /// A notice given at `announced`, so many days ahead: fewer than
    /// [`Deprecation::NOTICE_DAYS_MIN`] count as that many. `replacement` is the path to use
    /// instead.
    #[must_use]
    pub const fn new(announced: Timestamp, notice_days: u64, replacement: &'static str) -> Self {
        Self {
            announced,
            notice_days,
            replacement,
        }
    }

    /// The operation is not removed before this instant.
    #[must_use]
    pub fn sunset(&self) -> Timestamp {
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        let days = self.notice_days.max(Self::NOTICE_DAYS_MIN);
        self.announced.plus_ms(days.saturating_mul(DAY_MS))
    }

    /// The path to use instead.
    #[must_use]
    pub const fn replacement(&self) -> &'static str {
        self.replacement
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_removed_before_ninety_days_have_passed() {
        let announced = Timestamp::from_ms(1_000);
        for (notice_days, expected) in [(0, 90), (89, 90), (90, 90), (91, 91), (365, 365)] {
            let deprecation = Deprecation::new(announced, notice_days, "/api/v2/health");
            let notice_ms = deprecation.sunset().ms_since(announced);
            assert_eq!(notice_ms, expected * 86_400_000);
        }
    }
}
