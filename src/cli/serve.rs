//! The service: opened, wired, served, and stopped.

use std::error::Error;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::adapters::admin_socket::AdminSocket;
use crate::adapters::listener::{self, NotifyState, PassedSockets, PublicSocket};
use crate::adapters::supervisor::supervise;
use crate::adapters::system::{SystemEntropy, fit_connections, user_id, write_to_pipe};
use crate::app::App;
use crate::config::Args;
use crate::http::answer::cors::AllowedOrigins;
use crate::http::answer::problem;
use crate::http::request::client_ip::TrustedProxies;
use crate::http::router::ENDPOINTS;
use crate::http::server::{Listeners, ServerLimits, serve};
use crate::http::service::{LandingService, ServiceOptions};
use crate::metrics::Metrics;
use crate::metrics::workers::Worker;
use crate::operator::operation::ServiceFlags;
use crate::operator::page::AdminPage;
use crate::operator::page::web::serve_web;
use crate::operator::sessions::Sessions;
use crate::operator::socket::serve_socket;
use crate::ports::random;
use crate::site::Site;
use crate::wiring::stores::{Stores, WindowsFor};
use crate::wiring::{self, RenewedCertificate, StoresError};

use super::certificate;
use super::delivering::Delivering;
use super::signals::{self, StopSignals};

/// Time for the body of a request to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Time for requests in flight to finish at a stop: the longest ones wait for the webhook.
const DRAIN_DEADLINE: Duration = Duration::from_secs(16);

/// The same with a model, and with the notice before the stop. The rest of the 90 s that systemd waits by default is for
/// the stores.
const MODEL_DRAIN_DEADLINE: Duration = Duration::from_secs(80);

/// Maximum time to remove the commands' socket at the stop.
const REMOVAL_DEADLINE: Duration = Duration::from_secs(1);

/// Maximum time that a DNS lookup may delay the exit.
const LOOK_UP_GRACE: Duration = Duration::from_secs(1);

/// Why the service does not run.
#[derive(Debug)]
pub enum ServeError {
    /// A flag has an unusable value.
    Flag(String),
    /// Anything else.
    Run(Box<dyn Error>),
}

impl<E: Error + 'static> From<E> for ServeError {
    fn from(error: E) -> Self {
        Self::Run(Box::new(error))
    }
}

/// Serves until asked to stop, on the sockets that were `passed` if there are any.
///
/// # Errors
/// [`ServeError`] when something that the service needs is unavailable.
pub fn serve_until_stopped(
    args: &Args,
    passed: PassedSockets,
    metrics: Arc<Metrics>,
) -> Result<(), ServeError> {
    let runtime = Runtime::new()?;
    let mut stores = Stores::default();
    let ended = runtime.block_on(serve_from(args, passed, metrics, &mut stores));
    // Dropping the runtime would wait for every thread with a DNS lookup.
    runtime.shutdown_timeout(LOOK_UP_GRACE);
    // After the last task, which may have charged or stored something.
    let closed = stores.close().map_err(ServeError::from);
    ended.and(closed)
}

