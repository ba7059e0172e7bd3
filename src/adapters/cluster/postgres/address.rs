//! The URL of a database, and what else it is opened with.

use std::net::IpAddr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::Roots;
use crate::domain::{MacKey, macros::hidden};

/// The name by which the database's own lists show these connections.
const APPLICATION: &str = "landing-api";
/// How the name of a node's connections begins, by which nodes are counted; a random number follows.
pub(super) const NODE_PREFIX: &str = "landing-api/";
const PORT: u16 = 5432;

/// Parameters that a URL may have. A password belongs into a file, but may stand in the URL.
const PARAMETERS: [&str; 14] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_idle",
    "options",
    "password",
    "port",
    "sslmode",
    "sslnegotiation",
    "target_session_attrs",
    "user",
];

/// A database, on one or several hosts of which one takes writes. Its text is not shown, since it may hold a
/// password.
#[derive(Clone)]
pub struct PostgresAddress {
    /// One for each host, all else alike.
    hosts: Vec<Config>,
    /// Whether the URL says how the database's own lists show the connections.
    is_named: bool,
    /// The hosts and the database as in the URL, for the log.
    pub(super) name: String,
}

/// What the store is opened with.
#[derive(Clone)]
pub struct PostgresSettings {
    /// Where the database is.
    pub address: PostgresAddress,
    /// Has the password, if the address has none.
    pub password_file: Option<PasswordFile>,
    /// The authorities that certify the servers, if [`PostgresAddress::may_use_tls`].
    pub roots: Roots,
    /// The keys that hash forgotten addresses, the current one first.
    pub tombstone_keys: Vec<MacKey>,
    /// The ids of the secrets that are believed, the current one first.
    pub secret_ids: Vec<String>,
}

// Why a URL is refused. No text repeats it.
const BAD_SCHEME: &str = "must be a URL such as postgres://user@host/database";
const MALFORMED: &str = "is no URL of a PostgreSQL database: it must be like \
     postgres://user@host:5432/database, with the special characters of each part percent-encoded";
const NO_HOST: &str = "names no host: it must be like postgres://user@host/database";
const NO_USER: &str = "names no user: it must be like postgres://user@host/database";
const BAD_PARAMETER: &str = "has a parameter that is not supported: leave it out (sslmode and \
     target_session_attrs are supported; certificates are verified with the system's authorities, or \
     those of SSL_CERT_FILE)";
const BAD_SSL_MODE: &str = "sslmode must be disable, prefer, require or verify-full";
const BAD_ATTRIBUTES: &str = "target_session_attrs must be read-write: sign-ups are written";

impl PostgresAddress {
    /// Parses `postgres://` or `postgresql://`, with several hosts if need be. Where TLS is used,
    /// certificates are always verified, so `sslmode=verify-full`, `verify-ca` and `require` are the same.
    /// Without one it is `require`, and on this machine `disable`.
    /// Only a host that takes writes is used, whether or not `target_session_attrs` says so.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let is_known = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if !is_known {
            return Err(BAD_SCHEME);
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let parameters = query.split('&').filter(|it| !it.is_empty());
        let parameters: Vec<_> = parameters.map(parameter).collect::<Result<_, _>>()?;
        let known = [base, "?", &parameters.join("&")].concat();
        let config: Config = known.parse().map_err(|_may_quote_it| MALFORMED)?;
        if config.get_user().is_none_or(str::is_empty) {
            return Err(NO_USER);
        }
        Ok(Self {
            hosts: hosts(&config)?,
            is_named: config.get_application_name().is_some(),
            name: base.rsplit('@').next().unwrap_or_default().to_owned(),
        })
    }

    /// Whether a connection may use TLS, for which authorities are needed.
    pub fn may_use_tls(&self) -> bool {
        let mut hosts = self.hosts.iter();
        hosts.any(|host| host.get_ssl_mode() != SslMode::Disable)
    }

    /// The same for a node of the service, with a random number that tells its connections from those of others,
    /// unless the URL names them.
    #[must_use]
    pub fn of_node(mut self, id: u64) -> Self {
        if !self.is_named {
            for host in &mut self.hosts {
                host.application_name(format!("{NODE_PREFIX}{id:016x}"));
            }
        }
        self
    }

    pub(super) fn has_password(&self) -> bool {
        let mut hosts = self.hosts.iter();
        hosts.any(|host| host.get_password().is_some())
    }

    /// The configurations, each of one host, with this password if one is given.
    pub(super) fn configs(&self, password: Option<&str>) -> Vec<Config> {
        let mut hosts = self.hosts.clone();
        if let Some(password) = password {
            for host in &mut hosts {
                host.password(password);
            }
        }
        hosts
    }
}

hidden!(PostgresAddress);

/// A parameter as the driver knows it.
fn parameter(text: &str) -> Result<&str, &'static str> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if !PARAMETERS.contains(&name) {
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

/// One configuration for each host.
fn hosts(config: &Config) -> Result<Vec<Config>, &'static str> {
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
        .map(|(place, host)| of_host(config, host, port(place)))
        .collect())
}

fn is_loopback(name: &str) -> bool {
    let address = name.parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn of_host(all: &Config, host: &Host, port: u16) -> Config {
    let mut config = Config::new();
    let ssl_mode = match host {
        Host::Tcp(name) => {
            config.host(name);
            // Whoever stands between could turn TLS off that is only preferred.
            match (all.get_ssl_mode(), is_loopback(name)) {
                (SslMode::Prefer, true) => SslMode::Disable,
                (SslMode::Prefer, false) => SslMode::Require,
                (given, _) => given,
            }
        }
        Host::Unix(path) => {
            config.host_path(path);
            SslMode::Disable
        }
    };
    config
        .ssl_mode(ssl_mode)
        .port(port)
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .target_session_attrs(TargetSessionAttrs::ReadWrite)
        .application_name(all.get_application_name().unwrap_or(APPLICATION));
    if let Some(user) = all.get_user() {
        config.user(user);
    }
    if let Some(password) = all.get_password() {
        config.password(password);
    }
    if let Some(name) = all.get_dbname() {
        config.dbname(name);
    }
    if let Some(options) = all.get_options() {
        config.options(options);
    }
    config
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
        let [one, two] = &address.configs(None)[..] else {
            panic!("{address:?}");
        };
        for (config, host, port) in [(one, "one", 5432), (two, "two", 6543)] {
            assert_eq!(config.get_hosts(), [Host::Tcp(host.to_owned())]);
            assert_eq!(config.get_ports(), [port]);
            assert_eq!(config.get_user(), Some("ada"));
            assert_eq!(config.get_password(), Some(&b"p@ss"[..]));
            assert_eq!(config.get_dbname(), Some("base"));
            assert_eq!(config.get_ssl_mode(), SslMode::Require);
            assert_eq!(config.get_application_name(), Some("landing-api"));
            let attributes = config.get_target_session_attrs();
            assert_eq!(attributes, TargetSessionAttrs::ReadWrite);
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
            let names = node.hosts.iter().map(Config::get_application_name);
            assert!(names.eq([Some(name); 2]), "{parameter}");
        }
    }

    #[test]
    fn the_password_is_in_one_place() {
        let without = parse("postgres://ada@one/base");
        let given = &without.configs(Some("other"))[0];
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
            let [host] = &address.hosts[..] else {
                panic!("{address:?}");
            };
            assert_eq!(host.get_ssl_mode() == SslMode::Require, may, "{parameters}");
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
