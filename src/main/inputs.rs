//! What the flags name beyond the data directory: the operator's files for the site, the model's and
//! the webhook's secrets, and whom both trust.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::{
    ApiKey, ModelAddress, OpenAiError, OpenAiSettings, page_prompt,
};
use landing_api::adapters::operator_file;
use landing_api::adapters::outbound::{NoRoots, Roots};
use landing_api::adapters::site_dir::{self, SiteText};
use landing_api::adapters::system::aside;
use landing_api::adapters::webhook::WebhookNotifier;
use landing_api::adapters::webhook::signature::WebhookSecret;
use landing_api::config::outside::Outside;
use landing_api::config::{Config, ModelConfig};
use landing_api::domain::settings::Settings;
use landing_api::http::problem;
use landing_api::http::routes::Routes;
use landing_api::ports::SubscriptionNotifier;
use landing_api::site::{Site, SiteFacts, SiteFile};

/// What the flags name beyond the data directory, read before that is opened.
pub(crate) struct Inputs<'a> {
    pub(crate) model: Option<ModelSource<'a>>,
    pub(crate) notifier: Option<Arc<dyn SubscriptionNotifier>>,
    pub(crate) site_files: Vec<SiteFile>,
}

impl<'a> Inputs<'a> {
    /// Reads the files and checks them.
    ///
    /// # Errors
    /// The line about the flag that is wrong.
    pub(crate) fn load(config: &'a Config) -> Result<Self, String> {
        Ok(Self {
            model: config.model.as_ref().map(ModelSource::load).transpose()?,
            notifier: open_notifier(&config.outside)?,
            site_files: load_site_files(config)?,
        })
    }
}

/// The operator's files for the site, of which a site can be made.
///
/// # Errors
/// The line about the file that is wrong.
fn load_site_files(config: &Config) -> Result<Vec<SiteFile>, String> {
    let Some(dir) = &config.site_dir else {
        return Ok(Vec::new());
    };
    let wrong = |error: &dyn Error| format!("--site-dir: {}: {error}", dir.display());
    let texts = site_dir::read(dir).map_err(|error| wrong(&error))?;
    let files = texts
        .into_iter()
        .map(|SiteText { name, text }| SiteFile { name, text });
    let files: Vec<_> = files.collect();
    // On trial: the address bound may differ yet, but not what is wrong with a file.
    let facts = site_facts(config, config.settings(config.listen), &Routes::default());
    aside(|| Site::render(&facts, &problem::pages(), &files).map(drop))
        .map_err(|error| error.to_string())?
        .map_err(|error| wrong(&error))?;
    Ok(files)
}

/// What the documents tell.
pub(crate) fn site_facts(config: &Config, settings: Settings, routes: &Routes) -> SiteFacts {
    SiteFacts {
        settings,
        has_model: config.model.is_some(),
        passes_sign_ups_on: config.outside.webhook.is_some(),
        allowed_origins: config.outside.allowed_origins.clone(),
        trusts_proxies: !config.outside.trusted_proxies.is_empty(),
        deprecated: routes.deprecated(),
    }
}

/// What tells the newsletter's provider, if there is one.
///
/// # Errors
/// The line about the flag that is wrong.
fn open_notifier(outside: &Outside) -> Result<Option<Arc<dyn SubscriptionNotifier>>, String> {
    let Some(webhook) = &outside.webhook else {
        return Ok(None);
    };
    let secret = match &webhook.secret_file {
        Some(path) => {
            let flag = "--newsletter-webhook-secret-file";
            let wrong = |error: String| format!("{flag}: {}: {error}", path.display());
            let text =
                operator_file::read_secret(path).map_err(|error| wrong(error.to_string()))?;
            let secret = WebhookSecret::parse(&text).map_err(|error| wrong(error.to_string()))?;
            Some(secret)
        }
        None => None,
    };
    let url = webhook.url.as_str();
    let roots = roots(url).map_err(|error| format!("--newsletter-webhook: {error}"))?;
    let notifier = WebhookNotifier::open(url, secret, roots)
        .map_err(|error| format!("--newsletter-webhook: {error}"))?;
    Ok(Some(Arc::new(notifier)))
}

/// Who is trusted to say who answers at `url`: nobody is needed but for `https`.
fn roots(url: &str) -> Result<Roots, NoRoots> {
    if url.starts_with("https://") {
        let named_file = std::env::var_os("SSL_CERT_FILE")
            .filter(|name| !name.is_empty())
            .map(PathBuf::from);
        Roots::of_system(named_file.as_deref())
    } else {
        Ok(Roots::of([]))
    }
}

/// A model of the operator's own, with the files that its flags name.
pub(crate) struct ModelSource<'a> {
    config: &'a ModelConfig,
    address: ModelAddress,
    key: Option<ApiKey>,
    prompt: Option<String>,
    roots: Roots,
}

impl<'a> ModelSource<'a> {
    /// Reads the files.
    ///
    /// # Errors
    /// One line that names the flag at fault.
    fn load(config: &'a ModelConfig) -> Result<Self, String> {
        let wrong =
            |flag: &str, path: &Path, why: String| format!("{flag}: {}: {why}", path.display());
        let key = match &config.key_file {
            Some(path) => {
                let wrong = |why| wrong("--model-key-file", path, why);
                let text =
                    operator_file::read_secret(path).map_err(|error| wrong(error.to_string()))?;
                Some(ApiKey::parse(&text).map_err(|error| wrong(error.to_string()))?)
            }
            None => None,
        };
        let prompt = match &config.prompt_file {
            Some(path) => Some(
                operator_file::read(path)
                    .map_err(|error| wrong("--assistant-prompt-file", path, error.to_string()))?,
            ),
            None => None,
        };
        let address =
            ModelAddress::parse(&config.url).map_err(|error| format!("--model-url: {error}"))?;
        let roots = roots(&config.url).map_err(|error| format!("--model-url: {error}"))?;
        Ok(Self {
            config,
            address,
            key,
            prompt,
            roots,
        })
    }

    /// The client of the model, of a service of that name.
    ///
    /// # Errors
    /// [`OpenAiError`] when there cannot be one.
    pub(crate) fn client(
        self,
        service_name: &str,
        site: &Site,
    ) -> Result<OpenAiModelClient, OpenAiError> {
        let config = self.config;
        let settings = OpenAiSettings {
            address: self.address,
            model: config.name.clone(),
            key: self.key,
            system_prompt: self
                .prompt
                .unwrap_or_else(|| page_prompt(service_name, site.passages())),
            params: config.params.clone(),
            timeout: config.timeout,
            concurrency: config.concurrency,
        };
        OpenAiModelClient::new(settings, self.roots)
    }
}
