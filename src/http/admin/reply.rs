//! Answers and failures of the operator's API.

use std::error::Error;
use std::io;

use futures_util::{Stream, TryStreamExt as _};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body, Bytes, Frame};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde_json::json;

use crate::ports::{EntropyError, LimiterError, StoreError};

/// The body of a request or an answer. An error ends it before it is complete.
pub type AdminBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Why a request failed. The text is for the operator.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdminError {
    /// Another version of the program asks.
    #[error("this version of the service does not know the command")]
    UnknownRoute,
    /// A parameter is wrong.
    #[error("{0}")]
    Input(String),
    /// What it is about does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The limiter failed.
    #[error(transparent)]
    Limiter(#[from] LimiterError),
    /// There are no random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// It failed after a part was done.
    #[error("{0}")]
    InPart(String),
    /// A bug.
    #[error("the answer cannot be written: {0}")]
    Serialise(#[from] io::Error),
}

impl AdminError {
    pub(super) fn response(&self) -> Response<AdminBody> {
        let status = match self {
            Self::UnknownRoute => StatusCode::NOT_IMPLEMENTED,
            Self::Input(_) => StatusCode::BAD_REQUEST,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Store(_) | Self::InPart(_) | Self::Limiter(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Entropy(_) | Self::Serialise(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let body = json!({ "error": self.to_string() }).to_string();
        let mut response = Response::new(whole(body));
        *response.status_mut() = status;
        response
    }
}

/// What a handler makes of a request.
pub(super) type AdminAnswer = Result<Response<AdminBody>, AdminError>;

/// An answer in JSON.
pub(super) fn json(value: &impl Serialize) -> AdminAnswer {
    let body = serde_json::to_vec(value).map_err(io::Error::from)?;
    Ok(Response::new(whole(body)))
}

/// A piece of an answer in JSON Lines.
pub(super) fn lines<T: Serialize>(rows: impl Iterator<Item = T>) -> io::Result<Bytes> {
    let mut lines = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut lines, &row)?;
        lines.push(b'\n');
    }
    Ok(lines.into())
}

/// An answer in pieces. An error breaks it off, and is logged, because the client does not learn it.
pub(super) fn stream<S>(pieces: S) -> Response<AdminBody>
where
    S: Stream<Item = Result<Bytes, AdminError>> + Send + 'static,
{
    let frames = pieces.map_ok(Frame::data).map_err(|error| {
        tracing::error!(%error, "an answer to the operator was broken off");
        error.into()
    });
    Response::new(StreamBody::new(frames).boxed_unsync())
}

/// A body of these bytes.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> AdminBody {
    boxed(Full::new(bytes.into()))
}

/// `body`, whatever its type.
pub(super) fn boxed<B>(body: B) -> AdminBody
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Error + Send + Sync,
{
    body.map_err(Into::into).boxed_unsync()
}
