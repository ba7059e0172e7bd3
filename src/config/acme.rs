//! The flags of the certificate ordered by the service itself.

use url::{Host, Url};

use super::values;
use crate::domain::rootless;

/// Let's Encrypt.
const DEFAULT_DIRECTORY: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// The certificate ordered by the service itself. Without `--https-domain` it orders none.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct AcmeArgs {
    /// Domain to order a certificate for; repeatable
    ///
    /// It must resolve to this machine, with port 443 leading to --listen
    #[arg(long = "https-domain", value_name = "NAME", value_parser = domain)]
    pub domains: Vec<String>,

    /// Contact address for the certificate authority
    #[arg(long = "acme-email", value_name = "ADDRESS", requires = "domains", value_parser = values::email)]
    pub email: Option<String>,

    /// ACME directory of the authority [default: Let's Encrypt]
    #[arg(long = "acme-directory", value_name = "URL", requires = "domains", value_parser = directory)]
    pub directory: Option<String>,
}

impl AcmeArgs {
    /// True if the service orders a certificate.
    pub fn is_given(&self) -> bool {
        !self.domains.is_empty()
    }

    /// URL of the authority's directory.
    pub fn directory(&self) -> &str {
        self.directory.as_deref().unwrap_or(DEFAULT_DIRECTORY)
    }

    /// The origin of the first name: authorities connect to port 443, so clients can, too.
    pub(super) fn origin(&self) -> Option<String> {
        self.domains.first().map(|name| format!("https://{name}"))
    }

    /// Checks that other flags don't contradict these.
    pub(super) fn check(
        &self,
        base_url: Option<&str>,
        has_files: bool,
        has_store: bool,
    ) -> Result<(), &'static str> {
        if !self.is_given() {
            return Ok(());
        }
        let host = base_url.and_then(|url| {
            let url = Url::parse(url).ok()?;
            url.host_str().map(str::to_owned)
        });
        let why = if has_files {
            "--https-domain orders a certificate, and --tls-cert provides one: set only one of them"
        } else if has_store {
            "--https-domain cannot be used with --store: several nodes cannot each order the certificate; use a \
             certificate at the load balancer, or files on each node with --tls-cert"
        } else if host.is_some_and(|host| !self.domains.contains(&host)) {
            "the host of --base-url must be an --https-domain: the certificate covers no other host"
        } else {
            return Ok(());
        };
        Err(why)
    }
}

/// A name of the public DNS, in lower case.
fn domain(text: &str) -> Result<String, &'static str> {
    const FORM: &str =
        "must be a full domain name such as api.example.com, without https://, port or *";
    let Ok(Host::Domain(name)) = Host::parse(rootless(text)) else {
        return Err(FORM);
    };
    let is_label = |label: &str| {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_inside = !label.starts_with('-') && !label.ends_with('-');
        (1..=63).contains(&label.len()) && is_inside && label.chars().all(is_allowed)
    };
    let is_full = name.contains('.') && name.len() <= 253 && name.split('.').all(is_label);
    is_full.then_some(name).ok_or(FORM)
}

fn directory(text: &str) -> Result<String, &'static str> {
    const FORM: &str =
        "must be an https URL such as https://acme-v02.api.letsencrypt.org/directory";
    let url = Url::parse(text).map_err(|_no_url| FORM)?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    (url.scheme() == "https" && is_plain)
        .then(|| url.to_string())
        .ok_or(FORM)
}
