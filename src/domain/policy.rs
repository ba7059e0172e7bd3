//! The rate-limit policies.

use std::fmt;
use std::str::FromStr;

use super::proof_of_work;

/// The name of a policy, as in answers, documents and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PolicyName {
    /// Every request, by valid credential, else by network.
    Default = 0,
    /// Every request, by network: bounds what a client gains by issuing itself more keys.
    Ip = 1,
    /// Key issuing, by network.
    Keys = 2,
    /// Agent registration, by network.
    Agents = 3,
    /// Newsletter sign-ups, by network and address.
    Newsletter = 4,
    /// Newsletter sign-ups, by end site.
    NewsletterIp = 5,
    /// The chat quota, by visitor; of programs, by credential or network.
    Assistant = 6,
    /// Chat turns, by end site: bounds what a visitor gains by dropping the cookie.
    AssistantIp = 7,
    /// Chat turns of all clients that cost the operator money.
    AssistantAll = 8,
    /// Newsletter sign-ups of all clients: bounds what a client with many networks can store.
    NewsletterAll = 9,
    /// Keys issued to all clients: bounds the same.
    KeysAll = 10,
    /// Newsletter sign-ups by plain forms, by end site: past it a proof of work is asked for.
    NewsletterForm = 11,
}

impl PolicyName {
    /// Every policy, in the order of the documents.
    pub const ALL: [Self; 12] = [
        Self::Default,
        Self::Ip,
        Self::Keys,
        Self::Agents,
        Self::Newsletter,
        Self::NewsletterIp,
        Self::Assistant,
        Self::AssistantIp,
        Self::AssistantAll,
        Self::NewsletterAll,
        Self::KeysAll,
        Self::NewsletterForm,
    ];

    /// The published name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Ip => "ip",
            Self::Keys => "keys",
            Self::Agents => "agents",
            Self::Newsletter => "newsletter",
            Self::NewsletterIp => "newsletter-ip",
            Self::Assistant => "assistant",
            Self::AssistantIp => "assistant-ip",
            Self::AssistantAll => "assistant-all",
            Self::NewsletterAll => "newsletter-all",
            Self::KeysAll => "keys-all",
            Self::NewsletterForm => "newsletter-form",
        }
    }

    /// The policy with this published name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name)
    }

    /// A stable number, for stored keys.
    pub const fn tag(self) -> u8 {
        self as u8
    }

    /// Which requests share a window.
    pub const fn counted_by(self) -> CountedBy {
        match self {
            Self::Default => CountedBy::Client,
            Self::Ip
            | Self::Keys
            | Self::Agents
            | Self::NewsletterIp
            | Self::NewsletterForm
            | Self::AssistantIp => CountedBy::Network,
            Self::Newsletter => CountedBy::SignUp,
            Self::Assistant => CountedBy::Visitor,
            Self::AssistantAll | Self::NewsletterAll | Self::KeysAll => CountedBy::Everyone,
        }
    }

    /// Whether it counts by network alone. When a model or a provider fails, its charges are not
    /// refunded, which bounds the refunds under every other policy.
    pub const fn counts_networks(self) -> bool {
        matches!(self.counted_by(), CountedBy::Network)
    }

    /// The quota unless the operator configures another.
    pub const fn default_quota(self) -> Quota {
        const MINUTE_MS: u64 = 60_000;
        const HOUR_MS: u64 = 60 * MINUTE_MS;
        let (count, window_ms) = match self {
            Self::Default => (600, MINUTE_MS),
            Self::Ip => (1800, MINUTE_MS),
            Self::Keys | Self::Agents => (60, HOUR_MS),
            Self::Newsletter => (8, 15 * MINUTE_MS),
            Self::NewsletterIp => (120, 15 * MINUTE_MS),
            Self::NewsletterForm => (3, 15 * MINUTE_MS),
            Self::Assistant => (10, 24 * HOUR_MS),
            Self::AssistantIp => (200, 24 * HOUR_MS),
            Self::AssistantAll => (5000, 24 * HOUR_MS),
            // More than a very busy launch day needs, and less than one IPv6 /48 could send. The window
            // is short, because a client that uses it up locks all others out.
            Self::NewsletterAll => (10_000, HOUR_MS),
            Self::KeysAll => (5000, HOUR_MS),
        };
        Quota { count, window_ms }
    }
}

/// Which requests a policy counts together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedBy {
    /// The requests of one credential, or of one network without any.
    Client,
    /// The turns of one visitor; of programs, those of one client.
    Visitor,
    /// The sign-ups of one address from one network.
    SignUp,
    /// The requests of one network.
    Network,
    /// All requests.
    Everyone,
}

impl CountedBy {
    /// The same in words, as in "the policy allows 10 in 60 seconds for each network".
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "for each client",
            Self::Visitor => "for each visitor",
            Self::SignUp => "for each e-mail address and network",
            Self::Network => "for each network",
            Self::Everyone => "for all clients together",
        }
    }
}

/// At most `count` in any interval of `window_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    count: u32,
    window_ms: u64,
}

/// A quota that does not parse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    /// Not `COUNT/WINDOW`.
    #[error("must be COUNT/WINDOW, such as 8/15m")]
    Malformed,
    /// The count is out of range.
    #[error("COUNT must be 1 to {}", Quota::COUNT_MAX)]
    Count,
    /// The window is no length of time, or out of range.
    #[error("WINDOW must be a number with s, m, h or d, from 1s to 366d")]
    Window,
}

