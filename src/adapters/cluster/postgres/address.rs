//! The URL of a database, and its other settings.

use std::error::Error as _;

use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Config, Error};

use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::Roots;
use crate::domain::{MacKey, is_this_machine, macros::hidden};

/// Name of these connections in the database's own lists.
const APPLICATION: &str = "landing-api";
const PORT: u16 = 5432;

/// A database on one or several hosts, one of which is writable. Its text is not shown, since it may contain a
/// password.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    /// The hosts and the database as in the URL, for the log.
    pub(super) name: String,
}

/// The settings of the store.
#[derive(Clone)]
pub struct PostgresSettings {
    pub address: PostgresAddress,
    /// The file with the password, unless the address contains it.
    pub password_file: Option<PasswordFile>,
    /// The certificate authorities of the servers, if [`PostgresAddress::may_use_tls`].
    pub roots: Roots,
    /// The keys that hash forgotten addresses, the current one first.
    pub tombstone_keys: Vec<MacKey>,
    /// The ids of the accepted secrets, the current one first.
    pub secret_ids: Vec<String>,
}

// Errors about a URL. No text quotes it.
const MALFORMED: &str = "must be like postgres://user@host:5432/database, with the special characters of each part \
     percent-encoded, and sslmode=disable, prefer, require or verify-full (certificates are verified with the \
     system's authorities, those of --store-ca, or those of SSL_CERT_FILE)";
const BAD_ATTRIBUTES: &str = "target_session_attrs must be read-write: sign-ups are written";

impl PostgresAddress {
    /// Parses `postgres://` or `postgresql://`, with one or several hosts. Certificates are always verified with TLS,
    /// so `sslmode=verify-full`, `verify-ca` and `require` mean the same. The default is `require`, and on this
    /// machine `disable`. Only a writable host is used, even without `target_session_attrs`.
    ///
    /// # Errors
    /// The problem, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
            return Err(MALFORMED.to_owned());
        }
        // The driver has no names for what it does with its TLS connector, and an older one for a primary.
        let query = query.replace("sslmode=verify-full", "sslmode=require");
        let query = query.replace("sslmode=verify-ca", "sslmode=require");
        let query = query.replace(
            "target_session_attrs=primary",
            "target_session_attrs=read-write",
        );
        let config = [base, "?", &query].concat().parse();
        let mut config: Config = config.map_err(|error| refusal(&query, &error))?;
        if config.get_target_session_attrs() == TargetSessionAttrs::ReadOnly {
            return Err(BAD_ATTRIBUTES.to_owned());
        }
        let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
        if config.get_user().is_none_or(str::is_empty)
            || hosts.is_empty()
            || hosts.iter().any(is_malformed)
            || query.contains('@')
            || !addresses.is_empty()
        {
            return Err(MALFORMED.to_owned());
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Somebody in between could turn off TLS that is only preferred.
            let is_local = hosts.iter().all(is_local);
            config.ssl_mode(match is_local {
                true => SslMode::Disable,
                false => SslMode::Require,
            });
        }
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        Ok(Self {
            config,
            name: base.rsplit('@').next().unwrap_or_default().to_owned(),
        })
    }

    /// True if a connection uses TLS, which needs certificate authorities.
    pub fn may_use_tls(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }

    /// The hosts with their ports.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (&Host, u16)> {
        let ports = self.config.get_ports();
        let port = |place| *ports.get(place).or_else(|| ports.first()).unwrap_or(&PORT);
        let hosts = self.config.get_hosts().iter().enumerate();
        hosts.map(move |(place, host)| (host, port(place)))
    }
}

hidden!(PostgresAddress);

/// Names a parameter that the driver does not know, unless that may be a part of a password. Its other errors may
/// quote the URL, too.
fn refusal(query: &str, error: &Error) -> String {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let unknown = cause.strip_prefix("unknown option `");
    match unknown.and_then(|name| name.strip_suffix('`')) {
        Some(name) if !query.contains('@') && !query.contains("password=") => {
            format!("has an unsupported parameter {name}: remove it. The URL {MALFORMED}")
        }
        _ => MALFORMED.to_owned(),
    }
}

