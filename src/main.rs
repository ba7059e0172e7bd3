//! The program: parse; then bind, open, wire, serve and flush, or run a command of the operator.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::admin_socket::AdminSocket;
use landing_api::adapters::counts::{FileCountStore, HourlyCounting};
use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::listener::PublicSocket;
use landing_api::adapters::model::openai::SLOW_READER_GRACE;
use landing_api::adapters::system::{SystemClock, SystemEntropy, fit_connections, user_id};
use landing_api::adapters::systemd;
use landing_api::adapters::threads::{check_threads, write_to_pipe};
use landing_api::adapters::webhook;
use landing_api::app::App;
use landing_api::cli::{self, CommandError};
use landing_api::config::{Args, Command, Invocation, LogFormat, RequestDeadlines};
use landing_api::http::admin::AdminService;
use landing_api::http::admin::page::{AdminPage, Sessions};
use landing_api::http::admin::socket::serve_socket;
use landing_api::http::admin::web::serve_web;
use landing_api::http::client_ip::TrustedProxies;
use landing_api::http::cors::AllowedOrigins;
use landing_api::http::endpoints::{self, DEPRECATIONS};
use landing_api::http::problem;
use landing_api::http::server::{STOP_GRACE, ServerLimits, serve};
use landing_api::http::service::LandingService;
use landing_api::metrics::{LastError, Metrics};
use landing_api::ports::{Clock as _, Entropy as _};
use landing_api::site::Site;
use landing_api::wiring::stores::Stores;
use landing_api::{telemetry, wiring};
use tikv_jemallocator::Jemalloc;
use tokio::net::{TcpListener as WebListener, UnixListener};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Level;

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const DEADLINES: RequestDeadlines = RequestDeadlines {
    head: STOP_GRACE,
    body: Duration::from_secs(10),
    provider: webhook::DEADLINE,
    model_reader: SLOW_READER_GRACE,
};

/// How long a look-up of a name may delay the end of the process.
const LOOK_UP_GRACE: Duration = Duration::from_secs(1);

/// Why the program ends without success.
enum Failure {
    /// A flag names something that cannot be used: exit status 2.
    Flag(String),
    /// Exit status 1.
    Run(Box<dyn Error>),
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Run(Box::new(error))
    }
}

fn main() -> ExitCode {
    match Invocation::load(std::env::args_os()) {
        Ok(Invocation::Serve(args)) => serve_with(&args),
        Ok(Invocation::Operate { command, args }) => operate(command, args.map(|args| *args)),
        Err(error) => {
            let status = u8::try_from(error.exit_code()).unwrap_or(2);
            // Fails only if nobody reads it.
            write_to_pipe(move || drop(error.print()));
            ExitCode::from(status)
        }
    }
}

/// Runs a command of the operator.
fn operate(command: Command, args: Option<Args>) -> ExitCode {
    let log = telemetry::init(Level::WARN, false, |_text| {});
    let ended = Runtime::new()
        .map_err(CommandError::from)
        .and_then(|runtime| {
            let ended = runtime.block_on(cli::run(command, args.as_ref()));
            // A thread may still wait for standard input.
            runtime.shutdown_background();
            ended
        });
    drop(log);
    match ended {
        Ok(done) => ExitCode::from(done.status()),
        Err(error) => {
            let status = error.status();
            write_to_pipe(move || cli::report(&error));
            ExitCode::from(status)
        }
    }
}

