//! The flags of the service.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, PossibleValuesParser, TypedValueParser as _};
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Parser, ValueEnum};
use ipnet::IpNet;
use tracing::Level;
use url::Url;

use crate::domain::{
    Accent, DAY_MS, Policies, PolicyName, Quota, Settings, SignUpsGo, is_this_machine,
    macros::hidden,
};

use super::acme::AcmeArgs;
use super::engines::EngineArgs;
use super::mail::MailArgs;
use super::model::{ModelArgs, ModelParam};
use super::values::{self, SecretUrl};

/// The most questions that the home page offers.
const SUGGESTIONS_MAX: usize = 6;

/// Time to confirm a sign-up.
const OPT_IN_MS: u64 = 7 * DAY_MS;

/// The flags of the service.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "landing-api",
    version,
    about = "The back end of a marketing site in one binary",
    long_about = "The back end of a marketing site in one binary: newsletter sign-ups, an assistant with a \
                  message quota, free API keys, and exact rate limits.\n\nEach flag has an environment \
                  variable, such as LANDING_DATA_DIR."
)]
pub struct Args {
    /// Directory for all stored data; created if missing
    // Not required here, because some commands need none.
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,

    /// Address to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = values::address)]
    pub listen: SocketAddr,

    /// Loopback address and port of the admin page and metrics; `landing-api admin link` opens it
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::loopback)]
    pub admin_listen: Option<SocketAddr>,

    /// PEM file with a certificate and its chain; reloaded when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// PEM file with the certificate's private key, readable only by its owner, or by a group if root owns it
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// The certificate that the service orders itself.
    #[command(flatten)]
    pub acme: AcmeArgs,

    /// Address and port that redirect HTTP clients to --base-url
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::address)]
    pub redirect_listen: Option<SocketAddr>,

    /// Public URL of the service, without a path [default: that of --https-domain or --listen]
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub base_url: Option<String>,

    /// Name shown on pages and in emails
    #[arg(long, value_name = "NAME", default_value = "Landing API", value_parser = values::name)]
    pub service_name: String,

    /// URL of the ERP that the documents link to
    #[arg(long, value_name = "URL", value_parser = values::link)]
    pub erp_url: Option<String>,

    /// Imprint that every page links to: a URL, or a path on this site
    #[arg(long, value_name = "URL", value_parser = values::page_link)]
    pub imprint_url: Option<String>,

    /// Privacy notice that every page links to
    #[arg(long, value_name = "URL", value_parser = values::page_link)]
    pub privacy_url: Option<String>,

    /// Directory with your own pages and images
    #[arg(long, value_name = "DIR")]
    pub site_dir: Option<PathBuf>,

    /// SVG or PNG logo, up to 1 MiB, shown next to the name on every page and in the browser tab
    #[arg(long, value_name = "FILE")]
    pub site_logo: Option<PathBuf>,

    /// PNG, JPEG, WebP or SVG picture, up to 1 MiB, shown beside the title of the home page
    #[arg(long, value_name = "FILE")]
    pub site_picture: Option<PathBuf>,

    /// Colour of links and buttons, such as '#0b665e', dark enough to read on light pages
    #[arg(long, value_name = "#RRGGBB", value_parser = Accent::parse)]
    accent: Option<Accent>,

    /// Page or email address that the assistant offers when it has no answer
    #[arg(long, value_name = "URL|ADDRESS", value_parser = values::contact)]
    contact: Option<String>,

    /// Suggested question, shown as a button in the home page's chat; repeatable up to six times [default: headings of your
    /// pages]
    #[arg(
        long = "suggestion",
        value_name = "TEXT",
        value_delimiter = '\n',
        value_parser = values::suggestion
    )]
    suggestions: Vec<String>,

    /// Days to store questions that the assistant could not answer; `landing-api questions list` shows them
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=365)
    )]
    pub keep_questions: u64,

    /// Hide the developer pages from the navigation and the home page
    #[arg(long, value_parser = BoolishValueParser::new())]
    hide_developers: bool,

    /// Rate limit, such as newsletter=8/15m or keys=off; repeatable. `landing-api limits show` lists all
    #[arg(
        long,
        value_name = "NAME=COUNT/WINDOW|off",
        value_delimiter = ',',
        value_parser = values::limit
    )]
    limit: Vec<(PolicyName, Option<Quota>)>,

    /// Store the IP address of each sign-up as proof of consent
    #[arg(
        long,
        value_name = "on|off",
        default_value = "off",
        action = ArgAction::Set,
        value_parser = BoolishValueParser::new(),
        hide_possible_values = true
    )]
    consent_ip: bool,

    /// Opt-in: single, or double to require confirmation by email
    ///
    /// double needs --smtp-url and --mail-from
    #[arg(
        long,
        value_name = "HOW",
        default_value = "single",
        hide_possible_values = true,
        action = ArgAction::Set,
        value_parser = PossibleValuesParser::new(["single", "double"]).map(|word| word == "double")
    )]
    pub opt_in: bool,

    /// The model that answers visitors, if it is not a search of the pages.
    #[command(flatten)]
    pub model: Option<ModelArgs>,

    /// Origin whose pages may call the API; repeatable
    #[arg(
        long = "allow-origin",
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = values::allowed_origin
    )]
    pub allowed_origins: Vec<String>,

    /// Network of proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8; repeatable
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = values::network
    )]
    pub trusted_proxies: Vec<IpNet>,

    /// How long browsers must use HTTPS after a visit (only with an https --base-url)
    #[arg(long, value_name = "TIME|off", default_value = "365d", value_parser = values::hsts_max_age)]
    hsts: values::HstsMaxAge,

    /// URL notified of sign-ups, unsubscribes and erasures
    #[arg(long, hide_env_values = true, value_name = "URL", value_parser = values::webhook_url)]
    pub newsletter_webhook: Option<SecretUrl>,

    /// When to notify the webhook
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value_t = WebhookMode::Queue,
        requires = "newsletter_webhook"
    )]
    pub newsletter_webhook_mode: WebhookMode,

    /// File with the secret that signs webhook requests: whsec_ and Base64; two lines during a rotation
    #[arg(long, value_name = "FILE", requires = "newsletter_webhook")]
    pub newsletter_webhook_secret_file: Option<PathBuf>,

    /// The account that sends mail, if there is one.
    #[command(flatten)]
    pub mail: Option<MailArgs>,

    /// Maximum open connections (up to 32 KiB of memory each); a single network may use an eighth of them
    #[arg(
        long = "max-connections",
        value_name = "COUNT",
        default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections_max: u32,

    /// Where several nodes keep what they share.
    #[command(flatten)]
    pub engines: EngineArgs,

    /// How long /livez returns 503 before a stop, so that load balancers switch first; up to 1m
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = values::up_to_a_minute
    )]
    pub drain_notice: Duration,

    /// Minimum level of the log, which goes to standard error
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        value_parser = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"])
            .try_map(|word| word.parse::<Level>())
    )]
    pub log_level: Level,

    /// Log format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// The flags that have other values than the defaults.
    #[arg(skip)]
    pub given: GivenFlags,
}