impl Quota {
    /// The largest count.
    pub const COUNT_MAX: u32 = 1_000_000_000;

    /// The longest window, in milliseconds: 366 days.
    pub const WINDOW_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1000;

    /// That of a proof of work: it counts once for as long as it is good.
    pub const PROOF: Self = Self {
        count: 1,
        window_ms: proof_of_work::LIFETIME_MS,
    };

    /// `count` in any `window_ms` milliseconds.
    ///
    /// # Errors
    /// [`QuotaError`] when either is out of range.
    pub fn new(count: u32, window_ms: u64) -> Result<Self, QuotaError> {
        if count == 0 || count > Self::COUNT_MAX {
            return Err(QuotaError::Count);
        }
        if !(1000..=Self::WINDOW_MS_MAX).contains(&window_ms) {
            return Err(QuotaError::Window);
        }
        Ok(Self { count, window_ms })
    }

    /// The count.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The window in milliseconds.
    pub const fn window_ms(self) -> u64 {
        self.window_ms
    }

    /// The window in seconds; windows are whole seconds.
    pub const fn window_s(self) -> u64 {
        self.window_ms / 1000
    }
}

impl FromStr for Quota {
    type Err = QuotaError;

    fn from_str(text: &str) -> Result<Self, QuotaError> {
        let (count, window) = text.split_once('/').ok_or(QuotaError::Malformed)?;
        let count = parse_digits(count).ok_or(QuotaError::Count)?;
        let count = u32::try_from(count).map_err(|_too_large| QuotaError::Count)?;
        let window_ms = parse_duration_ms(window).ok_or(QuotaError::Window)?;
        Self::new(count, window_ms)
    }
}

/// The form of the command line, in the largest unit that divides the window.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = UNITS_S
            .iter()
            .rev()
            .find(|(_, unit_s)| self.window_s().is_multiple_of(*unit_s))
            .map_or_else(
                || (self.window_s(), 's'),
                |(unit, unit_s)| (self.window_s() / unit_s, *unit),
            );
        write!(f, "{}/{number}{unit}", self.count)
    }
}

/// Units in seconds, shortest first.
const UNITS_S: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];

/// Parses a whole number with one unit, such as `15m` or `24h`; none if it does not fit.
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let (_, unit_s) = UNITS_S.into_iter().find(|(name, _)| *name == unit)?;
    let number = parse_digits(text.strip_suffix(unit)?)?;
    number.checked_mul(unit_s)?.checked_mul(1000)
}

/// A number of digits alone: `parse` would accept a sign too.
fn parse_digits(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

/// The quota of each policy; a policy that is off has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies([Option<Quota>; PolicyName::ALL.len()]);

impl Default for Policies {
    fn default() -> Self {
        Self(PolicyName::ALL.map(|policy| Some(policy.default_quota())))
    }
}

impl Policies {
    /// The quota of `policy`; none if it is off.
    pub fn quota(&self, policy: PolicyName) -> Option<Quota> {
        self.0.get(usize::from(policy.tag())).copied().flatten()
    }

    /// Sets or removes one policy.
    pub fn set(&mut self, policy: PolicyName, quota: Option<Quota>) {
        if let Some(slot) = self.0.get_mut(usize::from(policy.tag())) {
            *slot = quota;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_positions_in_the_table() {
        for (index, policy) in PolicyName::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(policy.tag()), index);
            assert_eq!(PolicyName::from_name(policy.as_str()), Some(policy));
            assert_eq!(
                Policies::default().quota(policy),
                Some(policy.default_quota())
            );
        }
        assert_eq!(PolicyName::from_name("Default"), None);
    }

    #[test]
    fn quotas_are_read_and_written_alike() {
        for (text, count, window_s) in [
            ("8/15m", 8, 900),
            ("1/1s", 1, 1),
            ("600/1m", 600, 60),
            ("1000000000/366d", 1_000_000_000, 366 * 86_400),
            ("5/90s", 5, 90),
        ] {
            let quota: Quota = text.parse().unwrap();
            assert_eq!((quota.count(), quota.window_s()), (count, window_s));
            assert_eq!(quota.to_string(), text);
        }
        assert_eq!("600/60s".parse::<Quota>().unwrap().to_string(), "600/1m");
    }

    #[test]
    fn bad_quotas_say_which_half_is_wrong() {
        for (text, error) in [
            ("", QuotaError::Malformed),
            ("8", QuotaError::Malformed),
            ("/15m", QuotaError::Count),
            ("0/15m", QuotaError::Count),
            ("-1/15m", QuotaError::Count),
            ("+1/15m", QuotaError::Count),
            ("1000000001/15m", QuotaError::Count),
            ("99999999999999999999/15m", QuotaError::Count),
            ("8/", QuotaError::Window),
            ("8/15", QuotaError::Window),
            ("8/m", QuotaError::Window),
            ("8/0s", QuotaError::Window),
            ("8/1.5h", QuotaError::Window),
            ("8/15M", QuotaError::Window),
            ("8/367d", QuotaError::Window),
            ("8/99999999999999999999d", QuotaError::Window),
            ("8/15m/1", QuotaError::Window),
            ("8/é", QuotaError::Window),
        ] {
            assert_eq!(text.parse::<Quota>(), Err(error), "{text:?}");
        }
    }
}