/// Serves from `stores`, which it opens. That blocks the thread: no request is served at that time.
async fn serve_from(
    args: &Args,
    passed: PassedSockets,
    metrics: Arc<Metrics>,
    stores: &mut Stores,
) -> Result<(), ServeError> {
    signals::outlive_others(args.speaks_tls());
    // Raises the limit on open files, so it comes before any file is opened.
    let connections_max = fit_connections(u64::from(args.connections_max));
    // An address in use is reported before the data directory is touched.
    let sockets = Sockets::open(args, passed)?;
    let certificate = wiring::own_certificate(args).map_err(ServeError::Flag)?;
    let tls = certificate
        .as_ref()
        .map(|own| own.certificate().tls())
        .transpose()?;
    let bound = sockets.web.local_addr()?;
    // A socket that was passed need not be the one of --listen.
    let opt_in = args.check_opt_in(bound);
    opt_in.map_err(|why| ServeError::Flag(why.to_owned()))?;
    let settings = args.settings(bound);
    if args.public_origin().is_none() && bound.ip().is_unspecified() {
        tracing::warn!(
            settings.base_url,
            "listening on all addresses without --base-url: documents send clients on other machines to \
             localhost, which is their own machine"
        );
    }
    let interrupt = CancellationToken::new();
    let site = wiring::site(args, &settings, &problem::PAGES);
    let site = site.map_err(ServeError::Flag)?;
    let model = wiring::model_client(args, &site, &interrupt).map_err(ServeError::Flag)?;
    listener::notify(None, "opening the stores");
    let windows = WindowsFor::Service;
    let opened = stores.open(args, windows, settings, Arc::clone(&metrics));
    let app = match opened.await {
        Err(StoresError::Flag(line)) => return Err(ServeError::Flag(line)),
        opened => opened?,
    };
    let app = Arc::new(App {
        opt_in: args.opt_in.then(|| site.letters.clone()),
        model,
        model_fallback: wiring::model_fallback(args, &site),
        ..app
    });
    let delivering = Delivering::start(&app);
    let admin = AdminSide::start(args, &app, sockets.admin)?;
    let service = Arc::new(public_service(args, app, site));
    let limits = ServerLimits {
        connections_max,
        drain_deadline: match args.model {
            None => DRAIN_DEADLINE,
            Some(_) => MODEL_DRAIN_DEADLINE - args.drain_notice,
        },
        ..ServerLimits::default()
    };
    let stop = stop_signal(interrupt.clone(), Arc::clone(&metrics), args.drain_notice)?;
    if let Some(certificate) = certificate {
        keep_supervised(certificate, &metrics);
    }
    let listeners = Listeners {
        web: sockets.web.listen()?,
        tls,
        redirect: sockets.redirect.map(PublicSocket::listen).transpose()?,
        further_names: args.acme.domains.clone(),
    };
    announce(args, bound);
    serve(listeners, service, limits, stop, interrupt).await;
    admin.stop().await;
    delivering.finish().await;
    Ok(())
}

fn keep_supervised(certificate: RenewedCertificate, metrics: &Arc<Metrics>) {
    let counted = Arc::clone(metrics);
    let keeping = move |_stop| certificate::keep(certificate.clone(), counted.clone());
    let never = CancellationToken::new();
    supervise(Worker::Certificate, metrics, &never, keeping);
}

/// The sockets of the service, bound to their addresses.
struct Sockets {
    web: PublicSocket,
    redirect: Option<PublicSocket>,
    admin: Option<PublicSocket>,
}

impl Sockets {
    /// The sockets that were `passed`, and those given by flags.
    fn open(args: &Args, passed: PassedSockets) -> Result<Self, ServeError> {
        if passed.redirect.is_some() {
            let checked = args.check_redirect();
            checked.map_err(|why| ServeError::Flag(why.to_owned()))?;
        }
        let open = |flag: &str, passed, address: Option<SocketAddr>| match (passed, address) {
            (None, None) => Ok(None),
            (passed, address) => {
                let opened = PublicSocket::open(passed, address.unwrap_or(args.listen));
                opened.map(Some).map_err(at(flag.to_owned()))
            }
        };
        let web = PublicSocket::open(passed.web, args.listen)?;
        let redirect = open("--redirect-listen", passed.redirect, args.redirect_listen)?;
        let admin = open("--admin-listen", passed.admin, args.admin_listen)?;
        if let Some(socket) = &admin
            && !socket.local_addr()?.ip().is_loopback()
        {
            let open = "the service manager passed a public socket for the admin page: give its .socket unit a \
                        loopback address, such as 127.0.0.1:9090";
            return Err(io::Error::other(open).into());
        }
        Ok(Self {
            web,
            redirect,
            admin,
        })
    }
}

/// The service for visitors. The memory that `site` was rendered in is freed.
fn public_service(args: &Args, app: Arc<App>, site: Site) -> LandingService {
    let options = ServiceOptions {
        endpoints: ENDPOINTS,
        origins: AllowedOrigins::new(args.allowed_origins.clone()),
        proxies: TrustedProxies::new(args.trusted_proxies.clone()),
        hsts_max_age_s: args.hsts_max_age_s(&app.settings),
        body_deadline: BODY_DEADLINE,
        id_seed: random(&SystemEntropy),
    };
    LandingService::new(app, &site, options)
}