/// The flags with other values than the defaults, for the log and for commands that ask the service: from the command line or the environment.
#[derive(Clone, Default)]
pub struct GivenFlags {
    /// The words of an equivalent command line, with every secret.
    pub words: Vec<String>,
    /// The same for the log: values that may hold secrets or identify clients are hidden.
    pub shown: Vec<String>,
}

hidden!(GivenFlags);

impl GivenFlags {
    /// The flags given to `command`.
    pub(super) fn of(command: &clap::Command, matches: &ArgMatches) -> Self {
        let mut given = Self::default();
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let (Some(long), Ok(Some(raw))) = (arg.get_long(), matches.try_get_raw(id)) else {
                continue;
            };
            let raw: Vec<_> = raw.collect();
            let is_default = matches.value_source(id) == Some(ValueSource::DefaultValue)
                || raw == arg.get_default_values();
            if !arg.get_action().takes_values() && matches.get_flag(id) {
                given.words.push(format!("--{long}"));
                given.shown.push(format!("--{long}"));
            } else if arg.get_action().takes_values() && !is_default {
                for value in raw.iter().map(|value| value.to_string_lossy()) {
                    // An @ ends a user and password.
                    let is_hidden = arg.is_hide_env_values_set() || value.contains('@');
                    let shown = if is_hidden { "(hidden)" } else { &*value };
                    given.shown.push(format!("--{long}={shown}"));
                    given.words.push(format!("--{long}={value}"));
                }
            }
        }
        given
    }
}

