//! The flags of the service.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{ArgAction, Parser, ValueEnum};
use ipnet::IpNet;
use serde_json::Value;
use tracing::Level;
use url::{Host, Url};

use crate::domain::{
    Accent, BlockedNetwork, DAY_MS, Policies, PolicyName, Quota, RevealExisting, Settings,
    SignUpsGo,
};

use super::acme::AcmeArgs;
use super::engines::EngineArgs;
use super::given::GivenFlags;
use super::mail::MailArgs;
use super::values::{self, ModelParams, WebhookUrl};

/// The most questions that the home page offers.
const SUGGESTIONS_MAX: usize = 6;

/// The flags of the service.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "landing-api",
    version,
    about = "A public landing back end in one binary",
    long_about = "A public landing back end in one binary: newsletter sign-ups, a quota-limited \
                  assistant, free API keys, and honest rate limits on all of it.\n\nEverything it \
                  keeps is in the data directory, or, for several nodes, in PostgreSQL and Redis."
)]
#[allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "help is plain text, not Markdown"
)]
pub struct Args {
    /// Directory that holds everything the service keeps; made if missing
    // Not required here, because some commands need none.
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,

    /// Address and port to listen on; port 0 takes any free one
    #[arg(help_heading = "Service")]
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = values::address)]
    pub listen: SocketAddr,

    /// Address and port of the admin page, such as 127.0.0.1:9090; it is for this machine alone, and
    /// `landing-api admin link` prints the way in [default: none, there is no admin page]
    #[arg(help_heading = "Service")]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::loopback)]
    pub admin_listen: Option<SocketAddr>,

    /// File with the certificate for HTTPS on --listen, and those that vouch for it, in PEM; it is read again
    /// when it changes [default: none, clients speak HTTP]
    #[arg(help_heading = "HTTPS")]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// File with the private key of that certificate, in PEM; nobody but its owner may read it, or the group where
    /// it is root's
    #[arg(help_heading = "HTTPS")]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// The certificate that the service orders itself.
    #[command(flatten)]
    pub acme: AcmeArgs,

    /// Address and port where clients that speak HTTP are sent to --base-url, such as 0.0.0.0:80
    /// [default: none]
    #[arg(help_heading = "HTTPS")]
    #[arg(long, value_name = "ADDR:PORT", value_parser = values::address)]
    pub redirect_listen: Option<SocketAddr>,

    /// Origin under which clients reach the service, without a path
    /// [default: that of --https-domain, or http:// or https:// and the address listened on]
    #[arg(help_heading = "Service")]
    #[arg(long, value_name = "URL", value_parser = values::base_url)]
    pub base_url: Option<String>,

    /// Name of the service, as health and the documents tell it
    #[arg(help_heading = "Service")]
    #[arg(long, value_name = "NAME", default_value = "Landing API", value_parser = values::name)]
    pub service_name: String,

    /// Address of the ERP that the documents point to
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "URL", value_parser = values::link)]
    pub erp_url: Option<String>,

    /// Address of the imprint that every page links to, or a path of this site such as /imprint
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "URL", value_parser = values::page_link)]
    pub imprint_url: Option<String>,

    /// Address of the privacy notice that every page links to, or a path of this site
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "URL", value_parser = values::page_link)]
    pub privacy_url: Option<String>,

    /// Directory with files of your own for the site: Markdown pages, and what replaces a file of
    /// the service
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "DIR")]
    pub site_dir: Option<PathBuf>,

    /// SVG or PNG of up to 64 KiB that stands beside the name on every page, and in the browser's tab
    /// [default: an arrow]
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "FILE")]
    pub site_logo: Option<PathBuf>,

    /// Colour of links and buttons, such as '#0b665e', dark enough to be read on light pages (WCAG AA); on
    /// dark pages a lighter shade of it is taken
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "#RRGGBB", value_parser = Accent::parse)]
    accent: Option<Accent>,

    /// Address of a page, path of this site or e-mail address that the assistant refers visitors to when it has no
    /// answer
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "URL|ADDRESS", value_parser = values::contact)]
    contact: Option<String>,

    /// Question that the chat of the home page offers as a button; may be repeated up to six times, in the
    /// environment each on a line of its own [default: headings of your pages]
    #[arg(help_heading = "Site")]
    #[arg(
        long = "suggestion",
        value_name = "TEXT",
        value_delimiter = '\n',
        value_parser = values::suggestion
    )]
    suggestions: Vec<String>,

    /// Markdown file with the title and the introduction of the home page
    #[arg(help_heading = "Site")]
    #[arg(long, value_name = "FILE")]
    pub site_intro: Option<PathBuf>,

    /// Leaves out of the navigation and the home page what is for developers; it is served as ever
    #[arg(help_heading = "Site")]
    #[arg(long, value_parser = clap::builder::BoolishValueParser::new())]
    hide_developers: bool,

    #[arg(help_heading = "Limits")]
    #[arg(
        long,
        help = values::limit_help(),
        value_name = "NAME=COUNT/WINDOW|off",
        value_delimiter = ',',
        value_parser = values::limit
    )]
    limit: Vec<(PolicyName, Option<Quota>)>,

    /// How long an issued key is good: a number with s, m, h or d
    #[arg(help_heading = "Limits")]
    #[arg(
        long = "key-lifetime",
        value_name = "TIME",
        default_value = "90d",
        value_parser = values::key_lifetime_ms
    )]
    pub(super) key_lifetime_ms: u64,

    /// Who is told that an address was signed up already; others are answered as for a new one
    #[arg(help_heading = "Newsletter")]
    #[arg(
        long,
        value_name = "WHO",
        default_value = "same-client",
        value_parser = PossibleValuesParser::new(RevealExisting::ALL.map(RevealExisting::as_str))
            .try_map(|word| RevealExisting::from_name(&word).ok_or("must be one of these"))
    )]
    pub(super) reveal_existing: RevealExisting,

    /// Whether the IP address of whoever signs up is kept with the contact, as a proof of consent
    #[arg(help_heading = "Newsletter")]
    #[arg(
        long,
        value_name = "on|off",
        default_value = "off",
        action = ArgAction::Set,
        value_parser = values::on_or_off()
    )]
    consent_ip: bool,

    /// Whether a sign-up is enough (single), or a mail asks to confirm it first (double, which needs --smtp-url)
    #[arg(help_heading = "Newsletter")]
    #[arg(long, value_enum, value_name = "HOW", default_value_t = OptInMode::Single)]
    opt_in: OptInMode,

    /// How many days a sign-up can be confirmed, once the relay has taken its mail; then it is erased
    #[arg(help_heading = "Newsletter")]
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = 7,
        value_parser = clap::value_parser!(u64).range(1..=90)
    )]
    opt_in_days: u64,

    /// The model that answers visitors, if it is not a search of the pages.
    #[command(flatten)]
    pub model: Option<ModelArgs>,

    /// Origin whose pages may call the API from a browser, such as https://example.com; may be
    /// repeated
    #[arg(help_heading = "Browsers and proxies")]
    #[arg(
        long = "allow-origin",
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = values::allowed_origin
    )]
    pub allowed_origins: Vec<String>,

    /// Network of proxies whose X-Forwarded-For headers are believed, such as 10.0.0.0/8 or
    /// 127.0.0.1; may be repeated
    #[arg(help_heading = "Browsers and proxies")]
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = values::network
    )]
    pub trusted_proxies: Vec<IpNet>,

    /// Network whose requests are all refused, such as 192.0.2.0/24 or an address; may be repeated.
    /// `landing-api block add` does it without a restart
    #[arg(help_heading = "Browsers and proxies")]
    #[arg(
        long = "block",
        value_name = "CIDR",
        value_delimiter = ',',
        value_parser = BlockedNetwork::parse
    )]
    pub blocked_networks: Vec<BlockedNetwork>,

    /// How long browsers insist on https once they have been here (HSTS), a number with s, m, h or d;
    /// sent only if --base-url is an https URL
    #[arg(help_heading = "Browsers and proxies")]
    #[arg(long, value_name = "TIME|off", default_value = "365d", value_parser = values::hsts_max_age)]
    hsts: values::HstsMaxAge,

    /// Address that is told of every sign-up, of contacts that leave, and of those that are erased
    #[arg(help_heading = "Newsletter")]
    #[arg(long, hide_env_values = true, value_name = "URL", value_parser = values::webhook_url)]
    pub newsletter_webhook: Option<WebhookUrl>,

    /// When that address is told: from a queue, which keeps contact and message until it has answered; or
    /// directly, while the visitor waits: then nothing is kept, and a sign-up that it does not take fails
    #[arg(help_heading = "Newsletter")]
    #[arg(
        long,
        value_enum,
        value_name = "MODE",
        default_value_t = WebhookMode::Queue,
        requires = "newsletter_webhook"
    )]
    pub newsletter_webhook_mode: WebhookMode,

    /// File with the secret that signs those posts: whsec_ and 24 to 64 bytes in Base64; two on a
    /// line each both sign; nobody but its owner may read it
    #[arg(help_heading = "Newsletter")]
    #[arg(long, value_name = "FILE", requires = "newsletter_webhook")]
    pub newsletter_webhook_secret_file: Option<PathBuf>,

    /// The account that sends mail, if there is one.
    #[command(flatten)]
    pub mail: Option<MailArgs>,

    /// Most connections open at once, each of up to 32 KiB of memory; for each further one an idle one of the
    /// network that has most is closed. The limit on open files is raised to fit
    #[arg(help_heading = "Connections")]
    #[arg(
        long = "max-connections",
        value_name = "COUNT",
        default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections_max: u32,

    /// Most connections open at once from one IPv4 address or IPv6 /56; networks of --trusted-proxy
    /// have no such limit [default: an eighth of --max-connections]
    #[arg(help_heading = "Connections")]
    #[arg(
        long = "max-connections-per-network",
        value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub connections_per_network: Option<u32>,

    /// Where several nodes keep what they share.
    #[command(flatten)]
    pub engines: EngineArgs,

    /// How long /livez says 503 before a stop refuses connections, so that load balancers look elsewhere
    /// first: a number with s or m, up to 1m
    #[arg(help_heading = "Several nodes")]
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        value_parser = values::up_to_a_minute
    )]
    pub drain_notice: Duration,

    /// Least severe level that is logged on standard error
    #[arg(help_heading = "Log")]
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        value_parser = PossibleValuesParser::new(["error", "warn", "info", "debug", "trace"])
            .try_map(|word| word.parse::<Level>())
    )]
    pub log_level: Level,

    /// Form of the log
    #[arg(help_heading = "Log")]
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,

    /// The flags that have other values than the defaults.
    #[arg(skip)]
    pub given: GivenFlags,
}

