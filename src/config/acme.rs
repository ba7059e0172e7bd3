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
    let is_full = name.contains('.') && name.len() <= 253;
    let is_full = is_full && name.split('.').all(values::is_label);
    is_full.then_some(name).ok_or(FORM)
}

fn directory(text: &str) -> Result<String, String> {
    let url = values::http_url(text)?;
    if url.scheme() != "https" || url.fragment().is_some() {
        return Err(format!("must be an https URL such as {DEFAULT_DIRECTORY}"));
    }
    Ok(url.into())
}