/// True if a part of the user or the password was taken for the host, or there is none.
fn is_malformed(host: &Host) -> bool {
    matches!(host, Host::Tcp(name) if name.is_empty() || name.contains('@'))
}

fn is_local(host: &Host) -> bool {
    let Host::Tcp(name) = host else { return true };
    is_this_machine(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> PostgresAddress {
        PostgresAddress::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn each_host_gets_all_that_the_url_says() {
        let address = parse("postgresql://ada:p%40ss@one,two:6543/base?sslmode=verify-full");
        let hosts =
            [("one", 5432), ("two", 6543)].map(|(name, port)| (Host::Tcp(name.to_owned()), port));
        assert!(
            address
                .hosts()
                .eq(hosts.iter().map(|(host, port)| (host, *port)))
        );
        let config = &address.config;
        assert_eq!(config.get_user(), Some("ada"));
        assert_eq!(config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(config.get_dbname(), Some("base"));
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
        assert_eq!(config.get_application_name(), Some("landing-api"));
    }

    #[test]
    fn tls_is_used_as_the_url_says() {
        for (parameters, may) in [
            ("", true),
            ("?sslmode=prefer", true),
            ("?sslmode=require&channel_binding=require", true),
            ("?sslmode=verify-ca", true),
            ("?sslmode=disable&target_session_attrs=any", false),
            ("?sslmode=disable&target_session_attrs=primary", false),
        ] {
            let address = parse(&format!("postgres://ada@one/base{parameters}"));
            assert_eq!(address.may_use_tls(), may, "{parameters}");
            let mode = address.config.get_ssl_mode();
            assert_eq!(mode == SslMode::Require, may, "{parameters}");
        }
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(!parse(&format!("postgres://ada@{host}/base")).may_use_tls());
            assert!(parse(&format!("postgres://ada@{host}/base?sslmode=require")).may_use_tls());
        }
        assert!(!parse("postgres://ada@%2Frun%2Fpostgresql/base").may_use_tls());
        assert!(parse("postgres://ada@localhost,one/base").may_use_tls());
    }

    #[test]
    fn other_texts_are_refused_and_never_repeated() {
        let words = "one/base mysql://ada:hunter2@one/base postgres:ada@one postgres:// postgres://one/base
            postgres://:hunter2@one/base postgres://ada:hunter2@/base postgres://ada@one,/base
            postgres://ada:hunter2@x@one/base postgres://ada@one:port/base postgres://ada@one:65536/base
            postgres://ada@one:1,two:2,/base?port=3 postgres://%ff@one/base postgres://ada:hunter2?x@one/base
            postgres://ada:x?hunter2=x@one/base postgres://ada@one/base?hostaddr=192.0.2.1
            postgres://ada@one/base?sslmode=hunter2 postgres://ada@one/base?sslmode
            postgres://ada@one/base?sslmode=allow postgres://ada@one/base?keepalives=often
            postgres://ada@one/base?password=x&hunter2=x";
        let spaced = ["", "host=one user=ada password=hunter2"];
        let malformed = spaced.into_iter().chain(words.split_whitespace());
        let malformed = malformed.map(|text| (text, MALFORMED));
        let attributes = "postgres://ada@one/base?target_session_attrs=read-only";
        for (text, expected) in malformed.chain([(attributes, BAD_ATTRIBUTES)]) {
            let refused = PostgresAddress::parse(text);
            assert_eq!(refused.map(drop), Err(expected.to_owned()), "{text}");
            assert!(!expected.contains("hunter2"));
        }
        for name in ["pgbouncer", "sslrootcert"] {
            let text = format!("postgres://ada:hunter2@one/base?sslmode=require&{name}=hunter2");
            let expected =
                format!("has an unsupported parameter {name}: remove it. The URL {MALFORMED}");
            assert_eq!(PostgresAddress::parse(&text).map(drop), Err(expected));
        }
        let shown = format!("{:?}", parse("postgres://ada:hunter2@one/base"));
        assert_eq!(shown, "PostgresAddress(..)");
    }
}
