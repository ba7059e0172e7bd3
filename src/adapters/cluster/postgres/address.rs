//! The URL of a database, and its other settings.

use std::net::IpAddr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::Roots;
use crate::domain::{MacKey, macros::hidden};

/// Name of these connections in the database's own lists.
const APPLICATION: &str = "landing-api";
/// Prefix of the name of a node's connections, by which nodes are counted; a random number follows.
pub(super) const NODE_PREFIX: &str = "landing-api/";
const PORT: u16 = 5432;

/// Supported parameters of a URL. A password belongs in a file, but may be in the URL.
const PARAMETERS: &str = "application_name channel_binding connect_timeout dbname host keepalives \
     keepalives_idle options password port sslmode sslnegotiation target_session_attrs user";

/// A database on one or several hosts, one of which is writable. Its text is not shown, since it may contain a
/// password.
#[derive(Clone)]
pub struct PostgresAddress {
    /// Its hosts and ports are ignored.
    config: Config,
    pub(super) hosts: Vec<(Host, u16)>,
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
const BAD_SCHEME: &str = "must be a URL such as postgres://user@host/database";
const MALFORMED: &str = "is not the URL of a PostgreSQL database: it must be like \
     postgres://user@host:5432/database, with the special characters of each part percent-encoded";
const NO_HOST: &str = "names no host: it must be like postgres://user@host/database";
const NO_USER: &str = "names no user: it must be like postgres://user@host/database";
const BAD_PARAMETER: &str = "has a parameter that is not supported: leave it out (sslmode and \
     target_session_attrs are supported; certificates are verified with the system's authorities, or \
     those of SSL_CERT_FILE)";
const BAD_SSL_MODE: &str = "sslmode must be disable, prefer, require or verify-full";
const BAD_ATTRIBUTES: &str = "target_session_attrs must be read-write: sign-ups are written";

impl PostgresAddress {
    /// Parses `postgres://` or `postgresql://`, with one or several hosts. Certificates are always verified with TLS,
    /// so `sslmode=verify-full`, `verify-ca` and `require` mean the same. The default is `require`, and on this
    /// machine `disable`. Only a writable host is used, even without `target_session_attrs`.
    ///
    /// # Errors
    /// The problem, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_known = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if !is_known {
            return Err(BAD_SCHEME);
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let parameters = query.split('&').filter(|text| !text.is_empty());
        let parameters: Vec<_> = parameters.map(parameter).collect::<Result<_, _>>()?;
        let known = [base, "?", &parameters.join("&")].concat();
        // No error of the driver is shown, because it may quote the URL.
        let config: Config = known.parse().map_err(|_may_quote_it| MALFORMED)?;
        if config.get_user().is_none_or(str::is_empty) {
            return Err(NO_USER);
        }
        Ok(Self {
            hosts: hosts(&config)?,
            config,
            name: base.rsplit('@').next().unwrap_or_default().to_owned(),
        })
    }

    /// True if a connection may use TLS, which needs certificate authorities.
    pub fn may_use_tls(&self) -> bool {
        let mut hosts = self.hosts.iter();
        hosts.any(|(host, _)| self.ssl_mode(host) != SslMode::Disable)
    }

    /// The same for a node of the service, with a random number that distinguishes its connections from others,
    /// unless the URL names them.
    #[must_use]
    pub fn of_node(mut self, id: u64) -> Self {
        if self.config.get_application_name().is_none() {
            let name = format!("{NODE_PREFIX}{id:016x}");
            self.config.application_name(name);
        }
        self
    }

    pub(super) fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// The login at one of the hosts, with this password if one is given.
    pub(super) fn config(&self, host: &Host, password: Option<&str>) -> Config {
        let mut config = self.config.clone();
        config.ssl_mode(self.ssl_mode(host));
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        if let Some(password) = password {
            config.password(password);
        }
        config
    }

    /// Somebody in between could turn off TLS that is only preferred.
    fn ssl_mode(&self, host: &Host) -> SslMode {
        match (host, self.config.get_ssl_mode()) {
            (Host::Unix(_), _) => SslMode::Disable,
            (Host::Tcp(name), SslMode::Prefer) if is_loopback(name) => SslMode::Disable,
            (Host::Tcp(_), SslMode::Prefer) => SslMode::Require,
            (Host::Tcp(_), given) => given,
        }
    }
}

hidden!(PostgresAddress);

/// A parameter in the driver's form.
fn parameter(text: &str) -> Result<&str, &'static str> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if !PARAMETERS.split(' ').any(|known| known == name) {
        return Err(BAD_PARAMETER);
    }
    match (name, value) {
        ("sslmode", "verify-full" | "verify-ca") => Ok("sslmode=require"),
        ("sslmode", "disable" | "prefer" | "require") => Ok(text),
        ("sslmode", _) => Err(BAD_SSL_MODE),
        ("target_session_attrs", "any" | "read-write" | "primary") => {
            Ok("target_session_attrs=read-write")
        }
        ("target_session_attrs", _) => Err(BAD_ATTRIBUTES),
        (_, _) => Ok(text),
    }
}