/// Adds the failed step to an error.
fn at(what: String) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Notifies the service manager, the log and standard output that the service listens.
fn announce(args: &Args, bound: SocketAddr) {
    let listening = format!("listening on {}://{bound}", args.scheme());
    listener::notify(Some(NotifyState::Ready), &listening);
    // Not earlier: a failed start is one line.
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        flags = args.given.shown.join(" "),
        "starting"
    );
    write_to_pipe(move || {
        let mut out = io::stdout();
        // There is no other place to report a failure.
        let _ = writeln!(out, "{listening}").and_then(|()| out.flush());
    });
}

/// The operator's side: commands and the admin page.
struct AdminSide {
    /// Its file is removed on drop. A node without a directory has none.
    socket: Option<AdminSocket>,
    stop: CancellationToken,
    web: Option<JoinHandle<()>>,
}

impl AdminSide {
    /// Starts answering the commands on the data directory, and browsers that connect to `web`.
    fn start(args: &Args, app: &Arc<App>, web: Option<PublicSocket>) -> Result<Self, ServeError> {
        let stop = CancellationToken::new();
        let (mut sessions, mut served) = (None, None);
        if let Some(web) = web {
            let listener = Arc::new(web.listen()?);
            let address = listener.local_addr()?;
            let page_sessions = Arc::new(Sessions::new(Arc::clone(&app.entropy), address));
            sessions = Some(Arc::clone(&page_sessions));
            let page = Arc::new(AdminPage::new(Arc::clone(app), page_sessions)?);
            tracing::info!(%address, "the admin page is listening: see landing-api admin link");
            let serving = move |stop| serve_web(Arc::clone(&listener), Arc::clone(&page), stop);
            served = Some(supervise(Worker::AdminPage, &app.metrics, &stop, serving));
        }
        let mut socket = None;
        if let Some(dir) = &args.data_dir {
            let what = format!("cannot create {}/admin.sock", dir.display());
            let bound = AdminSocket::bind(dir).map_err(at(what))?;
            let listener = Arc::new(UnixListener::from_std(bound.listener()?)?);
            let (uid, app_served) = (user_id(), Arc::clone(app));
            let flags = Arc::new(ServiceFlags {
                // Relative paths of flags refer to it; empty if it is gone.
                directory: std::env::current_dir().unwrap_or_default(),
                words: args.given.words.clone(),
            });
            let serving = move |stop| {
                let (listener, app) = (Arc::clone(&listener), Arc::clone(&app_served));
                serve_socket(
                    listener,
                    uid,
                    app,
                    sessions.clone(),
                    Arc::clone(&flags),
                    stop,
                )
            };
            supervise(Worker::Commands, &app.metrics, &stop, serving);
            socket = Some(bound);
        }
        Ok(Self {
            socket,
            stop,
            web: served,
        })
    }

    /// Interrupts unfinished commands, and lets the admin page finish changes that have begun.
    async fn stop(self) {
        self.stop.cancel();
        if let Some(web) = self.web {
            // Fails only if it panicked, which the log shows.
            let _ = web.await;
        }
        // A hanging disk is not waited for: the next start replaces the file.
        let removed = spawn_blocking(move || drop(self.socket));
        let _ = timeout(REMOVAL_DEADLINE, removed).await;
    }
}

/// Resolves at the first SIGTERM or SIGINT, after the time for load balancers to notice; the second cancels
/// `interrupt`.
fn stop_signal(
    interrupt: CancellationToken,
    metrics: Arc<Metrics>,
    drain_notice: Duration,
) -> io::Result<impl Future<Output = ()>> {
    let mut signals = StopSignals::new()?;
    Ok(async move {
        signals.next().await;
        let status = "stopping: requests in flight may finish";
        listener::notify(Some(NotifyState::Stopping), status);
        metrics.stopping.cancel();
        tracing::info!("stopping: requests in flight may finish, unless a second signal comes");
        let stopped_at_once = interrupt.clone();
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal: stopping at once");
            interrupt.cancel();
        });
        let _ = stopped_at_once
            .run_until_cancelled(sleep(drain_notice))
            .await;
    })
}
