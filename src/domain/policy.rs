//! The rate-limit policies.

use std::fmt;
use std::str::FromStr;

use super::macros::names;
use super::time::{DAY_MS, TimeUnit, parse_digits, parse_duration_ms};

macro_rules! policies {
    ($(
        $(#[$doc:meta])*
        $policy:ident $name:literal: $count:literal in $window_s:expr, $by:ident, $counted:literal;
    )+) => {
        names! {
            /// The name of a policy, as in responses, documents and flags.
            pub enum PolicyName { $($(#[$doc])* $policy => $name,)+ }
        }

        impl PolicyName {
            /// Default quota.
            pub const fn default_quota(self) -> Quota {
                let (count, window_s) = match self { $(Self::$policy => ($count, $window_s),)+ };
                Quota { count, window_ms: 1000 * window_s }
            }

            /// The requests that share a window.
            pub const fn counted_by(self) -> CountedBy {
                match self { $(Self::$policy => CountedBy::$by,)+ }
            }

            /// The requests counted and their key, in the words of the documents.
            pub const fn counted(self) -> &'static str {
                match self { $(Self::$policy => $counted,)+ }
            }
        }
    };
}

const MINUTE_S: u64 = TimeUnit::Minute.seconds();
const HOUR_S: u64 = TimeUnit::Hour.seconds();
const DAY_S: u64 = TimeUnit::Day.seconds();

// All of a policy but its use. Stored keys contain positions in the table, so a new policy goes last.
policies! {
    Default "default": 600 in MINUTE_S, Client,
        "every request, by valid credential, else by IP address";
    /// Bounds what a client gains by issuing itself more keys.
    Ip "ip": 1800 in MINUTE_S, Network, "every request, by IP address";
    Keys "keys": 60 in HOUR_S, Network, "API keys issued, by IP address";
    Agents "agents": 60 in HOUR_S, Network,
        "agent registrations and the tokens issued to agents, by IP address";
    Newsletter "newsletter": 8 in 15 * MINUTE_S, SignUp,
        "newsletter sign-ups, by IP address and email address together";
    NewsletterIp "newsletter-ip": 120 in 15 * MINUTE_S, Network,
        "newsletter sign-ups, by IP address";
    Assistant "assistant": 10 in DAY_S, Visitor,
        "chat messages, by quota cookie, else by valid credential; over MCP by valid credential, else by IP address";
    /// Bounds what a visitor gains by dropping the cookie.
    AssistantIp "assistant-ip": 200 in DAY_S, Network, "chat messages, by IP address";
    /// Chat turns that cost the operator money.
    AssistantAll "assistant-all": 5000 in DAY_S, Everyone,
        "chat messages sent to a language model, all visitors together";
    /// Bounds what a client with many networks can store: more than a very busy launch day needs, and less
    /// than one IPv6 /48 could send. The window is short, because a client that uses it up locks out all
    /// others.
    NewsletterAll "newsletter-all": 10_000 in HOUR_S, Everyone,
        "newsletter sign-ups, all clients together";
    /// The same bound for keys.
    KeysAll "keys-all": 5000 in HOUR_S, Everyone, "API keys issued, all clients together";
    /// Past it the emails of that network wait, while those of others go out.
    MailPrefix "mail-prefix": 125 in HOUR_S, Prefix,
        "confirmation emails, by IPv4 /24 or IPv6 /48";
    NewsletterPrefix "newsletter-prefix": 2500 in HOUR_S, Prefix,
        "newsletter sign-ups, by IPv4 /24 or IPv6 /48";
    KeysPrefix "keys-prefix": 1250 in HOUR_S, Prefix, "API keys issued, by IPv4 /24 or IPv6 /48";
    AssistantPrefix "assistant-prefix": 1250 in DAY_S, Prefix,
        "chat messages sent to the language model, by IPv4 /24 or IPv6 /48";
    /// Past it the sign-up is accepted, but no further email goes to the address.
    Mail "mail": 2 in DAY_S, Address,
        "confirmation emails, by email address, from all networks together";
    /// Past it the sign-up is taken, and its mail waits.
    MailAll "mail-all": 500 in HOUR_S, Everyone, "confirmation emails, all together";
}

/// Policies that count all clients together, each with the one that keeps a prefix from using it up. Unless
/// the operator sets that, it is a quarter.
const PREFIX_POLICIES: [(PolicyName, PolicyName); 4] = [
    (PolicyName::NewsletterAll, PolicyName::NewsletterPrefix),
    (PolicyName::KeysAll, PolicyName::KeysPrefix),
    (PolicyName::AssistantAll, PolicyName::AssistantPrefix),
    (PolicyName::MailAll, PolicyName::MailPrefix),
];

names! {
    /// Key by which a policy groups requests, in words as in "the policy allows 10 in 60 seconds for each
    /// network".
    pub enum CountedBy {
        /// The requests of one credential, or of one network without a credential.
        Client => "for each client",
        /// The turns of one visitor, or of one client that is a program.
        Visitor => "for each visitor",
        /// The sign-ups of one address from one network.
        SignUp => "for each email address and network",
        /// The emails to one mailbox, from whatever network.
        Address => "for each email address",
        /// The requests of one IPv4 address or IPv6 /56.
        Network => "for each network",
        /// The requests of one IPv4 /24 or IPv6 /48. A /48 is the most that one customer usually gets.
        Prefix => "for each IPv4 /24 or IPv6 /48",
        /// All requests.
        Everyone => "for all clients together",
    }
}

/// The fault of a quota.
const MALFORMED: &str = "must be COUNT/WINDOW, such as 8/15m: COUNT from 1 to 1000000000, WINDOW a number with s, m, h or d, \
     from 1s to 366d";

/// At most `count` in any interval of `window_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    count: u32,
    window_ms: u64,
}

impl Quota {
    pub const COUNT_MAX: u32 = 1_000_000_000;

    pub const WINDOW_MS_MAX: u64 = 366 * DAY_MS;

    /// `count` in any `window_ms` milliseconds; `None` beyond the limits of both.
    pub fn new(count: u32, window_ms: u64) -> Option<Self> {
        let is_count = (1..=Self::COUNT_MAX).contains(&count);
        let is_window = (1000..=Self::WINDOW_MS_MAX).contains(&window_ms);
        (is_count && is_window).then_some(Self { count, window_ms })
    }

    pub const fn count(self) -> u32 {
        self.count
    }

    pub const fn window_ms(self) -> u64 {
        self.window_ms
    }

    const fn quarter(self) -> Self {
        let count = self.count.div_ceil(4);
        Self { count, ..self }
    }

    /// The window in seconds; windows are whole seconds.
    pub const fn window_s(self) -> u64 {
        self.window_ms / 1000
    }
}

impl FromStr for Quota {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let (count, window) = text.split_once('/').ok_or(MALFORMED)?;
        let count = parse_digits(count).and_then(|count| u32::try_from(count).ok());
        let quota = count.zip(parse_duration_ms(window));
        let quota = quota.and_then(|(count, window_ms)| Self::new(count, window_ms));
        quota.ok_or(MALFORMED)
    }
}

/// The command line's form, in the largest unit that divides the window.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = TimeUnit::largest(self.window_s());
        write!(f, "{}/{number}{}", self.count, unit.letter())
    }
}