/// When the webhook is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WebhookMode {
    /// Store contact and event, and retry until the URL accepts it
    Queue,
    /// Post while the visitor waits and store nothing; if the post fails, so does the sign-up
    Direct,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object per line
    Json,
}

impl Args {
    /// Checks what clap's attributes cannot express, for the service, or for a command, which `is_operating`.
    ///
    /// # Errors
    /// The fault, in words.
    pub(super) fn check(&self, is_operating: bool) -> Result<(), String> {
        let mut keys = BTreeSet::new();
        let mut params = self.model.iter().flat_map(|model| &model.params);
        if let Some(ModelParam(key, _)) = params.find(|param| !keys.insert(&param.0)) {
            return Err(format!("--model-param sets {key} twice"));
        }
        // Merged, because several networks can cover all addresses together.
        let trusted = IpNet::aggregate(&self.trusted_proxies);
        if trusted.iter().any(|network| network.prefix_len() == 0) {
            return Err(
                "--trusted-proxy must not cover all addresses, alone or together, or any client \
                 could forge its address"
                    .to_owned(),
            );
        }
        if self.suggestions.len() > SUGGESTIONS_MAX {
            return Err(format!(
                "--suggestion can be given at most {SUGGESTIONS_MAX} times"
            ));
        }
        let is_plain = |url: &String| url.starts_with("http:");
        if self.speaks_tls() && self.base_url.as_ref().is_some_and(is_plain) {
            return Err(
                "--base-url must be an https URL with --tls-cert or --https-domain: --listen serves HTTPS only"
                    .to_owned(),
            );
        }
        self.check_acme()?;
        if self.redirect_listen.is_some() {
            self.check_redirect()?;
        }
        self.mail.as_ref().map_or(Ok(()), MailArgs::check)?;
        self.check_opt_in(self.listen)?;
        self.engines.check(is_operating)?;
        let missing = match &self.engines {
            _ if self.data_dir.is_some() => return Ok(()),
            EngineArgs { store: None, .. } => {
                "no data directory: set --data-dir DIR or LANDING_DATA_DIR"
            }
            // Only the service needs the place where requests are counted.
            EngineArgs { limits: None, .. } if !is_operating => {
                "nowhere to store the rate limits: set --limits URL, or --data-dir DIR for a single node"
            }
            _ if self.keep_questions > 0 && !is_operating => {
                "nowhere to store the questions of --keep-questions: set --data-dir DIR"
            }
            _ => return Ok(()),
        };
        Err(missing.to_owned())
    }

