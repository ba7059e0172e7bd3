//! Activity per hour.

use std::collections::BTreeMap;

use super::macros::names;
use super::time::Timestamp;

names! {
    /// Hourly counters.
    pub enum Counted {
        /// Requests handled.
        Requests => "requests",
        /// Requests that ended in a client error, refusals among them.
        ClientErrors => "client_errors",
        /// Requests that ended in a server error.
        ServerErrors => "server_errors",
        /// Requests refused by a policy.
        Refusals => "refusals",
        /// Sign-ups of new addresses, or sign-ups accepted by a provider.
        SignUps => "sign_ups",
        /// Sign-ups of addresses that were signed up already.
        Renewals => "renewals",
        /// Keys issued.
        Keys => "keys",
        /// Agents registered.
        Agents => "agents",
        /// Chat turns answered.
        Chats => "chats",
        /// Chat turns failed.
        FailedChats => "failed_chats",
        /// Charges refunded.
        Refunds => "refunds",
        /// Chat turns to which the assistant knew no answer.
        UnansweredChats => "unanswered_chats",
        /// Contacts imported by the operator.
        Imports => "imports",
    }
}

/// A number for each [`Counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Counted::ALL.len()]);

impl Counts {
    /// The numbers by `of`.
    pub fn of(of: impl Fn(Counted) -> u64) -> Self {
        Self(Counted::ALL.map(of))
    }

    /// The number of `counted`.
    pub fn get(&self, counted: Counted) -> u64 {
        self.0.get(counted as usize).copied().unwrap_or(0)
    }

    /// Adds `number` to `counted`.
    pub fn add(&mut self, counted: Counted, number: u64) {
        if let Some(sum) = self.0.get_mut(counted as usize) {
            *sum = sum.saturating_add(number);
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (counted, number) in other.iter() {
            self.add(counted, number);
        }
    }

    /// The difference to an `earlier` reading.
    pub fn since(&self, earlier: &Self) -> Self {
        Self::of(|counted| self.get(counted).saturating_sub(earlier.get(counted)))
    }

    /// Every counter and its number.
    pub fn iter(&self) -> impl Iterator<Item = (Counted, u64)> {
        Counted::ALL.into_iter().zip(self.0)
    }
}

/// An hour of UTC, in hours since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hour(u64);

const HOUR_MS: u64 = 3_600_000;

impl Hour {
    /// The hour of an instant.
    pub const fn of(at: Timestamp) -> Self {
        Self(at.as_ms() / HOUR_MS)
    }

    /// Parses a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let hour = Self::of(Timestamp::parse(&format!("{name}:00:00Z"))?);
        (hour.name() == name).then_some(hour)
    }

    /// Its date and hour, such as `2026-11-23T01`; the first 7 characters are the month. Empty beyond the
    /// year 9999.
    pub fn name(self) -> String {
        let start = self.start().to_rfc3339();
        let hour = start.split_once(':').map(|(hour, _minutes)| hour);
        hour.unwrap_or_default().to_owned()
    }

    /// Its first instant.
    pub const fn start(self) -> Timestamp {
        Timestamp::from_ms(self.0.saturating_mul(HOUR_MS))
    }

    /// The next hour.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The hour `hours` before.
    #[must_use]
    pub const fn minus(self, hours: u64) -> Self {
        Self(self.0.saturating_sub(hours))
    }
}

/// The counts of hours that have some.
pub type HourlyCounts = BTreeMap<Hour, Counts>;

/// Retention of hourly counts, in hours: 400 days.
pub const KEPT_HOURS: u64 = 400 * 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_positions_in_the_table() {
        for (index, counted) in Counted::ALL.into_iter().enumerate() {
            assert_eq!(counted as usize, index);
            assert_eq!(Counted::from_name(counted.as_str()), Some(counted));
        }
        assert_eq!(Counted::from_name("Requests"), None);
    }

    #[test]
    fn differences_are_per_number_and_never_negative() {
        let (mut earlier, mut later) = (Counts::default(), Counts::default());
        earlier.add(Counted::Keys, 2);
        earlier.add(Counted::Chats, 9);
        later.add(Counted::Keys, 5);
        let difference = later.since(&earlier);
        assert_eq!(difference.get(Counted::Keys), 3);
        assert_eq!(difference.get(Counted::Chats), 0);
        assert!(later.since(&later) == Counts::default() && difference != Counts::default());
        earlier.add_all(&difference);
        assert_eq!(earlier.get(Counted::Keys), 5);
        earlier.add(Counted::Keys, u64::MAX);
        assert_eq!(earlier.get(Counted::Keys), u64::MAX);
    }

    #[test]
    fn an_hour_begins_on_the_hour() {
        let at = Timestamp::from_ms(7 * HOUR_MS + 1);
        assert_eq!(Hour::of(at).start(), Timestamp::from_ms(7 * HOUR_MS));
        assert_eq!(Hour::of(Timestamp::from_ms(8 * HOUR_MS - 1)), Hour::of(at));
        assert_eq!(Hour::of(at).minus(7).start(), Timestamp::default());
        assert_eq!(Hour::of(at).minus(8).start(), Timestamp::default());
    }

    #[test]
    fn hours_are_read_and_written_alike() {
        let hour = Hour::of(Timestamp::from_ms(1_795_262_400_000));
        assert_eq!(hour.name(), "2026-11-21T12");
        assert_eq!(Hour::from_name("2026-11-21T12"), Some(hour));
        let others = "|2026-11-21|2026-11-21T24|2026-11-21t12|2026-11-21 12|2026-02-30T00|1969-12-31T23|\
                      2026-11-21T12:00:00Z#|+002026-11-21T12";
        for name in others.split('|') {
            assert_eq!(Hour::from_name(name), None, "{name}");
        }
    }
}
