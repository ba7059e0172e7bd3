//! The listener of `--admin-listen`.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::operator::page::AdminPage;

/// Most open connections: a few browsers and a monitor. Further ones wait in the backlog.
const CONNECTIONS_MAX: usize = 64;
/// How long a request's head may take, and how long a connection may wait for one.
const HEAD_DEADLINE: Duration = Duration::from_secs(15);
/// How long a connection may last at most, so that none is held by a client that does not read. An export
/// takes seconds.
const CONNECTION_MAX: Duration = Duration::from_secs(15 * 60);
/// The largest head, in bytes, and the most headers. Browsers send the cookies of every service on this
/// host.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 100;
/// How long answers and changes may take to finish once the service stops.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// Answers browsers and monitors, until `stop` is cancelled.
pub async fn serve_web(listener: TcpListener, page: Arc<AdminPage>, stop: CancellationToken) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &slots) => accepted,
            () = stop.cancelled() => break,
        };
        let Some((slot, stream)) = accepted else {
            continue;
        };
        let (page, stop) = (Arc::clone(&page), stop.clone());
        connections.spawn(async move {
            // Fails only if the time is over, which ends the connection.
            let _ = timeout(CONNECTION_MAX, serve_connection(stream, page, stop)).await;
            drop(slot);
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

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(tokio::sync::OwnedSemaphorePermit, TcpStream)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _address)) => Some((slot, stream)),
        Err(_) => {
            // Most likely out of file descriptors.
            sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn serve_connection(stream: TcpStream, page: Arc<AdminPage>, stop: CancellationToken) {
    let answer = service_fn(|request: Request<Incoming>| {
        let page = Arc::clone(&page);
        async move { Ok::<_, Infallible>(page.respond(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let connection = builder.serve_connection(TokioIo::new(stream), answer);
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