    /// Checks that other flags don't contradict those of the certificate that the service orders.
    fn check_acme(&self) -> Result<(), &'static str> {
        let base_url = self.base_url.as_ref().and_then(|url| Url::parse(url).ok());
        let host = base_url.as_ref().and_then(Url::host_str);
        let why = match host {
            _ if !self.acme.is_given() => return Ok(()),
            _ if self.tls_cert.is_some() => {
                "--https-domain orders a certificate, and --tls-cert provides one: set only one of them"
            }
            _ if self.engines.store.is_some() => {
                "--https-domain cannot be used with --store: several nodes cannot each order the certificate; use a \
                 certificate at the load balancer, or files on each node with --tls-cert"
            }
            Some(host) if !self.acme.domains.iter().any(|name| name == host) => {
                "the host of --base-url must be an --https-domain: the certificate covers no other host"
            }
            Some(_) | None => return Ok(()),
        };
        Err(why)
    }

    /// Checks that an email can ask to confirm, and that its link leads to a service that listens on `bound`.
    ///
    /// # Errors
    /// The missing flag, in words.
    pub fn check_opt_in(&self, bound: SocketAddr) -> Result<(), &'static str> {
        if !self.opt_in {
            return Ok(());
        }
        if self.mail.is_none() {
            return Err("--opt-in double sends email: set a mail relay with --smtp-url");
        }
        if self.sign_ups() == SignUpsGo::PassedOn {
            return Err(
                "--opt-in double stores contacts, which --newsletter-webhook-mode direct does not",
            );
        }
        let is_safe = match self.public_origin() {
            Some(origin) => origin.starts_with("https:") || leads_here(&origin),
            // On the machine itself, to try it. Behind a proxy, others are there.
            None => bound.ip().is_loopback() && self.trusted_proxies.is_empty(),
        };
        is_safe.then_some(()).ok_or(
            "--opt-in double needs an https URL as --base-url for the link in its emails, unless --listen is a loopback \
             address without --trusted-proxy",
        )
    }

    /// Checks that there is an address to send clients to who speak HTTP.
    ///
    /// # Errors
    /// The missing flag, in words.
    pub fn check_redirect(&self) -> Result<(), &'static str> {
        let is_https = |url: &String| url.starts_with("https:");
        if self.speaks_tls() || self.base_url.as_ref().is_some_and(is_https) {
            return Ok(());
        }
        Err("--redirect-listen needs an https URL as --base-url to redirect to")
    }

    /// True if the service itself terminates TLS.
    pub fn speaks_tls(&self) -> bool {
        self.tls_cert.is_some() || self.acme.is_given()
    }

    /// The origin under which clients reach the service, as far as the flags tell it.
    pub fn public_origin(&self) -> Option<String> {
        self.base_url.clone().or_else(|| self.acme.origin())
    }

    /// The scheme of the service's own addresses.
    pub fn scheme(&self) -> &'static str {
        if self.speaks_tls() { "https" } else { "http" }
    }

    /// Each policy's quota: the default, or that of its last `--limit`.
    pub(super) fn policies(&self) -> Policies {
        let mut policies = Policies::default();
        policies.configure(&self.limit);
        policies
    }

    /// The settings of a service that listens on `bound`.
    pub fn settings(&self, bound: SocketAddr) -> Settings {
        let scheme = self.scheme();
        Settings {
            is_base_url_given: self.public_origin().is_some(),
            base_url: match self.public_origin() {
                Some(base_url) => base_url,
                None if bound.ip().is_unspecified() => {
                    format!("{scheme}://localhost:{}", bound.port())
                }
                None => format!("{scheme}://{bound}"),
            },
            service_name: self.service_name.clone(),
            erp_url: self.erp_url.clone(),
            imprint_url: self.imprint_url.clone(),
            privacy_url: self.privacy_url.clone(),
            contact: self.contact.clone(),
            suggestions: self.suggestions.clone(),
            accent: self.accent,
            hides_developers: self.hide_developers,
            policies: self.policies(),
            keeps_consent_ip: self.consent_ip,
            has_model: self.model.is_some(),
            falls_back: self.model.as_ref().is_some_and(|model| model.falls_back),
            questions_kept_days: self.keep_questions,
            opt_in_ms: self.opt_in.then_some(OPT_IN_MS),
            sign_ups: self.sign_ups(),
            allowed_origins: self.allowed_origins.clone(),
            trusts_proxies: !self.trusted_proxies.is_empty(),
        }
    }

    fn sign_ups(&self) -> SignUpsGo {
        match (&self.newsletter_webhook, self.newsletter_webhook_mode) {
            (None, _) => SignUpsGo::Kept,
            (Some(_url), WebhookMode::Queue) => SignUpsGo::Told,
            (Some(_url), WebhookMode::Direct) => SignUpsGo::PassedOn,
        }
    }

    /// `max-age` of Strict-Transport-Security, if clients use https.
    pub fn hsts_max_age_s(&self, settings: &Settings) -> Option<u64> {
        self.hsts.filter(|_| settings.is_https())
    }
}

/// True if `url` leads to this machine, whichever it is opened on.
pub fn leads_here(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str().is_some_and(is_this_machine))
}
