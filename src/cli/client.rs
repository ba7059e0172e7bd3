//! The connection to the operator's API.
//!
//! If a service runs on the data directory, that answers. If none does, or there is no directory, this process
//! opens the stores, and answers itself. So a command works the same in all cases.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::BytesMut;
use futures_util::{Stream, TryStreamExt as _};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::task::{JoinHandle, spawn_blocking};
use url::form_urlencoded;

use crate::adapters::admin_socket;
use crate::adapters::data_dir::refuse_foreign;
use crate::config::Args;
use crate::http::admin::socket::serve_connection;
use crate::http::admin::{AdminBody, AdminService, PASSES_SIGN_UPS_ON, whole};
use crate::wiring::stores::{Stores, open_stopped};

use super::outcome::CommandError;
use super::output::note;

/// How much the pipe to a service in this process holds.
const PIPE_BYTES: usize = 64 * 1024;

/// A connection to the operator's API.
pub(super) struct AdminClient {
    sender: SendRequest<AdminBody>,
    connection: JoinHandle<hyper::Result<()>>,
    /// The service in this process, with its stores.
    service: Option<(JoinHandle<()>, Stores)>,
    /// Sign-ups are passed on to a provider, which has been said.
    has_told: bool,
}

impl AdminClient {
    /// Connects to the service on the data directory of `args`, or opens the directory, `with_windows` also
    /// what the limiter has counted.
    pub(super) async fn open(args: &Args, with_windows: bool) -> Result<Self, CommandError> {
        let connected = args.data_dir.as_deref().map(connect).transpose()?;
        if let Some(stream) = connected.flatten() {
            return Self::over(stream, None).await;
        }
        let (app, stores) = open_stopped(args, with_windows).await?;
        let service = Arc::new(AdminService::new(Arc::new(app), None));
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let served = tokio::spawn(serve_connection(far, service));
        Self::over(near, Some((served, stores))).await
    }

    async fn over<S>(
        stream: S,
        service: Option<(JoinHandle<()>, Stores)>,
    ) -> Result<Self, CommandError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connected = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = connected.map_err(broken_off)?;
        Ok(Self {
            sender,
            connection: tokio::spawn(connection),
            service,
            has_told: false,
        })
    }

    /// Whether a service runs on the data directory.
    pub(super) const fn is_running(&self) -> bool {
        self.service.is_none()
    }

    /// The JSON answer to a request without a body.
    pub(super) async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, CommandError> {
        self.answer(Method::GET, path, empty()).await
    }

    /// The JSON answer to a request that changes something.
    pub(super) async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: AdminBody,
    ) -> Result<T, CommandError> {
        self.answer(Method::POST, path, body).await
    }

    async fn answer<T: DeserializeOwned>(
        &mut self,
        method: Method,
        path: &str,
        body: AdminBody,
    ) -> Result<T, CommandError> {
        let response = self.send(method, path, body).await?;
        let body = response.into_body().collect().await.map_err(broken_off)?;
        serde_json::from_slice(&body.to_bytes()).map_err(|error| other_version(&error.to_string()))
    }

    /// The long answer to a request without a body.
    pub(super) async fn pieces(&mut self, path: &str) -> Result<Pieces, CommandError> {
        let response = self.send(Method::GET, path, empty()).await?;
        Ok(Pieces {
            body: response.into_body(),
            buffer: BytesMut::new(),
        })
    }

    /// Sends a request. The body of the answer is still to be read.
    async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: AdminBody,
    ) -> Result<Response<Incoming>, CommandError> {
        let request = Request::builder().method(method).uri(path).body(body);
        let request = request.map_err(|error| CommandError::Failed(error.to_string()))?;
        let response = self.sender.send_request(request).await;
        let response = response.map_err(broken_off)?;
        let passes_on = response.headers().contains_key(PASSES_SIGN_UPS_ON);
        if passes_on && !std::mem::replace(&mut self.has_told, true) {
            note(
                "the service passes sign-ups on to --newsletter-webhook and keeps no contacts; \
                 those here are from before, or were imported",
            );
        }
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.into_body().collect().await.map_err(broken_off)?;
        let refusal: Refusal = serde_json::from_slice(&body.to_bytes())
            .map_err(|error| other_version(&error.to_string()))?;
        Err(match status {
            StatusCode::BAD_REQUEST => CommandError::Input(refusal.error),
            StatusCode::NOT_IMPLEMENTED => other_version(&refusal.error),
            _ => CommandError::Failed(refusal.error),
        })
    }

    /// Ends the connection, and closes the stores if they are in this process.
    pub(super) async fn close(self) -> Result<(), CommandError> {
        drop(self.sender);
        let Some((served, stores)) = self.service else {
            return Ok(());
        };
        // An interrupted command may still be sending.
        self.connection.abort();
        // Fails only if it panicked, which the log tells.
        let _ = served.await;
        let closed = spawn_blocking(move || stores.close()).await;
        let closed = closed.map_err(|error| CommandError::Failed(error.to_string()))?;
        closed.map_err(|error| CommandError::Failed(error.to_string()))
    }
}

