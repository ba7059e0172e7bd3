//! The flags of the certificate ordered by the service itself.

use url::Host;

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