/// The hosts with their ports.
fn hosts(config: &Config) -> Result<Vec<(Host, u16)>, &'static str> {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    if hosts.is_empty() || hosts.contains(&Host::Tcp(String::new())) {
        return Err(NO_HOST);
    }
    let has_rest = |host: &Host| matches!(host, Host::Tcp(name) if name.contains('@'));
    if ports.len() > 1 && ports.len() != hosts.len() || hosts.iter().any(has_rest) {
        return Err(MALFORMED);
    }
    let port = |place| *ports.get(place).or_else(|| ports.first()).unwrap_or(&PORT);
    let hosts = hosts.iter().enumerate();
    Ok(hosts
        .map(|(place, host)| (host.clone(), port(place)))
        .collect())
}

fn is_loopback(name: &str) -> bool {
    let address = name.parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
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
        assert_eq!(address.hosts, hosts);
        for (host, _) in &hosts {
            let config = address.config(host, None);
            assert_eq!(config.get_user(), Some("ada"));
            assert_eq!(config.get_password(), Some(&b"p@ss"[..]));
            assert_eq!(config.get_dbname(), Some("base"));
            assert_eq!(config.get_ssl_mode(), SslMode::Require);
            assert_eq!(config.get_application_name(), Some("landing-api"));
        }
    }

    #[test]
    fn connections_of_a_node_have_a_name_of_its_own_unless_the_url_names_them() {
        for (parameter, name) in [
            ("", "landing-api/000000000000002a"),
            ("?application_name=landing-api", "landing-api"),
        ] {
            let address = parse(&format!("postgres://ada@one,two/base{parameter}"));
            let node = address.of_node(42);
            assert_eq!(
                node.config.get_application_name(),
                Some(name),
                "{parameter}"
            );
        }
    }

    #[test]
    fn the_password_is_in_one_place() {
        let without = parse("postgres://ada@one/base");
        let given = without.config(&without.hosts[0].0, Some("other"));
        assert_eq!(given.get_password(), Some(&b"other"[..]));
        for (text, has_password) in [
            ("postgres://ada@one/base", false),
            ("postgres://ada:hunter2@one,two/base", true),
            ("postgres://ada@one/base?password=hunter2", true),
        ] {
            assert_eq!(parse(text).has_password(), has_password, "{text}");
        }
    }

    #[test]
    fn tls_is_used_as_the_url_says() {
        for (parameters, may) in [
            ("", true),
            ("?sslmode=prefer", true),
            ("?sslmode=require&channel_binding=require", true),
            ("?sslmode=verify-ca", true),
            ("?sslmode=disable&target_session_attrs=any", false),
        ] {
            let address = parse(&format!("postgres://ada@one/base{parameters}"));
            assert_eq!(address.may_use_tls(), may, "{parameters}");
            let [(host, _)] = &address.hosts[..] else {
                panic!("{address:?}");
            };
            let mode = address.config(host, None).get_ssl_mode();
            assert_eq!(mode == SslMode::Require, may, "{parameters}");
        }
        for host in ["localhost", "127.0.0.1", "[::1]"] {
            assert!(!parse(&format!("postgres://ada@{host}/base")).may_use_tls());
            let asked = format!("postgres://ada@{host}/base?sslmode=require");
            assert!(parse(&asked).may_use_tls());
        }
        let socket = parse("postgres://ada@%2Frun%2Fpostgresql/base?sslmode=require");
        assert!(!socket.may_use_tls());
    }

    #[test]
    fn other_texts_are_refused_and_never_repeated() {
        for (text, expected) in [
            ("", BAD_SCHEME),
            ("one/base", BAD_SCHEME),
            ("mysql://ada:hunter2@one/base", BAD_SCHEME),
            ("host=one user=ada password=hunter2", BAD_SCHEME),
            ("postgres:ada@one", BAD_SCHEME),
            ("postgres://", NO_USER),
            ("postgres://one/base", NO_USER),
            ("postgres://:hunter2@one/base", NO_USER),
            ("postgres://ada:hunter2@/base", NO_HOST),
            ("postgres://ada@one,/base", NO_HOST),
            ("postgres://ada:hunter2@x@one/base", MALFORMED),
            ("postgres://ada@one:port/base", MALFORMED),
            ("postgres://ada@one:65536/base", MALFORMED),
            ("postgres://ada@one:1,two:2,/base?port=3", NO_HOST),
            ("postgres://%ff@one/base", MALFORMED),
            ("postgres://ada:hunter2?x@one/base", BAD_PARAMETER),
            ("postgres://ada@one/base?sslrootcert=hunter2", BAD_PARAMETER),
            ("postgres://ada@one/base?hostaddr=192.0.2.1", BAD_PARAMETER),
            ("postgres://ada@one/base?sslmode=hunter2", BAD_SSL_MODE),
            ("postgres://ada@one/base?sslmode", BAD_SSL_MODE),
            ("postgres://ada@one/base?sslmode=allow", BAD_SSL_MODE),
            (
                "postgres://ada@one/base?target_session_attrs=read-only",
                BAD_ATTRIBUTES,
            ),
            ("postgres://ada@one/base?keepalives=often", MALFORMED),
        ] {
            let refused = PostgresAddress::parse(text);
            assert_eq!(refused.map(drop), Err(expected), "{text}");
            assert!(!expected.contains("hunter2"));
        }
        let shown = format!("{:?}", parse("postgres://ada:hunter2@one/base"));
        assert_eq!(shown, "PostgresAddress(..)");
    }
}
