//! Parse, open, wire, bind, serve, flush.

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::limiter::{SledRateLimiter, TableLimits};
use landing_api::adapters::model::openai::{
    ApiKey, HAND_OUT_GRACE, ModelAddress, OpenAiError, OpenAiSettings, page_prompt,
};
use landing_api::adapters::model::{
    InterruptibleModelClient, OpenAiModelClient, PassageModelClient,
};
use landing_api::adapters::operator_file;
use landing_api::adapters::outbound::{NoRoots, Roots};
use landing_api::adapters::site_dir::{self, SiteText};
use landing_api::adapters::store::SledStore;
use landing_api::adapters::system::{
    SystemClock, SystemEntropy, aside, fit_connections, wall_clock,
};
use landing_api::adapters::webhook::signature::WebhookSecret;
use landing_api::adapters::webhook::{self, InterruptibleNotifier, WebhookNotifier};
use landing_api::app::App;
use landing_api::config::drain::Waits;
use landing_api::config::outside::Outside;
use landing_api::config::{Config, ConfigError, ModelConfig};
use landing_api::domain::secret::SecretKeys;
use landing_api::domain::settings::Settings;
use landing_api::http::cors::AllowedOrigins;
use landing_api::http::forwarded::TrustedProxies;
use landing_api::http::problem;
use landing_api::http::routes::Routes;
use landing_api::http::server::{STOP_GRACE, ServerLimits, serve};
use landing_api::http::service::LandingService;
use landing_api::ports::{Clock as _, Entropy as _, ModelClient, SubscriptionNotifier};
use landing_api::site::{Site, SiteFacts, SiteFile};
use landing_api::telemetry;
use tikv_jemallocator::Jemalloc;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

/// What a request may wait for beside its model.
const WAITS: Waits = Waits {
    head: STOP_GRACE,
    body: Duration::from_secs(10),
    provider: webhook::DEADLINE,
    // As long as the client of the model gives a slow reader beyond the model's own time.
    hand_out: HAND_OUT_GRACE,
};

/// Connections that wait to be accepted; the kernel may allow fewer.
const BACKLOG: u32 = 4096;

/// How long a look-up of a name may hold up the end.
const LOOK_UP_GRACE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let config = match Config::parse(std::env::args_os()) {
        Ok(config) => config,
        Err(ConfigError::Shown(text)) => {
            print(&text);
            return ExitCode::SUCCESS;
        }
        Err(ConfigError::Wrong(line)) => {
            complain(&line);
            return ExitCode::from(2);
        }
    };
    let log = telemetry::init(config.log_level, config.is_log_json, wall_clock);
    let ended = Inputs::load(&config)
        .map_err(|line| (ExitCode::from(2), line))
        .and_then(|inputs| {
            run(&config, inputs).map_err(|error| (ExitCode::FAILURE, error.to_string()))
        });
    // Why it ended stands last.
    drop(log);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => {
            complain(&format!("error: {line}"));
            code
        }
    }
}

/// What the flags name beyond the data directory, read before that is opened.
struct Inputs<'a> {
    model: Option<ModelSource<'a>>,
    notifier: Option<Arc<dyn SubscriptionNotifier>>,
    site_files: Vec<SiteFile>,
}

