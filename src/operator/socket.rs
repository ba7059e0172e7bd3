//! The service's end of `admin.sock`, and the format of its messages.
//!
//! A connection has one request and its answer. Each is a head in one line of JSON, rows in JSON Lines, and
//! an empty line. A message without that was broken off.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _, TryReadyChunksError, TryStreamExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;
use tokio_util::bytes::Bytes;
use tokio_util::codec::{FramedRead, LinesCodec};
use tokio_util::sync::CancellationToken;

use crate::app::App;

use super::operate;
use super::operation::{
    Answer, Lines, OperatorError, OperatorRequest, Params, ServiceFlags, json_lines,
};
use super::sessions::Sessions;

/// Maximum length of a line, in bytes: the head of a request to erase many addresses.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes read or written at a time, and rows passed on.
const PIECE_BYTES: usize = 64 * 1024;
const ROWS_AT_A_TIME: usize = 1024;

/// The head of a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct RequestHead {
    /// The operation's name.
    pub operation: String,
    pub params: Params,
}

/// Why an operation failed, in words. The head of an answer: null if it has rows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "kind", content = "text", rename_all = "snake_case")]
pub enum Failure {
    /// The service has another version.
    Unknown(String),
    /// The request is invalid.
    Input(String),
    Failed(String),
}

impl From<OperatorError> for Failure {
    fn from(error: OperatorError) -> Self {
        let text = error.to_string();
        match error {
            OperatorError::Unknown => Self::Unknown(text),
            OperatorError::Input(_) => Self::Input(text),
            OperatorError::NotFound(_)
            | OperatorError::InPart(_)
            | OperatorError::Store(_)
            | OperatorError::Limiter(_)
            | OperatorError::Mail(_)
            | OperatorError::Unwritable(_) => Self::Failed(text),
        }
    }
}

/// Answers the commands that connect to `listener`, until `stop` is cancelled. `sessions` are those of the
/// admin page, if there is one. `uid` is the user that the service runs as: apart from root, only that user
/// gets an answer.
pub async fn serve_socket(
    listener: Arc<UnixListener>,
    uid: u32,
    app: Arc<App>,
    sessions: Option<Arc<Sessions>>,
    flags: Arc<ServiceFlags>,
    stop: CancellationToken,
) {
    while let Some(accepted) = stop.run_until_cancelled(listener.accept()).await {
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
        let mut request = OperatorRequest::new(Arc::clone(&app), Params::default());
        request.sessions.clone_from(&sessions);
        request.flags = Arc::clone(&flags);
        let stop = stop.clone();
        tokio::spawn(async move {
            if let Some(Err(error)) = stop.run_until_cancelled(answer(stream, request)).await {
                tracing::debug!(%error, "a command's connection ended");
            }
        });
    }
}

async fn answer(stream: UnixStream, mut request: OperatorRequest) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut lines = message_lines(reader);
    let mut writer = BufWriter::with_capacity(PIECE_BYTES, writer);
    let answered = match read_head::<RequestHead>(&mut lines).await {
        Ok(head) => {
            request.params = head.params;
            request.rows = read_rows(lines);
            operate(&head.operation, request).await
        }
        Err(error) => Err(OperatorError::Input(format!("the request: {error}"))),
    };
    let (lines, head) = match answered {
        Ok(Answer(lines)) => (lines, None),
        Err(error) => (stream::empty().boxed(), Some(Failure::from(error))),
    };
    // The command sees that it was broken off, but not why.
    let lines = lines.map_err(|error| {
        tracing::error!(%error, "an answer to the operator was cut short");
        io::Error::other(error)
    });
    write_message(&mut writer, &head, lines.boxed()).await?;
    writer.shutdown().await
}

/// Writes a message: its head, rows, and the end.
///
/// # Errors
/// When the connection, or the source of the rows, fails.
pub async fn write_message(
    writer: &mut (impl AsyncWrite + Unpin),
    head: &impl Serialize,
    mut rows: Lines<io::Error>,
) -> io::Result<()> {
    writer.write_all(&json_lines([head])?).await?;
    while let Some(lines) = rows.next().await {
        writer.write_all(&lines?).await?;
    }
    writer.write_all(b"\n").await
}

/// Reads the lines of a message.
pub fn message_lines<R: AsyncRead>(reader: R) -> FramedRead<R, LinesCodec> {
    FramedRead::with_capacity(
        reader,
        LinesCodec::new_with_max_length(LINE_BYTES_MAX),
        PIECE_BYTES,
    )
}

/// Reads the head of a message.
///
/// # Errors
/// When the connection ends before, or the head has another form.
pub async fn read_head<T: DeserializeOwned>(
    lines: &mut FramedRead<impl AsyncRead + Unpin, LinesCodec>,
) -> io::Result<T> {
    let line = lines.next().await.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_str(&line.map_err(io::Error::other)?)?)
}

/// The rows of a message. An end without the empty line is an error.
pub fn read_rows(
    lines: FramedRead<impl AsyncRead + Send + Unpin + 'static, LinesCodec>,
) -> Lines<io::Error> {
    let rows = stream::try_unfold(lines, |mut lines| async move {
        let line = lines.next().await.ok_or(io::ErrorKind::UnexpectedEof)?;
        let row = line.map_err(io::Error::other)? + "\n";
        Ok((row.len() > 1).then_some((row, lines)))
    });
    // Rows that have arrived do not wait for others.
    let pieces = rows.try_ready_chunks(ROWS_AT_A_TIME);
    let pieces = pieces.map_ok(|rows| Bytes::from(rows.concat()));
    pieces
        .map_err(|TryReadyChunksError(_rows, error)| error)
        .boxed()
}