/// The quota of each policy; `None` if it is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies([Option<Quota>; PolicyName::ALL.len()]);

impl Default for Policies {
    fn default() -> Self {
        Self(PolicyName::ALL.map(|policy| Some(policy.default_quota())))
    }
}

impl Policies {
    /// The quota of `policy`; `None` if it is off.
    pub fn quota(&self, policy: PolicyName) -> Option<Quota> {
        self.0.get(policy as usize).copied().flatten()
    }

    /// Sets or removes each of `given`; the last one of a name counts. The policies by prefix follow those of
    /// all clients together.
    pub fn configure(&mut self, given: &[(PolicyName, Option<Quota>)]) {
        for &(policy, quota) in given {
            self.set(policy, quota);
        }
        for (of_all, of_prefix) in PREFIX_POLICIES {
            if given.iter().all(|&(policy, _)| policy != of_prefix) {
                self.set(of_prefix, self.quota(of_all).map(Quota::quarter));
            }
        }
    }

    /// Sets or removes one policy.
    pub fn set(&mut self, policy: PolicyName, quota: Option<Quota>) {
        if let Some(slot) = self.0.get_mut(policy as usize) {
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
            assert_eq!(policy as usize, index);
            assert_eq!(PolicyName::from_name(policy.as_str()), Some(policy));
            assert_eq!(
                Policies::default().quota(policy),
                Some(policy.default_quota())
            );
        }
        assert_eq!(PolicyName::from_name("Default"), None);
    }

    #[test]
    fn a_prefix_has_a_quarter_of_what_all_have_unless_it_is_given() {
        let configured = |given: &[(PolicyName, Option<Quota>)]| {
            let mut policies = Policies::default();
            policies.configure(given);
            policies
        };
        assert_eq!(configured(&[]), Policies::default());
        let quota = |text: &str| Some(text.parse::<Quota>().unwrap());
        for (of_all, of_prefix) in PREFIX_POLICIES {
            for (all, prefix) in [(quota("9/1h"), quota("3/1h")), (None, None)] {
                assert_eq!(configured(&[(of_all, all)]).quota(of_prefix), prefix);
                let given = [(of_prefix, quota("7/1h")), (of_all, all)];
                assert_eq!(configured(&given).quota(of_prefix), quota("7/1h"));
                let off = configured(&[(of_all, quota("9/1h")), (of_prefix, None)]);
                assert_eq!(off.quota(of_prefix), None);
            }
        }
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
    fn bad_quotas_are_told_the_form() {
        assert!(MALFORMED.contains(&format!(" {},", Quota::COUNT_MAX)));
        let bad = "|8|/15m|0/15m|-1/15m|+1/15m|1000000001/15m|99999999999999999999/15m|8/|8/15|8/m|8/0s|\
                   8/1.5h|8/15M|8/367d|8/99999999999999999999d|8/15m/1|8/é";
        for text in bad.split('|') {
            assert_eq!(text.parse::<Quota>(), Err(MALFORMED), "{text:?}");
        }
    }
}