impl<'a> Inputs<'a> {
    /// Reads the files and checks them.
    ///
    /// # Errors
    /// The line about the flag that is wrong.
    fn load(config: &'a Config) -> Result<Self, String> {
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
fn site_facts(config: &Config, settings: Settings, routes: &Routes) -> SiteFacts {
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

/// Opens what the data directory holds, serves until told to stop, and flushes.
fn run(config: &Config, inputs: Inputs<'_>) -> Result<(), Box<dyn Error>> {
    let connections_max = fit_connections(u64::from(config.connections_max));
    let data_dir = DataDir::open(&config.data_dir, &SystemEntropy)?;
    let store = Arc::new(SledStore::open(&data_dir, SystemClock.now())?);
    let secrets = data_dir.secret().keys();
    let limiter = Arc::new(SledRateLimiter::open(
        &data_dir.windows(),
        secrets.limiter.clone(),
        &config.policies,
        Arc::new(SystemClock),
        TableLimits::default(),
    )?);

    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| {
            let serving =
                listen_and_serve(config, inputs, &store, &limiter, secrets, connections_max);
            let served = runtime.block_on(serving);
            // Dropping it would wait for every thread that looks a name up, however long.
            runtime.shutdown_timeout(LOOK_UP_GRACE);
            served
        });

    // However it ended: what is closed well need not be made anew at the next start.
    limiter.close();
    if let Err(error) = store.close() {
        tracing::warn!(%error, "the next start makes the index anew; nothing is lost");
    }
    tracing::info!("stopped");
    served
}

/// Binds, wires, and serves until told to stop.
async fn listen_and_serve(
    config: &Config,
    inputs: Inputs<'_>,
    store: &Arc<SledStore>,
    limiter: &Arc<SledRateLimiter>,
    secrets: SecretKeys,
    connections_max: usize,
) -> Result<(), Box<dyn Error>> {
    let listener = bind(config.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", config.listen))?;
    let bound = listener.local_addr()?;
    let settings = settings(config, bound);
    let routes = Routes::default();
    let facts = site_facts(config, settings.clone(), &routes);
    let site = aside(|| Site::render(&facts, &problem::pages(), &inputs.site_files))??;
    let model: Arc<dyn ModelClient> = match inputs.model {
        Some(model) => Arc::new(model.client(&settings.service_name, &site)?),
        None => Arc::new(PassageModelClient::new(site.passages().to_vec())),
    };
    let interrupt = CancellationToken::new();
    let notifier = inputs.notifier.map(|it| -> Arc<dyn SubscriptionNotifier> {
        Arc::new(InterruptibleNotifier::new(it, interrupt.clone()))
    });
    let app = App {
        contacts: store.clone(),
        notifier,
        keys: store.clone(),
        revocations: store.clone(),
        model: Arc::new(InterruptibleModelClient::new(model, interrupt.clone())),
        limiter: limiter.clone(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        secrets,
        settings,
    };
    let mut id_seed = [0; 16];
    SystemEntropy.fill(&mut id_seed)?;
    let service = LandingService::new(Arc::new(app), &site, id_seed, WAITS.body)
        .routing(routes)
        .allowing(AllowedOrigins::new(config.outside.allowed_origins.clone()))
        .behind(TrustedProxies::new(config.outside.trusted_proxies.clone()));
    // Whoever needs some of it has a copy.
    aside(move || drop(site))?;
    let limits = ServerLimits {
        connections_max,
        drain_deadline: config.drain_deadline(WAITS),
        ..ServerLimits::default()
    };
    let stop = stop_signal(interrupt.clone())?;
    print(&format!("listening on http://{bound}\n"));
    serve(listener, Arc::new(service), limits, stop, interrupt).await;
    Ok(())
}

/// Like `TcpListener::bind`, with a queue that holds a burst of new connections.
fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restart need not wait for the connections of the process before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A model of the operator's own, with the files that its flags name.
struct ModelSource<'a> {
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

    fn client(self, service_name: &str, site: &Site) -> Result<OpenAiModelClient, OpenAiError> {
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

/// The operator's decisions, for a service that listens on `bound`.
fn settings(config: &Config, bound: SocketAddr) -> Settings {
    let settings = config.settings(bound);
    if config.base_url.is_none() && bound.ip().is_unspecified() {
        tracing::warn!(
            settings.base_url,
            "listening on all addresses without --base-url: clients elsewhere will be told this \
             address, which is theirs and not yours"
        );
    }
    settings
}

/// SIGTERM and SIGINT, which mean the same.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Waits for one.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ready once a signal has come; the next one cancels `interrupt`.
fn stop_signal(interrupt: CancellationToken) -> std::io::Result<impl Future<Output = ()>> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    Ok(async move {
        signals.next().await;
        tracing::info!("stopping: requests in flight may finish, unless a second signal comes");
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal: stopping at once");
            interrupt.cancel();
        });
    })
}

/// Writes to standard output: nobody can be told if that fails.
fn print(text: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line to standard error.
fn complain(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