/// The model's flags. Without `--model-url`, giving any of the others is an error.
#[derive(Clone, Debug, PartialEq, clap::Args)]
#[command(next_help_heading = "Model")]
#[allow(
    clippy::doc_markdown,
    rustdoc::invalid_html_tags,
    reason = "help is plain text, not Markdown"
)]
pub struct ModelArgs {
    /// Base of an OpenAI-compatible API whose model answers visitors, such as
    /// http://127.0.0.1:11434/v1 [default: none, answers come from the pages]
    #[arg(
        long = "model-url",
        hide_env_values = true,
        value_name = "URL",
        required = false,
        requires = "name",
        value_parser = values::model_url
    )]
    pub url: String,

    /// Name of the model
    #[arg(
        long = "model",
        value_name = "NAME",
        required = false,
        requires = "url",
        value_parser = values::name
    )]
    pub name: String,

    /// File with the key to the API, closed to other users
    #[arg(long = "model-key-file", value_name = "FILE", requires = "url")]
    pub key_file: Option<PathBuf>,

    /// How long an answer of the model may take, from 1s to 5m
    #[arg(
        long = "model-timeout",
        value_name = "TIME",
        default_value = "30s",
        requires = "url",
        value_parser = values::model_timeout
    )]
    pub timeout: Duration,

    /// Most answers the model makes at once; further ones are refused without a charge
    #[arg(
        long = "model-concurrency",
        value_name = "COUNT",
        default_value_t = 64,
        requires = "url",
        value_parser = clap::value_parser!(u16).range(1..=4096)
    )]
    pub concurrency: u16,

    /// Further member of each request to the model, such as max_tokens=400; may be repeated, in the
    /// environment each on a line of its own. The JSON may go over several lines
    #[arg(
        long = "model-param",
        hide_env_values = true,
        value_name = "KEY=JSON",
        requires = "url",
        value_parser = values::model_params
    )]
    params: Vec<ModelParams>,

    /// The model's server opens its thinking in the prompt: every answer is cut to the first closing
    /// tag, such as </think>
    #[arg(
        long = "model-thinks-first",
        requires = "url",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    pub thinks_first: bool,

    /// What answers while the model is away: guide looks questions up in the pages, says so in the first
    /// line, and charges nothing; none leaves it at a 503
    #[arg(
        long = "model-fallback",
        value_name = "none|guide",
        default_value = "none",
        action = ArgAction::Set,
        requires = "url",
        value_parser = PossibleValuesParser::new(["none", "guide"]).map(|word| word == "guide")
    )]
    pub falls_back: bool,

    /// File with the system prompt of the model [default: made from the pages]
    #[arg(long = "assistant-prompt-file", value_name = "FILE", requires = "url")]
    pub prompt_file: Option<PathBuf>,
}

