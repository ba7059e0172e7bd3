//! The address of Redis or Valkey, as in `--limits`.

use std::net::IpAddr;

use redis::{ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo};

use crate::domain::macros::hidden;

// Errors about an address. No text quotes it, because it may contain a password.
const SCHEME: &str = "must begin with redis:// or rediss://";
const CLUSTER: &str =
    "a single Redis or Valkey with replicas behind one name is supported, clusters are not";
const OPTIONS: &str = "takes no options after ? or #";
const MALFORMED: &str = "must be like redis://HOST:6379 or redis://USER:PASSWORD@HOST:6379/DATABASE: an IPv6 address in \
     brackets, the special characters of the user and the password percent-encoded, as %40 for @, and after the host \
     only the number of a database";

/// The location of the windows: the primary's name, which may move to another server.
#[derive(Clone)]
pub struct RedisAddress {
    pub(super) is_tls: bool,
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The user, the password and the database.
    pub(super) login: RedisConnectionInfo,
}

impl RedisAddress {
    /// Parses `redis://[USER][:PASSWORD]@HOST[:PORT][/DATABASE]`; `rediss` with TLS.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or(SCHEME)?;
        let is_tls = match scheme {
            "redis" => false,
            "rediss" => true,
            "redis-cluster" | "rediss-cluster" => return Err(CLUSTER),
            _ => return Err(SCHEME),
        };
        if rest.contains(['?', '#']) {
            return Err(OPTIONS);
        }
        let server = rest.rsplit('@').next().unwrap_or_default();
        if server.contains(',') {
            return Err(CLUSTER);
        }
        if server
            .split('/')
            .next()
            .is_some_and(|server| server.ends_with(':'))
        {
            return Err(MALFORMED);
        }
        // The parser would drop control characters, and accept spaces as part of the host.
        if rest.contains(|c: char| c.is_ascii_control() || c == ' ') {
            return Err(MALFORMED);
        }
        // TLS is handled by this program.
        let info = ["redis://", rest].concat().into_connection_info();
        let info = info.map_err(|_may_quote_it| MALFORMED)?;
        let login = info.redis_settings().clone();
        let (ConnectionAddr::Tcp(host, port @ 1..), 0..) = (info.addr(), login.db()) else {
            return Err(MALFORMED);
        };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        if host.parse::<IpAddr>().is_err() && !host.chars().all(is_of_name) {
            return Err(MALFORMED);
        }
        Ok(Self {
            is_tls,
            host: host.clone(),
            port: *port,
            login,
        })
    }
}

hidden!(RedisAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_how_and_as_whom() {
        for (text, is_tls, host, port, user, password, database) in [
            ("redis://a", false, "a", 6379, None, None, 0),
            (
                "rediss://a.example/",
                true,
                "a.example",
                6379,
                None,
                None,
                0,
            ),
            (
                "redis://:p%40ss:w@10.0.0.1:1/15",
                false,
                "10.0.0.1",
                1,
                None,
                Some("p@ss:w"),
                15,
            ),
            (
                "redis://u@h_1:65535",
                false,
                "h_1",
                65535,
                Some("u"),
                None,
                0,
            ),
            (
                "redis://u:p@x@[::1]:7000/1",
                false,
                "::1",
                7000,
                Some("u"),
                Some("p@x"),
                1,
            ),
        ] {
            let address = RedisAddress::parse(text).unwrap();
            assert_eq!(address.is_tls, is_tls, "{text}");
            assert_eq!(
                (address.host.as_str(), address.port),
                (host, port),
                "{text}"
            );
            assert_eq!(address.login.username(), user, "{text}");
            assert_eq!(address.login.password(), password, "{text}");
            assert_eq!(address.login.db(), database, "{text}");
        }
    }

    #[test]
    fn bad_addresses_say_what_is_wrong_and_repeat_nothing() {
        for (text, error) in [
            ("", SCHEME),
            ("secret", SCHEME),
            ("secret:6379", SCHEME),
            ("http://secret", SCHEME),
            ("REDIS://secret", SCHEME),
            ("redis:/secret", SCHEME),
            ("valkey://secret", SCHEME),
            ("redis://", MALFORMED),
            ("redis:///1", MALFORMED),
            ("redis://:secret@", MALFORMED),
            ("redis://:secret@:6379", MALFORMED),
            ("redis://se cret", MALFORMED),
            ("redis://:se\tcret@a", MALFORMED),
            ("redis://${SECRET}", MALFORMED),
            ("redis://a;secret", MALFORMED),
            ("redis://münchen", MALFORMED),
            ("redis://::1", MALFORMED),
            ("redis://[::1", MALFORMED),
            ("redis://[secret]", MALFORMED),
            ("redis://a:", MALFORMED),
            ("redis://a:0", MALFORMED),
            ("redis://a:+1", MALFORMED),
            ("redis://a:65536", MALFORMED),
            ("redis://a:secret", MALFORMED),
            ("redis://[::1]6379", MALFORMED),
            ("redis://a,b", CLUSTER),
            ("redis-cluster://secret", CLUSTER),
            ("rediss-cluster://:secret@a,b", CLUSTER),
            ("redis://%ff@a", MALFORMED),
            ("redis://:%ffsecret@a", MALFORMED),
            ("redis://a/secret", MALFORMED),
            ("redis://a/-1", MALFORMED),
            ("redis://a/1/2", MALFORMED),
            ("redis://a/99999999999999999999", MALFORMED),
            ("redis://a?secret=1", OPTIONS),
            ("rediss://a#insecure", OPTIONS),
        ] {
            let refused = RedisAddress::parse(text).map(drop);
            assert_eq!(refused, Err(error), "{text}");
            assert!(!error.contains("secret"));
        }
    }

    #[test]
    fn an_address_that_is_printed_hides_its_password() {
        let address = RedisAddress::parse("redis://user:secret@host").unwrap();
        let text = format!("{address:?}");
        assert!(!text.contains("secret") && !text.contains("host"), "{text}");
    }
}
