//! What the operator decides: flags, each with a variable in the environment. [`Args`] is what was
//! typed, [`Config`] is what was meant. Nothing here touches the world but that environment.

mod complaint;
pub mod drain;
mod model;
pub mod outside;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use tracing::Level;
use url::{Host, Url};

use crate::domain::contact::RevealExisting;
use crate::domain::policy::{Policies, PolicyName, Quota, parse_duration_ms};
use crate::domain::settings::Settings;

use model::ModelArgs;
pub use model::ModelConfig;
use outside::{Outside, OutsideArgs};

/// The flags as typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "landing-api",
    version,
    about = "A public landing back end in one binary",
    long_about = "A public landing back end in one binary: newsletter sign-ups, a quota-limited \
                  assistant, free API keys, and honest rate limits on all of it.\n\nEverything it \
                  keeps is in the data directory."
)]
pub struct Args {
    /// Directory that holds everything the service keeps; made if missing
    #[arg(long, env = "LANDING_DATA_DIR", value_name = "DIR")]
    data_dir: PathBuf,

    /// Address and port to listen on; port 0 takes any free one
    #[arg(
        long,
        env = "LANDING_LISTEN",
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:8080"
    )]
    listen: SocketAddr,

    /// Origin under which clients reach the service, without a path
    /// [default: http:// and the address listened on]
    #[arg(long, env = "LANDING_BASE_URL", value_name = "URL", value_parser = parse_base_url)]
    base_url: Option<String>,

    /// Name of the service, as health and the documents tell it
    #[arg(
        long,
        env = "LANDING_SERVICE_NAME",
        value_name = "NAME",
        default_value = "Landing API",
        value_parser = parse_name
    )]
    service_name: String,

    /// Address of the ERP that the documents point to
    #[arg(long, env = "LANDING_ERP_URL", value_name = "URL", value_parser = parse_url)]
    erp_url: Option<String>,

    /// Directory with files of your own for the site: Markdown pages, and what replaces a file of
    /// the service
    #[arg(long, env = "LANDING_SITE_DIR", value_name = "DIR")]
    site_dir: Option<PathBuf>,

    /// Rate limit of one policy, such as newsletter=8/15m or keys=off; may be repeated.
    /// Policies: default, ip, keys, agents, newsletter, newsletter-ip, assistant, assistant-ip,
    /// assistant-all. WINDOW is a number with s, m, h or d
    #[arg(
        long,
        env = "LANDING_LIMIT",
        value_name = "NAME=COUNT/WINDOW|off",
        value_delimiter = ',',
        value_parser = parse_limit
    )]
    limit: Vec<(PolicyName, Option<Quota>)>,

    /// How long an issued key is good: a number with s, m, h or d
    #[arg(
        long,
        env = "LANDING_KEY_LIFETIME",
        value_name = "TIME",
        default_value = "90d",
        value_parser = parse_key_lifetime
    )]
    key_lifetime: u64,

    /// Who is told that an address was signed up already
    #[arg(
        long,
        env = "LANDING_REVEAL_EXISTING",
        value_name = "WHO",
        default_value = "same-client"
    )]
    reveal_existing: RevealArg,

    #[command(flatten)]
    model: ModelArgs,
    /// The world outside.
    #[command(flatten)]
    outside: OutsideArgs,

    /// Most connections open at once; the limit on open files is raised to fit
    #[arg(
        long,
        env = "LANDING_MAX_CONNECTIONS",
        value_name = "COUNT",
        default_value_t = 16_384,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    max_connections: u32,

    /// Least severe level that is logged on standard error
    #[arg(
        long,
        env = "LANDING_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
    )]
    log_level: LogLevel,

    /// Form of the log
    #[arg(
        long,
        env = "LANDING_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    log_format: LogFormat,
}

/// `--reveal-existing` as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RevealArg {
    Never,
    SameClient,
    Always,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

/// In what form it is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// The flags as meant.
#[derive(Clone, Debug)]
pub struct Config {
    /// Holds everything the service keeps.
    pub data_dir: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The service's origin, if the operator named it.
    pub base_url: Option<String>,
    /// The service's name.
    pub service_name: String,
    /// The ERP's address.
    pub erp_url: Option<String>,
    /// Holds the operator's files for the site.
    pub site_dir: Option<PathBuf>,
    /// How much each policy allows.
    pub policies: Policies,
    /// How long an issued key is good, in milliseconds.
    pub key_lifetime_ms: u64,
    /// Who is told that an address was signed up already.
    pub reveal_existing: RevealExisting,
    /// The model that answers visitors; nothing if the guide does.
    pub model: Option<ModelConfig>,
    /// Other origins, proxies, the newsletter's provider.
    pub outside: Outside,
    /// Most connections open at once.
    pub connections_max: u32,
    /// How much is logged.
    pub log_level: Level,
    /// Whether it is logged as JSON.
    pub is_log_json: bool,
}

/// Why the flags make no configuration.
#[derive(Debug)]
pub enum ConfigError {
    /// Help or the version was asked for; the text belongs on standard output.
    Shown(String),
    /// A flag is wrong or missing: one line that names it.
    Wrong(String),
}