/// Connects to the service on the data directory at `path`, if one runs there.
fn connect(path: &Path) -> Result<Option<UnixStream>, CommandError> {
    let connected = admin_socket::connect(path).or_else(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            refuse_foreign(path)?;
        }
        let path = path.display();
        Err(CommandError::Failed(format!(
            "cannot connect to {path}/admin.sock: {error}"
        )))
    })?;
    Ok(connected.map(UnixStream::from_std).transpose()?)
}

/// The answer to a request that failed.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// No body.
pub(super) fn empty() -> AdminBody {
    whole(Bytes::new())
}

/// A body in JSON.
pub(super) fn json(value: &impl Serialize) -> Result<AdminBody, CommandError> {
    let bytes = serde_json::to_vec(value).map_err(io::Error::from)?;
    Ok(whole(bytes))
}

/// A body in pieces.
pub(super) fn stream<S>(pieces: S) -> AdminBody
where
    S: Stream<Item = io::Result<Bytes>> + Send + 'static,
{
    let frames = pieces.map_ok(Frame::data).map_err(Into::into);
    StreamBody::new(frames).boxed_unsync()
}

/// `path` with a query of `params`.
pub(super) fn query(path: &str, params: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(format!("{path}?"));
    query.extend_pairs(params);
    query.finish()
}

/// An answer as it arrives.
pub(super) struct Pieces {
    body: Incoming,
    /// What [`Pieces::line`] has read and not returned.
    buffer: BytesMut,
}

impl Pieces {
    /// The next bytes.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, CommandError> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(bytes) = frame.map_err(broken_off)?.into_data() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }

    /// The next line of JSON Lines.
    pub(super) async fn line<T: DeserializeOwned>(&mut self) -> Result<Option<T>, CommandError> {
        let mut searched = 0;
        loop {
            let unsearched = self.buffer.get(searched..).unwrap_or_default();
            if let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(searched + end + 1);
                let value = serde_json::from_slice(&line);
                return value
                    .map(Some)
                    .map_err(|error| other_version(&error.to_string()));
            }
            searched = self.buffer.len();
            match self.next().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Ok(None),
            }
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn broken_off(error: hyper::Error) -> CommandError {
    // The source of an error in what is sent is that of reading it.
    let source = error.source().map(|source| format!(": {source}"));
    let source = source.unwrap_or_default();
    CommandError::Failed(format!(
        "the connection to the service broke off before the command was done: {error}{source}"
    ))
}

fn other_version(what: &str) -> CommandError {
    CommandError::Failed(format!(
        "the service that runs on the data directory is another version than this program: {what}; \
         restart it, or use its own program"
    ))
}
