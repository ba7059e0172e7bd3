//! Connections of commands.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixListener;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{AdminService, reply};

/// Answers the commands that connect to `listener`, until `stop` is cancelled. `uid` is the user that the
/// service runs as: apart from root only that one is answered.
pub(crate) async fn serve_socket(
    listener: UnixListener,
    uid: u32,
    service: Arc<AdminService>,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let Ok((stream, _address)) = accepted else {
            // Most likely out of file descriptors.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        // The file's mode keeps others out, too; a copy of the directory may have lost it.
        let peer = stream.peer_cred().map(|peer| peer.uid());
        if !peer.is_ok_and(|peer| peer == uid || peer == 0) {
            continue;
        }
        let (service, stop) = (Arc::clone(&service), stop.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = serve_connection(stream, service) => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

/// Answers one connection.
pub(crate) async fn serve_connection<S>(stream: S, service: Arc<AdminService>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let answer = service_fn(|request: Request<Incoming>| {
        let service = Arc::clone(&service);
        async move {
            let request = request.map(reply::boxed);
            Ok::<_, Infallible>(service.respond(request).await)
        }
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a command's connection ended");
    }
}