impl Config {
    /// Reads the command line, program name first, and the environment behind each flag.
    ///
    /// # Errors
    /// [`ConfigError`] when there is nothing to run.
    pub fn parse<I>(words: I) -> Result<Self, ConfigError>
    where
        I: IntoIterator<Item: Into<OsString>>,
    {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        Args::command()
            .try_get_matches_from(&words)
            .and_then(|matches| Args::from_arg_matches(&matches))
            .map_err(|error| {
                if error.use_stderr() {
                    ConfigError::Wrong(complaint::line(error, &words))
                } else {
                    ConfigError::Shown(error.render().to_string())
                }
            })
            .and_then(|args| Self::checked(args).map_err(ConfigError::Wrong))
    }

    /// The operator's decisions, for a service that listens on `bound`.
    #[must_use]
    pub fn settings(&self, bound: SocketAddr) -> Settings {
        Settings {
            base_url: self.public_origin(bound),
            service_name: self.service_name.clone(),
            erp_url: self.erp_url.clone(),
            policies: self.policies.clone(),
            key_lifetime_ms: self.key_lifetime_ms,
            reveal_existing: self.reveal_existing,
        }
    }

    /// The origin under which clients reach a service that listens on `bound`.
    fn public_origin(&self, bound: SocketAddr) -> String {
        match &self.base_url {
            Some(base_url) => base_url.clone(),
            None if bound.ip().is_unspecified() => format!("http://localhost:{}", bound.port()),
            None => format!("http://{bound}"),
        }
    }

    /// What the flags mean together.
    fn checked(args: Args) -> Result<Self, String> {
        let mut policies = Policies::default();
        for (policy, quota) in args.limit {
            policies.set(policy, quota);
        }
        Ok(Self {
            data_dir: args.data_dir,
            listen: args.listen,
            base_url: args.base_url,
            service_name: args.service_name,
            erp_url: args.erp_url,
            site_dir: args.site_dir,
            policies,
            key_lifetime_ms: args.key_lifetime,
            reveal_existing: match args.reveal_existing {
                RevealArg::Never => RevealExisting::Never,
                RevealArg::SameClient => RevealExisting::SameClient,
                RevealArg::Always => RevealExisting::Always,
            },
            model: args.model.checked()?,
            outside: args.outside.into(),
            connections_max: args.max_connections,
            log_level: args.log_level.into(),
            is_log_json: args.log_format == LogFormat::Json,
        })
    }
}

fn parse_url(text: &str) -> Result<String, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("must be an http or https URL".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a user name or password".to_owned());
    }
    // As the parser writes it: what was typed may hold blanks, capitals or letters beyond ASCII.
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn parse_origin(text: &str) -> Result<String, String> {
    parse_url(text)?;
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let origin = url.origin().ascii_serialization();
    // The parser adds the slash of an empty path: only one that was typed is too much.
    if url.as_str().trim_end_matches('/') != origin || text.ends_with('/') {
        return Err("must be an origin such as https://example.com, without a path".to_owned());
    }
    Ok(origin)
}

/// An origin that may stand in any document as it is.
fn parse_base_url(text: &str) -> Result<String, String> {
    let origin = parse_origin(text)?;
    let url = Url::parse(&origin).map_err(|error| error.to_string())?;
    let is_host = match url.host() {
        Some(Host::Domain(name)) => name.split('.').all(is_label),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    };
    if !is_host {
        return Err("must name a host of letters, digits, hyphens and single dots".to_owned());
    }
    if url.port() == Some(0) {
        return Err("must have a port above 0".to_owned());
    }
    Ok(origin)
}

/// Whether `text` is a part of a host's name, as the parser writes it: in lowercase ASCII.
fn is_label(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_allowed)
}

fn parse_name(text: &str) -> Result<String, String> {
    const LENGTH_MAX: usize = 100;
    if text.trim().is_empty()
        || text.chars().count() > LENGTH_MAX
        || text.chars().any(is_unprintable)
    {
        return Err(format!(
            "must be a line of 1 to {LENGTH_MAX} characters, none of them a control character"
        ));
    }
    Ok(text.to_owned())
}

/// Control characters, and those that YAML takes in no form (YAML 1.2, section 5.1).
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}')
}

fn parse_limit(text: &str) -> Result<(PolicyName, Option<Quota>), String> {
    let (name, quota) = text
        .split_once('=')
        .ok_or("must be NAME=COUNT/WINDOW or NAME=off")?;
    let policy = PolicyName::from_name(name).ok_or_else(|| {
        let names = PolicyName::ALL.map(PolicyName::as_str).join(", ");
        format!("there is no policy of that name; there are {names}")
    })?;
    if quota == "off" {
        return Ok((policy, None));
    }
    match quota.parse() {
        Ok(quota) => Ok((policy, Some(quota))),
        Err(error) => Err(error.to_string()),
    }
}

fn parse_key_lifetime(text: &str) -> Result<u64, String> {
    const RANGE_MS: std::ops::RangeInclusive<u64> = 60_000..=3660 * 24 * 60 * 60 * 1000;
    parse_duration_ms(text)
        .filter(|lifetime_ms| RANGE_MS.contains(lifetime_ms))
        .ok_or_else(|| "must be a number with s, m, h or d, from 1m to 3660d".to_owned())
}

#[cfg(test)]
mod tests;
