//! Instants and durations. The clock is a port; elsewhere the time is an argument.

use std::time::Duration;

use jiff::civil::DateTime;
use jiff::fmt::temporal::DateTimePrinter;

use super::macros::names;

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The instant `ms` milliseconds after the Unix epoch.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Milliseconds since `earlier`; 0 if it is in the future.
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant in RFC 3339: UTC, milliseconds. Empty beyond the year 9999.
    pub fn to_rfc3339(self) -> String {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
        // jiff's own instants end a day before that year does.
        let epoch = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
        let since = Duration::from_millis(self.0);
        let mut text = String::with_capacity("2026-01-31T00:00:00.000Z".len());
        if let Ok(time) = epoch.checked_add(since) {
            // Writing to a `String` cannot fail.
            let _ = PRINTER.print_datetime(&time, &mut text);
            text.push('Z');
        }
        text
    }

    /// Parses an instant of RFC 3339, or a date, which is its midnight in UTC. `None` for anything else, and
    /// before 1970.
    pub fn parse(text: &str) -> Option<Self> {
        let is_date = text.len() == "2026-01-31".len();
        let midnight = is_date.then(|| [text, "T00:00:00Z"].concat());
        let instant: jiff::Timestamp = midnight.as_deref().unwrap_or(text).parse().ok()?;
        let ms = u64::try_from(instant.as_millisecond()).ok()?;
        Some(Self(ms))
    }

    /// The instant `ms` milliseconds later.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

names! {
    /// A unit of time. Flags write it by its first letter, such as `15m`.
    pub enum TimeUnit {
        Second => "second",
        Minute => "minute",
        Hour => "hour",
        Day => "day",
    }
}

/// A day in milliseconds.
pub const DAY_MS: u64 = 1000 * TimeUnit::Day.seconds();

impl TimeUnit {
    pub const fn seconds(self) -> u64 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
        }
    }

    /// The largest unit that divides `seconds`, and the number of it.
    pub fn largest(seconds: u64) -> (u64, Self) {
        let divides = |unit: &Self| seconds > 0 && seconds.is_multiple_of(unit.seconds());
        let unit = Self::ALL.into_iter().rfind(divides);
        let unit = unit.unwrap_or(Self::Second);
        (seconds / unit.seconds(), unit)
    }

    /// The same for people: one day is 24 hours, because "in any day" could mean a calendar day.
    pub fn in_words(seconds: u64) -> (u64, Self) {
        match Self::largest(seconds) {
            (1, Self::Day) => (24, Self::Hour),
            other => other,
        }
    }

    pub fn letter(self) -> char {
        self.as_str().chars().next().unwrap_or_default()
    }
}

/// Parses a whole number with one unit, such as `15m` or `24h`; `None` if it doesn't fit.
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    let letter = text.chars().next_back()?;
    let mut units = TimeUnit::ALL.into_iter();
    let unit = units.find(|unit| unit.letter() == letter)?;
    let number = parse_digits(text.strip_suffix(letter)?)?;
    number.checked_mul(unit.seconds())?.checked_mul(1000)
}

/// A number of digits alone: `parse` would accept a sign, too.
pub(super) fn parse_digits(text: &str) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_dates_are_parsed() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:34:56.789Z", Some(951_827_696_789)),
            ("2000-02-29T13:34:56.789+01:00", Some(951_827_696_789)),
            ("2000-02-29", Some(951_782_400_000)),
        ] {
            assert_eq!(Timestamp::parse(text).map(Timestamp::as_ms), ms, "{text}");
        }
        let others = "|1969-12-31T23:59:59Z|2001-02-29|2000-2-29|2000-02-29T12:34:56|29.02.2000|951827696|now";
        for text in others.split('|') {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_largest_unit_divides_the_seconds() {
        for (seconds, expected) in [
            (0, (0, TimeUnit::Second)),
            (59, (59, TimeUnit::Second)),
            (60, (1, TimeUnit::Minute)),
            (90, (90, TimeUnit::Second)),
            (7200, (2, TimeUnit::Hour)),
            (86_400, (1, TimeUnit::Day)),
        ] {
            assert_eq!(TimeUnit::largest(seconds), expected);
        }
    }

    #[test]
    fn instants_are_written_in_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"),
            (4_102_444_800_000, "2100-01-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, ""),
            (u64::MAX, ""),
        ] {
            assert_eq!(Timestamp::from_ms(ms).to_rfc3339(), text);
        }
    }
}