impl ModelArgs {
    /// The members to add to each request, in the order of the flags.
    pub fn params(&self) -> impl Iterator<Item = &(String, Value)> {
        self.params.iter().flat_map(|params| &params.0)
    }
}

/// Whether a sign-up has to be confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OptInMode {
    /// It need not be
    Single,
    /// By the link of a mail
    Double,
}

/// When the webhook is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WebhookMode {
    /// From the queue
    Queue,
    /// While the visitor waits
    Direct,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// The longest that parts of a request may take that depend on no flag.
#[derive(Clone, Copy, Debug)]
pub struct RequestDeadlines {
    /// The rest of the head, once the service has been asked to stop.
    pub head: Duration,
    /// The body.
    pub body: Duration,
    /// The newsletter's provider.
    pub provider: Duration,
    /// A visitor who reads what the model has said, beyond the model's own timeout.
    pub model_reader: Duration,
}

impl Args {
    /// Checks what clap's attributes cannot express, for the service, or for a command, which `is_operating`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn check(&self, is_operating: bool) -> Result<(), (ErrorKind, String)> {
        let mut keys = BTreeSet::new();
        let params = self.model.iter().flat_map(ModelArgs::params);
        if let Some((key, _)) = params.into_iter().find(|(key, _)| !keys.insert(key)) {
            let twice = format!("--model-param names {key} twice");
            return Err((ErrorKind::ArgumentConflict, twice));
        }
        // Merged, because several networks can cover all addresses together.
        let trusted = IpNet::aggregate(&self.trusted_proxies);
        if trusted.iter().any(|network| network.prefix_len() == 0) {
            let all = "--trusted-proxy must not cover all addresses, alone or together, or any client \
                       could forge its address";
            return Err((ErrorKind::ValueValidation, all.to_owned()));
        }
        if self.suggestions.len() > SUGGESTIONS_MAX {
            let many = format!("--suggestion may be given {SUGGESTIONS_MAX} times at most");
            return Err((ErrorKind::ValueValidation, many));
        }
        let is_plain = |url: &String| url.starts_with("http:");
        if self.speaks_tls() && self.base_url.as_ref().is_some_and(is_plain) {
            let plain = "--base-url must be an https URL with --tls-cert or --https-domain: there is no HTTP on --listen";
            return Err((ErrorKind::ArgumentConflict, plain.to_owned()));
        }
        let (has_files, has_store) = (self.tls_cert.is_some(), self.engines.store.is_some());
        self.acme
            .check(self.base_url.as_deref(), has_files, has_store)?;
        if self.redirect_listen.is_some()
            && let Err(why) = self.check_redirect()
        {
            return Err((ErrorKind::ArgumentConflict, why.to_owned()));
        }
        let mail = self.mail.as_ref().map_or(Ok(()), MailArgs::check);
        mail.map_err(|why| (ErrorKind::ArgumentConflict, why.to_owned()))?;
        let opt_in = self.check_opt_in();
        opt_in.map_err(|why| (ErrorKind::ArgumentConflict, why.to_owned()))?;
        self.engines.check(is_operating)
    }

    /// Checks that a mail can ask to confirm, and that its link leads here.
    fn check_opt_in(&self) -> Result<(), &'static str> {
        if self.opt_in == OptInMode::Single {
            return Ok(());
        }
        if self.mail.is_none() {
            return Err("--opt-in double sends mail: give the account with --smtp-url");
        }
        if self.sign_ups() == SignUpsGo::PassedOn {
            return Err(
                "--opt-in double keeps contacts, which --newsletter-webhook-mode direct does not",
            );
        }
        let origin = self.public_origin().unwrap_or_default();
        let url = Url::parse(&origin).ok();
        let is_here = |host: Host<&str>| match host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        let is_safe = |url: &Url| url.scheme() == "https" || url.host().is_some_and(is_here);
        if !url.as_ref().is_some_and(is_safe) {
            return Err(
                "--opt-in double needs an https URL as --base-url, where the link of its mail leads",
            );
        }
        Ok(())
    }

    /// Checks that there is an address to send clients to who speak HTTP.
    ///
    /// # Errors
    /// What is missing, in words.
    pub fn check_redirect(&self) -> Result<(), &'static str> {
        let is_https = |url: &String| url.starts_with("https:");
        if self.speaks_tls() || self.base_url.as_ref().is_some_and(is_https) {
            return Ok(());
        }
        Err("--redirect-listen needs an https URL as --base-url, where it sends clients")
    }

    /// Whether contacts are asked to confirm.
    pub fn asks_to_confirm(&self) -> bool {
        self.opt_in == OptInMode::Double
    }

    /// Whether the service speaks TLS itself.
    pub fn speaks_tls(&self) -> bool {
        self.tls_cert.is_some() || self.acme.is_given()
    }

    /// The origin under which clients reach the service, as far as the flags tell it.
    pub fn public_origin(&self) -> Option<String> {
        self.base_url.clone().or_else(|| self.acme.origin())
    }

    /// What addresses of the service begin with.
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
            key_lifetime_ms: self.key_lifetime_ms,
            reveal_existing: self.reveal_existing,
            keeps_consent_ip: self.consent_ip,
            has_model: self.model.is_some(),
            falls_back: self.falls_back(),
            opt_in_ms: (self.opt_in == OptInMode::Double).then_some(self.opt_in_days * DAY_MS),
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

    /// Whether a search of the pages answers while the model is away.
    pub fn falls_back(&self) -> bool {
        self.model.as_ref().is_some_and(|model| model.falls_back)
    }

    /// How long browsers are to insist on `https`, in seconds, if `settings` say that clients use it.
    pub fn hsts_max_age_s(&self, settings: &Settings) -> Option<u64> {
        self.hsts.filter(|_| settings.is_https())
    }

    /// How long requests in flight may take to finish at a stop: as long as the longest may take,
    /// but short enough that systemd, whose default patience is 90 s, does not kill the service
    /// before it has flushed. The notice before a stop takes a part of that.
    pub fn drain_deadline(&self, deadlines: RequestDeadlines) -> Duration {
        const LONGEST: Duration = Duration::from_secs(80);
        let model = self.model.as_ref();
        let model = model.map(|model| model.timeout + deadlines.model_reader);
        let waits = self.sign_ups() == SignUpsGo::PassedOn;
        let provider = waits.then_some(deadlines.provider);
        // A request calls at most one of the two.
        let call = model.max(provider).unwrap_or_default();
        (deadlines.head + deadlines.body + call).min(LONGEST - self.drain_notice)
    }
}
