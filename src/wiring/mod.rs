//! Opens what the flags name: the operator's site files, the model client, the newsletter provider, the
//! stores ([`stores`]) and the engines that several nodes share ([`engines`]). An error about a flag is one
//! line that begins with the flag.

pub mod engines;
pub mod stores;

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::postgres::PostgresOpenError;
use crate::adapters::files::OpenError;
use crate::adapters::files::data_dir::TLS;
use crate::adapters::files::operator_file::{self, PasswordFile};
use crate::adapters::files::pem::Certificates;
use crate::adapters::files::read_up_to;
use crate::adapters::files::site_dir::{self, IMAGE_BYTES_MAX, SiteDir};
use crate::adapters::model::PassageModelClient;
use crate::adapters::model::openai::{
    OpenAiModelClient, OpenAiSettings, bearer_token, chat_completions, page_prompt,
};
use crate::adapters::outbound::Roots;
use crate::adapters::outbound::smtp::{SmtpMailSender, SmtpSettings};
use crate::adapters::outbound::webhook::{WebhookClient, WebhookSecrets};
use crate::adapters::tls::OwnCertificate;
use crate::adapters::tls::acme::{AcmeClient, AcmeSettings};
use crate::config::{Args, WebhookMode};
use crate::domain::{Content, Conversation, Message, RelaySecurity, Role, Settings};
use crate::ports::{ModelClient, WebhookSender};
use crate::site::image::is_image;
use crate::site::{Image, ProblemPage, Site, SiteFacts, SiteFile, SiteImage};

