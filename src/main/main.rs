//! Parse, bind, open, wire, serve, flush.

mod inputs;
mod signals;

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::limiter::{SledRateLimiter, TableLimits};
use landing_api::adapters::model::openai::HAND_OUT_GRACE;
use landing_api::adapters::model::{InterruptibleModelClient, PassageModelClient};
use landing_api::adapters::store::SledStore;
use landing_api::adapters::system::{
    SystemClock, SystemEntropy, aside, aside_while, fit_connections, wall_clock,
};
use landing_api::adapters::webhook::{self, InterruptibleNotifier};
use landing_api::app::App;
use landing_api::config::drain::Waits;
use landing_api::config::{Config, ConfigError};
use landing_api::domain::secret::SecretKeys;
use landing_api::domain::settings::Settings;
use landing_api::http::client_ip::TrustedProxies;
use landing_api::http::cors::AllowedOrigins;
use landing_api::http::pipeline::LandingService;
use landing_api::http::problem;
use landing_api::http::routes::Routes;
use landing_api::http::server::{STOP_GRACE, ServerLimits, serve};
use landing_api::ports::{Clock as _, Entropy as _, ModelClient, SubscriptionNotifier};
use landing_api::site::Site;
use landing_api::telemetry;
use tikv_jemallocator::Jemalloc;
use tokio::net::TcpSocket;
use tokio_util::sync::CancellationToken;

use inputs::{Inputs, site_facts};
use signals::stop_signal;

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

/// Connections that wait to be accepted, enough for a burst; the kernel may allow fewer.
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

/// Opens what the data directory holds, serves until told to stop, and flushes.
fn run(config: &Config, inputs: Inputs<'_>) -> Result<(), Box<dyn Error>> {
    // Before any file is opened: it raises how many there may be.
    let connections_max = fit_connections(u64::from(config.connections_max));
    let data_dir = DataDir::open(&config.data_dir, &SystemEntropy)?;
    // If somebody listens there already, it is told now. Nobody can connect before all is there.
    let socket = bind(config.listen)?;
    let bound = socket.local_addr()?;
    let settings = config.settings(bound);
    warn_of_address(config, bound, &settings);
    let facts = site_facts(config, settings.clone(), &Routes::default());
    // Both take a core for a while.
    let (site, opened) = aside_while(
        || Site::render(&facts, &problem::pages(), &inputs.site_files),
        || Stores::open(config, &data_dir),
    )?;
    let stores = opened?;

    let served = site.map_err(Into::into).and_then(|site| {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()?;
        let serving = async {
            let secrets = data_dir.secret().keys();
            let interrupt = CancellationToken::new();
            let service = wire(
                config, inputs, &stores, secrets, settings, &site, &interrupt,
            )?;
            // Whoever needs some of it has a copy.
            aside(move || drop(site))?;
            let limits = ServerLimits {
                connections_max,
                drain_deadline: config.drain_deadline(WAITS),
                ..ServerLimits::default()
            };
            let stop = stop_signal(interrupt.clone())?;
            let listener = socket
                .listen(BACKLOG)
                .map_err(cannot_listen(config.listen))?;
            print(&format!("listening on http://{bound}\n"));
            serve(listener, Arc::new(service), limits, stop, interrupt).await;
            Ok(())
        };
        let served = runtime.block_on(serving);
        // Dropping it would wait for every thread that looks a name up, however long.
        runtime.shutdown_timeout(LOOK_UP_GRACE);
        served
    });

    // However it ended: what is closed well need not be made anew at the next start.
    stores.close();
    tracing::info!("stopped");
    served
}

/// What the data directory holds.
struct Stores {
    /// Contacts, keys and revoked tokens.
    contacts: Arc<SledStore>,
    /// The windows.
    limiter: Arc<SledRateLimiter>,
}

impl Stores {
    fn open(config: &Config, data_dir: &DataDir) -> Result<Self, Box<dyn Error>> {
        let contacts = Arc::new(SledStore::open(data_dir, SystemClock.now())?);
        let limiter = SledRateLimiter::open(
            &data_dir.windows(),
            data_dir.secret().keys().limiter,
            &config.policies,
            Arc::new(SystemClock),
            TableLimits::default(),
        );
        match limiter {
            Ok(limiter) => Ok(Self {
                contacts,
                limiter: Arc::new(limiter),
            }),
            Err(error) => {
                close(&contacts);
                Err(error.into())
            }
        }
    }

    fn close(&self) {
        self.limiter.close();
        close(&self.contacts);
    }
}

fn close(contacts: &SledStore) {
    if let Err(error) = contacts.close() {
        tracing::warn!(%error, "the next start makes the index anew; nothing is lost");
    }
}

/// The service with all that it works with. What an operation waits for of others ends with
/// `interrupt`.
fn wire(
    config: &Config,
    inputs: Inputs<'_>,
    stores: &Stores,
    secrets: SecretKeys,
    settings: Settings,
    site: &Site,
    interrupt: &CancellationToken,
) -> Result<LandingService, Box<dyn Error>> {
    let model: Arc<dyn ModelClient> = match inputs.model {
        Some(model) => Arc::new(model.client(&settings.service_name, site)?),
        None => Arc::new(PassageModelClient::new(site.passages().to_vec())),
    };
    let notifier = inputs.notifier.map(|it| -> Arc<dyn SubscriptionNotifier> {
        Arc::new(InterruptibleNotifier::new(it, interrupt.clone()))
    });
    let app = App {
        contacts: stores.contacts.clone(),
        notifier,
        keys: stores.contacts.clone(),
        revocations: stores.contacts.clone(),
        model: Arc::new(InterruptibleModelClient::new(model, interrupt.clone())),
        limiter: stores.limiter.clone(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        secrets,
        settings,
    };
    let mut id_seed = [0; 16];
    SystemEntropy.fill(&mut id_seed)?;
    let service = LandingService::new(Arc::new(app), site, id_seed, WAITS.body)
        .routing(Routes::default())
        .allowing(AllowedOrigins::new(config.outside.allowed_origins.clone()))
        .behind(TrustedProxies::new(config.outside.trusted_proxies.clone()));
    Ok(service)
}

/// A socket that has `address` and does not listen yet.
fn bind(address: SocketAddr) -> Result<TcpSocket, String> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let bound = socket.and_then(|socket| {
        // A restart need not wait for the connections of the process before.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        Ok(socket)
    });
    bound.map_err(cannot_listen(address))
}

/// The line about an address that cannot be had.
fn cannot_listen(address: SocketAddr) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot listen on {address}: {error}")
}

/// Tells of an address that only this machine understands.
fn warn_of_address(config: &Config, bound: SocketAddr, settings: &Settings) {
    if config.base_url.is_none() && bound.ip().is_unspecified() {
        tracing::warn!(
            settings.base_url,
            "listening on all addresses without --base-url: clients elsewhere will be told this \
             address, which is theirs and not yours"
        );
    }
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
