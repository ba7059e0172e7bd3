//! Hourly counts, added up for the plots.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{Timestamp as Instant, ToSpan as _};

use crate::domain::{Counts, Hour, HourlyCounts, Timestamp, macros::names};

names! {
    /// Time unit of a bar, which also determines how far back the plots go. Days and months are those of UTC.
    pub(super) enum Unit {
        Hour => "hour",
        Day => "day",
        Month => "month",
    }
}

/// Counts of an hour, a day or a month.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnitCounts {
    /// Its full name.
    pub(super) name: String,
    /// A short one.
    pub(super) tick: String,
    pub(super) counts: Counts,
}

impl Unit {
    /// Number of units in a plot. All days of these months are among the 400 stored.
    pub(super) const fn shown(self) -> u8 {
        match self {
            Self::Hour => 48,
            Self::Day => 31,
            Self::Month => 13,
        }
    }

    /// Start of the unit that contains `at`.
    fn start(self, at: DateTime) -> DateTime {
        match self {
            Self::Hour => at.date().at(at.hour(), 0, 0, 0),
            Self::Day => at.date().into(),
            Self::Month => at.date().first_of_month().into(),
        }
    }

    fn column(self, start: DateTime) -> UnitCounts {
        let (name, tick) = match self {
            Self::Hour => ("%-d %b %H:00", "%H:00"),
            Self::Day => ("%-d %b %Y", "%-d %b"),
            Self::Month => ("%b %Y", "%b"),
        };
        UnitCounts {
            name: start.strftime(name).to_string(),
            tick: start.strftime(tick).to_string(),
            counts: Counts::default(),
        }
    }

    /// First hour in the plots.
    pub(super) fn since(self, now: Timestamp) -> Hour {
        let first = self.starts(now).first().copied().unwrap_or_default();
        let first = Offset::UTC.to_timestamp(first).unwrap_or_default();
        let ms = u64::try_from(first.as_millisecond()).unwrap_or_default();
        Hour::of(Timestamp::from_ms(ms))
    }

    /// Starts of the units in the plots, the newest last.
    fn starts(self, now: Timestamp) -> Vec<DateTime> {
        let step = match self {
            Self::Hour => 1.hour(),
            Self::Day => 1.day(),
            Self::Month => 1.month(),
        };
        let newest = Some(self.start(civil(now)));
        let starts = std::iter::successors(newest, |start| Some(start.saturating_sub(step)));
        let mut starts: Vec<_> = starts.take(self.shown().into()).collect();
        starts.reverse();
        starts
    }

    /// Sums of `hours`, the newest last.
    pub(super) fn columns(self, hours: &[HourlyCounts], now: Timestamp) -> Vec<UnitCounts> {
        let starts = self.starts(now);
        let mut columns: Vec<_> = starts.iter().map(|start| self.column(*start)).collect();
        for hour in hours {
            let start = self.start(civil(hour.hour.start()));
            let index = starts.binary_search(&start);
            if let Some(column) = index.ok().and_then(|index| columns.get_mut(index)) {
                column.counts.add_all(&hour.counts);
            }
        }
        columns
    }
}

/// Date and time in UTC; the epoch beyond the year 9999.
fn civil(at: Timestamp) -> DateTime {
    let ms = i64::try_from(at.as_ms()).unwrap_or(i64::MAX);
    Offset::UTC.to_datetime(Instant::from_millisecond(ms).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::domain::Counted;

    use super::*;

    /// 2028-03-01T12:34:56Z, the day after a leap day.
    const NOW: Timestamp = Timestamp::from_ms(1_835_526_896_000);

    fn counted(hours_ago: u64, number: u64) -> HourlyCounts {
        let mut counts = Counts::default();
        counts.add(Counted::SignUps, number);
        HourlyCounts {
            hour: Hour::of(NOW).minus(hours_ago),
            counts,
        }
    }

    /// Name, tick and number of the units that aren't 0, and how many units there are.
    fn sums(unit: Unit, hours: &[HourlyCounts]) -> (Vec<(String, String, u64)>, usize) {
        let columns = unit.columns(hours, NOW);
        let number = |unit: &UnitCounts| unit.counts.get(Counted::SignUps);
        let found = columns.iter().filter(|column| number(column) > 0);
        let found = found.map(|column| (column.name.clone(), column.tick.clone(), number(column)));
        (found.collect(), columns.len())
    }

    fn row(name: &str, tick: &str, number: u64) -> (String, String, u64) {
        (name.to_owned(), tick.to_owned(), number)
    }

    #[test]
    fn hours_are_summed_up_by_hour_day_and_month() {
        // 12 hours earlier it was midnight of 1 March.
        let hours = [
            counted(24 * 500, 64),
            counted(24 * 29, 32),
            counted(36, 16),
            counted(13, 8),
            counted(12, 4),
            counted(1, 2),
            counted(0, 1),
        ];
        let (found, len) = sums(Unit::Hour, &hours);
        assert_eq!(len, 48);
        assert_eq!(
            found,
            [
                row("29 Feb 00:00", "00:00", 16),
                row("29 Feb 23:00", "23:00", 8),
                row("1 Mar 00:00", "00:00", 4),
                row("1 Mar 11:00", "11:00", 2),
                row("1 Mar 12:00", "12:00", 1),
            ]
        );
        let (found, len) = sums(Unit::Day, &hours);
        assert_eq!(len, 31);
        assert_eq!(
            found,
            [
                row("1 Feb 2028", "1 Feb", 32),
                row("29 Feb 2028", "29 Feb", 24),
                row("1 Mar 2028", "1 Mar", 7),
            ]
        );
        let (found, len) = sums(Unit::Month, &hours);
        assert_eq!(len, 13);
        assert_eq!(
            found,
            [row("Feb 2028", "Feb", 56), row("Mar 2028", "Mar", 7)]
        );
    }

    #[test]
    fn the_first_hour_is_the_first_that_is_shown() {
        for unit in Unit::ALL {
            let first = HourlyCounts {
                hour: unit.since(NOW),
                ..counted(0, 1)
            };
            let before = HourlyCounts {
                hour: unit.since(NOW).minus(1),
                ..counted(0, 2)
            };
            let columns = unit.columns(&[before, first], NOW);
            assert_eq!(columns[0].counts.get(Counted::SignUps), 1, "{unit:?}");
        }
    }

    #[test]
    fn a_clock_that_is_far_off_is_no_trouble() {
        for now in [0, u64::MAX] {
            let now = Timestamp::from_ms(now);
            for unit in Unit::ALL {
                assert_eq!(unit.columns(&[], now).len(), usize::from(unit.shown()));
                let _ = unit.since(now);
            }
        }
    }
}