/// The stores cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StoresError {
    /// A flag or its file is wrong. The line begins with the flag.
    #[error("{0}")]
    Flag(String),
    #[error("--store: {0}")]
    Database(#[from] PostgresOpenError),
    #[error(transparent)]
    DataDir(#[from] OpenError),
    /// The limiter's thread cannot be started.
    #[error(transparent)]
    Thread(#[from] io::Error),
}

impl From<String> for StoresError {
    fn from(line: String) -> Self {
        Self::Flag(line)
    }
}

/// The documents. Only the operator's own files can cause an error, and names and addresses too long for an email.
pub fn site(args: &Args, settings: &Settings, problems: &[ProblemPage]) -> Result<Site, String> {
    let (files, images) = site_files(args)?;
    let dir = args.site_dir.clone().unwrap_or_default();
    let image =
        |flag: &str, path: &Option<PathBuf>, parse: fn(Vec<u8>) -> Result<Image, String>| {
            let path = path.as_ref()?;
            let bytes = read_up_to(path, IMAGE_BYTES_MAX).map_err(|error| error.to_string());
            Some(bytes.and_then(parse).map_err(at(flag, path)))
        };
    let facts = SiteFacts {
        settings: settings.clone(),
        logo: image("--site-logo", &args.site_logo, Image::logo).transpose()?,
        picture: image("--site-picture", &args.site_picture, Image::picture).transpose()?,
    };
    Site::render(&facts, problems, &files, &images).map_err(at("--site-dir", &dir))
}

/// The texts and images of `--site-dir`.
fn site_files(args: &Args) -> Result<(Vec<SiteFile>, Vec<SiteImage>), String> {
    let Some(dir) = &args.site_dir else {
        return Ok((Vec::new(), Vec::new()));
    };
    let SiteDir { texts, images } = site_dir::read(dir, is_image).map_err(at("--site-dir", dir))?;
    let texts = texts
        .into_iter()
        .map(|(name, text)| SiteFile { name, text });
    Ok((texts.collect(), images))
}

/// The model that answers visitors: the one named by the flags, or a search of the site's own pages. Its
/// waits end when `interrupt` is cancelled.
pub fn model_client(
    args: &Args,
    site: &Site,
    interrupt: &CancellationToken,
) -> Result<Arc<dyn ModelClient>, String> {
    let Some(model) = &args.model else {
        return Ok(Arc::new(passage_model(site)));
    };
    let key = read_secret("--model-key-file", model.key_file.as_deref(), bearer_token)?;
    let system_prompt = match &model.prompt_file {
        Some(path) => operator_file::read(path).map_err(at("--assistant-prompt-file", path))?,
        None => page_prompt(&args.service_name, &site.passages),
    };
    let params = model.params.iter().cloned();
    let settings = OpenAiSettings {
        address: chat_completions(&model.url).map_err(of("--model-url"))?,
        model: model.name.clone(),
        key,
        system_prompt,
        params: params.map(|param| (param.0, param.1)).collect(),
        thinks_first: model.thinks_first,
        timeout: model.timeout,
        concurrency: usize::from(model.concurrency),
    };
    let roots = roots(&model.url).map_err(of("--model-url"))?;
    let client = OpenAiModelClient::new(settings, roots, interrupt.clone());
    Ok(Arc::new(client))
}

/// Answers from the site's pages while the configured model is unavailable, if the flags ask for it.
pub fn model_fallback(args: &Args, site: &Site) -> Option<Arc<dyn ModelClient>> {
    let model = args.model.as_ref()?;
    model
        .falls_back
        .then(|| Arc::new(passage_model(site).as_fallback()) as _)
}

fn passage_model(site: &Site) -> PassageModelClient {
    PassageModelClient::new(&site.passages, &site.assistant_texts)
}

/// Asks the configured model a question and returns its answer.
pub async fn ask_model(
    args: &Args,
    site: &Site,
    interrupt: &CancellationToken,
) -> Result<String, String> {
    let client = model_client(args, site, interrupt)?;
    let content = Content::parse("What is this site about?".to_owned());
    let content = content.map_err(|error| error.to_string())?;
    let role = Role::User;
    let question = Conversation::parse(vec![Message { role, content }]);
    let question = question.ok_or("no question")?;
    let answer = client.reply(&question, None).await;
    Ok(answer.map_err(|error| error.to_string())?.text)
}

/// The operator's webhook, if the flags name one.
pub fn newsletter_webhook(args: &Args) -> Result<Option<Arc<dyn WebhookSender>>, String> {
    let Some(url) = &args.newsletter_webhook else {
        return Ok(None);
    };
    let secrets = read_secret(
        "--newsletter-webhook-secret-file",
        args.newsletter_webhook_secret_file.as_deref(),
        WebhookSecrets::parse,
    )?;
    let flag = "--newsletter-webhook";
    let roots = roots(&url.0).map_err(of(flag))?;
    let base_url = args.public_origin();
    let is_direct = args.newsletter_webhook_mode == WebhookMode::Direct;
    let client = WebhookClient::open(&url.0, secrets, base_url, roots, is_direct);
    Ok(Some(Arc::new(client.map_err(of(flag))?)))
}

/// Sends email, if the flags name an SMTP account.
pub fn mail_sender(args: &Args) -> Result<Option<Arc<SmtpMailSender>>, String> {
    let Some(mail) = &args.mail else {
        return Ok(None);
    };
    let mut sender = mail.mail_from.clone();
    sender.name.get_or_insert_with(|| args.service_name.clone());
    let settings = SmtpSettings {
        relay: mail.smtp_url.clone(),
        password_file: password_file("--smtp-password-file", mail.smtp_password_file.as_deref())?,
        sender,
    };
    let has_tls = mail.smtp_url.security != RelaySecurity::Clear;
    let opened =
        roots_for(has_tls, Vec::new()).and_then(|roots| SmtpMailSender::open(settings, roots));
    Ok(Some(Arc::new(opened.map_err(of("--smtp-url"))?)))
}

/// The certificate of the built-in TLS.
#[derive(Clone)]
pub enum RenewedCertificate {
    /// From files, which are reread.
    Read(Arc<OwnCertificate>),
    /// Ordered from an ACME authority, and renewed.
    Ordered(Arc<AcmeClient>),
}

impl RenewedCertificate {
    pub fn certificate(&self) -> &Arc<OwnCertificate> {
        match self {
            Self::Read(certificate) => certificate,
            Self::Ordered(orders) => &orders.certificate,
        }
    }
}

/// The certificate of the service's built-in TLS, if the flags ask for one. Nothing is written.
pub fn own_certificate(args: &Args) -> Result<Option<RenewedCertificate>, String> {
    let acme = &args.acme;
    match (&args.tls_cert, &args.tls_key, &args.data_dir) {
        (Some(chain), Some(key), _) => {
            let certificate = Arc::new(OwnCertificate::open(chain, key)?);
            Ok(Some(RenewedCertificate::Read(certificate)))
        }
        (None, _, Some(data_dir)) if acme.is_given() => {
            let orders = AcmeClient::open(AcmeSettings {
                names: acme.domains.clone(),
                directory: acme.directory().to_owned(),
                dir: data_dir.join(TLS),
                roots: roots(acme.directory()).map_err(of("--acme-directory"))?,
            })?;
            Ok(Some(RenewedCertificate::Ordered(Arc::new(orders))))
        }
        _ => Ok(None),
    }
}

fn read_secret<T, E: Display>(
    flag: &str,
    path: Option<&Path>,
    parse: fn(&str) -> Result<T, E>,
) -> Result<Option<T>, String> {
    let Some(path) = path else {
        return Ok(None);
    };
    let text = operator_file::read_secret(path).map_err(at(flag, path))?;
    parse(&text).map(Some).map_err(at(flag, path))
}

fn password_file(flag: &str, path: Option<&Path>) -> Result<Option<PasswordFile>, String> {
    let opened = path.map(|path| PasswordFile::open(path).map_err(at(flag, path)));
    opened.transpose()
}

/// The certificate authorities for `url`. Only `https` needs any.
pub fn roots(url: &str) -> Result<Roots, String> {
    roots_for(url.starts_with("https://"), Vec::new())
}

/// The certificate authorities, needed only by TLS: the system's, and `more`.
fn roots_for(tls: bool, more: Certificates) -> Result<Roots, String> {
    if !tls {
        return Ok(Roots::of([]));
    }
    let named_file = std::env::var_os("SSL_CERT_FILE").filter(|name| !name.is_empty());
    Roots::of_system(named_file.map(PathBuf::from).as_deref(), more)
}

fn of<E: Display>(flag: &str) -> impl Fn(E) -> String {
    move |error| format!("{flag}: {error}")
}

fn at<E: Display>(flag: &str, path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{flag}: {}: {error}", path.display())
}
