//! The listener of `--admin-listen`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::operator::page::AdminPage;

/// Maximum number of open connections: a few browsers and a monitor. Further ones wait in the backlog.
const CONNECTIONS_MAX: usize = 64;
/// Deadline of a request's head, and maximum wait for one.
const HEAD_DEADLINE: Duration = Duration::from_secs(15);
/// Maximum time for which a client may not read its response.
const STALL_MAX: Duration = Duration::from_secs(75);
/// Maximum duration of a connection, so that a client that reads little by little can't hold one forever. An
/// export takes seconds.
const CONNECTION_MAX: Duration = Duration::from_secs(15 * 60);
/// Maximum size of a head, in bytes, and maximum number of headers. Browsers send the cookies of every
/// service on this host.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 100;
/// Time for responses and changes to finish once the service stops.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Answers browsers and monitors, until `stop` is cancelled.
pub async fn serve_web(listener: Arc<TcpListener>, page: Arc<AdminPage>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let connections = TaskTracker::new();
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let Ok((stream, _address)) = accepted else {
            // Most likely out of file descriptors.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let place = Arc::clone(&places).acquire_owned();
        let Some(place) = stop.run_until_cancelled(place).await else {
            break;
        };
        let (page, stop) = (Arc::clone(&page), stop.clone());
        connections.spawn(async move {
            // Fails only on timeout, which ends the connection.
            let _ = timeout(CONNECTION_MAX, serve_connection(stream, page, stop)).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    let finished = async {
        connections.wait().await;
        page.wait_for_changes().await;
    };
    if timeout(STOP_GRACE, finished).await.is_err() {
        tracing::warn!("requests to the admin page are cut off");
    }
}

/// Answers the requests of one connection, until the client closes it or `stop` is cancelled.
pub async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send,
    page: Arc<AdminPage>,
    stop: CancellationToken,
) {
    let answer = service_fn(|request: Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { Ok::<_, Infallible>(page.respond(request).await) }
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_MAX));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let connection = builder.serve_connection(TokioIo::new(Box::pin(stream)), answer);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the admin page ended");
    }
}
