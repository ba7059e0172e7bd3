//! The address of Redis or Valkey, as in `--limits`.

use redis::{ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo};

use crate::domain::macros::hidden;

/// The error about an address, which may contain a password and is not quoted.
const MALFORMED: &str = "must be like redis://HOST:6379 or, with TLS, rediss://USER:PASSWORD@HOST:6379/DATABASE: a \
     single Redis or Valkey, optionally with replicas behind its name, but no cluster; an IPv6 address in \
     brackets, the special characters of the user and the password percent-encoded, and no options after ?";

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
        let is_tls = text.starts_with("rediss://");
        let rest = text.strip_prefix("redis://");
        let rest = rest.or_else(|| text.strip_prefix("rediss://"));
        // The library would drop control characters, and accept others as part of the host.
        let is_bad = |c: char| c.is_ascii_control() || " ?#".contains(c);
        let rest = rest.filter(|rest| !rest.contains(is_bad));
        // TLS is handled by this program.
        let info = rest.and_then(|rest| ["redis://", rest].concat().into_connection_info().ok());
        let info = info.ok_or(MALFORMED)?;
        let login = info.redis_settings().clone();
        let (ConnectionAddr::Tcp(host, port @ 1..), 0..) = (info.addr(), login.db()) else {
            return Err(MALFORMED);
        };
        let is_of_host = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
        if !host.chars().all(is_of_host) {
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
    use crate::rows::rows;

    const ADDRESSES: &str = r#"
redis://a                    | false a 6379 None None 0
rediss://a.example/          | true a.example 6379 None None 0
redis://:p%40ss:w@10.0.0.1:1/15 | false 10.0.0.1 1 None Some("p@ss:w") 15
redis://u@h_1:65535          | false h_1 65535 Some("u") None 0
redis://u:p@x@[::1]:7000/1   | false ::1 7000 Some("u") Some("p@x") 1
"#;

    #[test]
    fn addresses_say_where_how_and_as_whom() {
        for [text, expected] in rows(ADDRESSES) {
            let address = RedisAddress::parse(text).unwrap();
            let RedisAddress {
                is_tls, host, port, ..
            } = &address;
            let (user, password) = (address.login.username(), address.login.password());
            let base = address.login.db();
            let found = format!("{is_tls} {host} {port} {user:?} {password:?} {base}");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn bad_addresses_say_what_is_wrong_and_repeat_nothing() {
        let spaced = ["", "redis://se cret", "redis://:se\tcret@a"];
        let words = "secret secret:6379 http://secret REDIS://secret redis:/secret valkey://secret
            redis:// redis:///1 redis://:secret@ redis://:secret@:6379 redis://${SECRET}
            redis://a;secret redis://münchen redis://::1 redis://[::1 redis://[secret]
            redis://a:0 redis://a:+1 redis://a:65536 redis://a:secret redis://[::1]6379 redis://a,b
            redis-cluster://secret rediss-cluster://:secret@a,b redis://%ff@a redis://:%ffsecret@a
            redis://a/secret redis://a/-1 redis://a/1/2 redis://a/99999999999999999999
            redis://a?secret=1 rediss://a#insecure";
        for text in spaced.into_iter().chain(words.split_whitespace()) {
            let refused = RedisAddress::parse(text).map(drop);
            assert_eq!(refused, Err(MALFORMED), "{text}");
        }
    }

    #[test]
    fn an_address_that_is_printed_hides_its_password() {
        let address = RedisAddress::parse("redis://user:secret@host").unwrap();
        let text = format!("{address:?}");
        assert!(!text.contains("secret") && !text.contains("host"), "{text}");
    }
}