/// Runs the service.
fn serve_with(args: &Args) -> ExitCode {
    let is_json = args.log_format == LogFormat::Json;
    // Before any thread, because it changes the environment.
    let passed = match systemd::passed_listener() {
        Ok(passed) => passed,
        Err(error) => return failed(is_json, Failure::from(error)),
    };
    // The log has a thread, too.
    if let Err(error) = check_threads() {
        return failed(is_json, Failure::from(error));
    }
    let metrics = Arc::new(Metrics::new(endpoints::names()).of_data_dir(&args.data_dir));
    let warned = Arc::clone(&metrics);
    let on_warning = move |text| {
        let at = SystemClock.now();
        warned.set_last_error(LastError { at, text });
    };
    let log = telemetry::init(args.log_level, is_json, on_warning);
    let ended = Runtime::new().map_err(Into::into).and_then(|runtime| {
        let mut stores = Stores::default();
        let ended = runtime.block_on(run(args, passed, metrics, &mut stores));
        // Dropping it would wait for every thread that looks a name up.
        runtime.shutdown_timeout(LOOK_UP_GRACE);
        // After the last task, which may have charged or recorded something.
        let closed = stores.close().map_err(Failure::from);
        ended.and(closed)
    });
    if ended.is_ok() {
        tracing::info!(log.dropped = log.dropped_lines(), "stopped");
    }
    // The error is the last line.
    write_to_pipe(move || drop(log));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failed(is_json, failure),
    }
}

/// Prints the error, and returns the exit status.
fn failed(is_json: bool, failure: Failure) -> ExitCode {
    let (status, line) = match failure {
        Failure::Flag(line) => (2, line),
        Failure::Run(error) => (1, error.to_string()),
    };
    // Fails only if nobody reads it.
    write_to_pipe(move || drop(telemetry::write_failure(is_json, &line)));
    ExitCode::from(status)
}

/// Serves until asked to stop. The stores block the main thread while they open: no request is
/// served then.
async fn run(
    args: &Args,
    passed: Option<TcpListener>,
    metrics: Arc<Metrics>,
    stores: &mut Stores,
) -> Result<(), Failure> {
    // Raises the limit on open files, so it comes before any is opened.
    let connections_max = fit_connections(u64::from(args.connections_max));
    // An address in use is reported before the data directory is touched.
    let socket = PublicSocket::open(passed, args.listen)?;
    let bound = socket.local_addr()?;
    let admin_listener = match args.admin_listen {
        Some(address) => Some(bind_admin(address).await?),
        None => None,
    };
    let settings = args.settings(bound);
    if args.base_url.is_none() && bound.ip().is_unspecified() {
        tracing::warn!(
            settings.base_url,
            "listening on all addresses without --base-url: clients elsewhere will be told this \
             address, which is theirs and not yours"
        );
    }
    let site =
        wiring::site(args, &settings, &problem::pages(), DEPRECATIONS).map_err(Failure::Flag)?;
    let interrupt = CancellationToken::new();
    let model = wiring::model_client(args, &site, &interrupt).map_err(Failure::Flag)?;
    let notifier = wiring::notifier(args, &interrupt).map_err(Failure::Flag)?;

    systemd::notify_status("opening the data directory");
    let data_dir = DataDir::open(&args.data_dir, &SystemEntropy)?;
    let secrets = data_dir.secret().keys();
    let limiter = stores.open_limiter(&data_dir, &settings.policies)?;
    let store = stores.open_ledger(&data_dir, Arc::clone(&metrics))?;
    let app = App {
        contacts: store.clone(),
        notifier,
        keys: store.clone(),
        revocations: store.clone(),
        maintenance: store.clone(),
        model,
        limiter,
        counts: Arc::new(FileCountStore::open(&data_dir.counts())),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
        secrets,
        settings,
        metrics,
    };
    let app = Arc::new(app);
    let counting = HourlyCounting::start(&app.counts, &app.metrics, &app.clock);
    let operator = Operator::start(data_dir.path(), Arc::clone(&app), admin_listener)?;
    let served = listen(args, socket, connections_max, app, &site, interrupt).await;
    operator.stop().await;
    counting.finish().await;
    served
}

async fn bind_admin(address: SocketAddr) -> io::Result<WebListener> {
    WebListener::bind(address).await.map_err(|error| {
        let why = format!("--admin-listen: cannot listen on {address}: {error}");
        io::Error::new(error.kind(), why)
    })
}

/// What answers the operator's commands and shows the admin page.
struct Operator {
    /// Its file is removed on drop.
    _socket: AdminSocket,
    stop: CancellationToken,
    web: Option<JoinHandle<()>>,
}

