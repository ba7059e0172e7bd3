//! The address of Redis or Valkey, as in `--limits`.

use std::net::Ipv6Addr;

use percent_encoding::percent_decode_str;

use crate::domain::macros::hidden;

/// The port where none is given.
const DEFAULT_PORT: u16 = 6379;

// What is wrong with an address. No text repeats it, because it may hold a password.
const SCHEME: &str = "must begin with redis:// or rediss://";
const CLUSTER: &str =
    "a single Redis or Valkey with replicas behind one name is supported, clusters are not";
const HOST: &str = "must name a host, as in redis://HOST:6379; an IPv6 address stands in brackets";
const PORT: &str = "the port must be a number from 1 to 65535";
const LOGIN: &str = "the user and the password must be percent-encoded UTF-8, as %40 for @";
const DATABASE: &str = "after the host only the number of a database may follow";
const OPTIONS: &str = "takes no options after ? or #";

/// Where the windows are: the primary's name, which may come to mean another server.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisAddress {
    pub(super) is_tls: bool,
    /// A name, an IPv4 address or an IPv6 address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: i64,
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
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':')) {
            Some(Some((user, password))) => (decode(user)?, decode(password)?),
            Some(None) => (decode(login.unwrap_or_default())?, None),
            None => (None, None),
        };
        if server.contains(',') {
            return Err(CLUSTER);
        }
        let (host, port) = parse_server(server)?;
        let database = match path {
            "" => 0,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map_err(|_too_large| DATABASE)?
            }
            _ => return Err(DATABASE),
        };
        Ok(Self {
            is_tls,
            host,
            port,
            user,
            password,
            database,
        })
    }
}

fn parse_server(text: &str) -> Result<(String, u16), &'static str> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(HOST)?;
            host.parse::<Ipv6Addr>().map_err(|_not_ipv6| HOST)?;
            (host, port)
        }
        None => {
            let (host, port) = text.split_at(text.find(':').unwrap_or(text.len()));
            let is_name =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            if host.is_empty() || !host.bytes().all(is_name) {
                return Err(HOST);
            }
            (host, port)
        }
    };
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port != 0).ok_or(PORT)?
        }
        None if port.is_empty() => DEFAULT_PORT,
        Some(_) | None => return Err(PORT),
    };
    Ok((host.to_owned(), port))
}

/// None if it is empty.
fn decode(text: &str) -> Result<Option<String>, &'static str> {
    let decoded = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_not_utf8| LOGIN)?;
    Ok(Some(decoded.into_owned()).filter(|decoded| !decoded.is_empty()))
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
            assert_eq!(address.user.as_deref(), user, "{text}");
            assert_eq!(address.password.as_deref(), password, "{text}");
            assert_eq!(address.database, database, "{text}");
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
            ("redis://", HOST),
            ("redis:///1", HOST),
            ("redis://:secret@", HOST),
            ("redis://:secret@:6379", HOST),
            ("redis://se cret", HOST),
            ("redis://::1", HOST),
            ("redis://[::1", HOST),
            ("redis://[secret]", HOST),
            ("redis://a:", PORT),
            ("redis://a:0", PORT),
            ("redis://a:+1", PORT),
            ("redis://a:65536", PORT),
            ("redis://a:secret", PORT),
            ("redis://[::1]6379", PORT),
            ("redis://a,b", CLUSTER),
            ("redis-cluster://secret", CLUSTER),
            ("rediss-cluster://:secret@a,b", CLUSTER),
            ("redis://%ff@a", LOGIN),
            ("redis://:%ffsecret@a", LOGIN),
            ("redis://a/secret", DATABASE),
            ("redis://a/-1", DATABASE),
            ("redis://a/1/2", DATABASE),
            ("redis://a/99999999999999999999", DATABASE),
            ("redis://a?secret=1", OPTIONS),
            ("rediss://a#insecure", OPTIONS),
        ] {
            assert_eq!(RedisAddress::parse(text), Err(error), "{text}");
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