impl Operator {
    /// Begins to answer the commands on `data_dir`, and browsers that connect to `web`.
    fn start(data_dir: &Path, app: Arc<App>, web: Option<WebListener>) -> Result<Self, Failure> {
        let socket = AdminSocket::bind(data_dir).map_err(|error| {
            let path = data_dir.display();
            io::Error::new(
                error.kind(),
                format!("cannot make {path}/admin.sock: {error}"),
            )
        })?;
        let listener = UnixListener::from_std(socket.listener()?)?;
        let stop = CancellationToken::new();
        let mut service = AdminService::new(Arc::clone(&app));
        let web = match web {
            Some(listener) => {
                let address = listener.local_addr()?;
                let sessions = Arc::new(Sessions::new(Arc::clone(&app.entropy), address));
                service = service.with_page(Arc::clone(&sessions));
                let page = Arc::new(AdminPage::new(app, sessions)?);
                tracing::info!(%address, "the admin page is there: see landing-api admin link");
                Some(tokio::spawn(serve_web(listener, page, stop.clone())))
            }
            None => None,
        };
        let service = Arc::new(service);
        tokio::spawn(serve_socket(listener, user_id(), service, stop.clone()));
        Ok(Self {
            _socket: socket,
            stop,
            web,
        })
    }

    /// Interrupts the commands that have not finished, and lets the admin page finish what was begun.
    async fn stop(self) {
        self.stop.cancel();
        if let Some(web) = self.web {
            // Fails only if it panicked, which the log tells.
            let _ = web.await;
        }
    }
}

/// Starts to listen, announces it on standard output, and serves.
async fn listen(
    args: &Args,
    socket: PublicSocket,
    connections_max: usize,
    app: Arc<App>,
    site: &Site,
    interrupt: CancellationToken,
) -> Result<(), Failure> {
    let bound = socket.local_addr()?;
    let mut id_seed = [0; 16];
    SystemEntropy.fill(&mut id_seed)?;
    let hsts_max_age_s = args.hsts_max_age_s(&app.settings);
    let metrics = Arc::clone(&app.metrics);
    let service = LandingService::new(app, site, id_seed, DEADLINES.body)
        .allowing(AllowedOrigins::new(args.allowed_origins.clone()))
        .behind(TrustedProxies::new(args.trusted_proxies.clone()))
        .insisting_on_https(hsts_max_age_s);
    let limits = ServerLimits {
        connections_max,
        connections_per_network: args.connections_per_network.map(|most| most as usize),
        drain_deadline: args.drain_deadline(DEADLINES),
        ..ServerLimits::default()
    };
    let stop = stop_signal(interrupt.clone(), metrics)?;
    let listener = socket.listen()?;
    systemd::notify_ready(&format!("listening on http://{bound}"));
    // Not before: a start that fails is one line.
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        flags = args.given,
        "starting"
    );
    write_to_pipe(move || {
        let mut out = io::stdout();
        // There is no other place to report a failure.
        let _ = writeln!(out, "listening on http://{bound}").and_then(|()| out.flush());
    });
    serve(listener, Arc::new(service), limits, stop, interrupt).await;
    Ok(())
}

/// Ready at the first SIGTERM or SIGINT; the second cancels `interrupt`.
fn stop_signal(
    interrupt: CancellationToken,
    metrics: Arc<Metrics>,
) -> io::Result<impl Future<Output = ()>> {
    let mut terminations = signal(SignalKind::terminate())?;
    let mut interruptions = signal(SignalKind::interrupt())?;
    let mut next = async move || {
        tokio::select! {
            _ = terminations.recv() => {}
            _ = interruptions.recv() => {}
        }
    };
    Ok(async move {
        next().await;
        systemd::notify_stopping("stopping: requests in flight may finish");
        metrics.set_stopping();
        tracing::info!("stopping: requests in flight may finish, unless a second signal comes");
        tokio::spawn(async move {
            next().await;
            tracing::warn!("second signal: stopping at once");
            interrupt.cancel();
        });
    })
}
