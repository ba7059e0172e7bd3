//! The service's end of `admin.sock`, and the format of its messages.
//!
//! A connection has one request and its answer. Each is a head in one line of JSON, rows in JSON Lines, and
//! an empty line. A message without that was broken off.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, BufWriter,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::app::App;

use super::operate;
use super::operation::{
    Answer, Lines, OperatorError, OperatorRequest, Params, ServiceFlags, json_lines,
};
use super::sessions::Sessions;

/// Maximum length of a line, in bytes: the head of a request to erase many addresses.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes of rows passed on at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// The head of a request.
#[derive(Debug, Serialize, Deserialize)]
pub struct RequestHead {
    /// The operation's name.
    pub operation: String,
    pub params: Params,
}

/// The head of an answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct AnswerHead {
    /// Why there are no rows.
    pub failure: Option<Failure>,
    /// True if new contacts are stored elsewhere.
    pub passes_sign_ups_on: bool,
}

/// Why an operation failed, in words.
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
        let (app, sessions, stop) = (Arc::clone(&app), sessions.clone(), stop.clone());
        let flags = Arc::clone(&flags);
        tokio::spawn(async move {
            let answered = tokio::select! {
                answered = answer(stream, app, sessions, flags) => answered,
                () = stop.cancelled() => return,
            };
            if let Err(error) = answered {
                tracing::debug!(%error, "a command's connection ended");
            }
        });
    }
}

async fn answer(
    stream: UnixStream,
    app: Arc<App>,
    sessions: Option<Arc<Sessions>>,
    flags: Arc<ServiceFlags>,
) -> io::Result<()> {
    let (reader, writer) = stream.into_split();
    let mut reader = BufReader::with_capacity(PIECE_BYTES, reader);
    let mut writer = BufWriter::with_capacity(PIECE_BYTES, writer);
    let passes_sign_ups_on = app.settings.passes_sign_ups_on();
    let answered = match read_head::<RequestHead>(&mut reader).await {
        Ok(head) => {
            let request = OperatorRequest {
                app,
                sessions,
                flags,
                params: head.params,
                rows: read_lines(reader),
            };
            operate(&head.operation, request).await
        }
        Err(error) => Err(OperatorError::Input(format!("the request: {error}"))),
    };
    let (answer, failure) = match answered {
        Ok(answer) => (Some(answer), None),
        Err(error) => (None, Some(error.into())),
    };
    let head = AnswerHead {
        failure,
        passes_sign_ups_on,
    };
    writer.write_all(&json_lines([head])?).await?;
    match answer {
        None => {}
        Some(Answer::One(value)) => writer.write_all(&json_lines([value])?).await?,
        Some(Answer::Rows(mut rows)) => {
            while let Some(lines) = rows.next().await {
                // The command sees that it was broken off, but not why.
                let lines = lines.map_err(|error| {
                    tracing::error!(%error, "an answer to the operator was cut short");
                    io::Error::other(error)
                })?;
                writer.write_all(&lines).await?;
            }
        }
    }
    writer.write_all(b"\n").await?;
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

/// Reads the head of a message.
///
/// # Errors
/// When the connection ends before, or the head has another form.
pub async fn read_head<T: for<'de> Deserialize<'de>>(
    reader: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<T> {
    let mut line = Vec::new();
    loop {
        let read = reader.fill_buf().await?;
        if read.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(read.len(), |end| end + 1);
        line.extend_from_slice(read.get(..taken).unwrap_or_default());
        reader.consume(taken);
        if end.is_some() {
            return Ok(serde_json::from_slice(&line)?);
        }
        if line.len() > LINE_BYTES_MAX {
            return Err(io::Error::other("the line is too long"));
        }
    }
}

/// The rows of a message. An end without the empty line is an error.
pub fn read_lines(reader: impl AsyncBufRead + Send + Unpin + 'static) -> Lines<io::Error> {
    let pieces = stream::try_unfold(Some((reader, Vec::new())), |state| async move {
        let Some((mut reader, mut line)) = state else {
            return Ok(None);
        };
        loop {
            let read = reader.fill_buf().await?;
            if read.is_empty() {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            let length = read.len();
            line.extend_from_slice(read);
            reader.consume(length);
            // An empty line follows the end of another line, or is the first.
            let is_last = line == b"\n" || line.ends_with(b"\n\n");
            let whole = match line.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => end + 1,
                None if line.len() > LINE_BYTES_MAX => {
                    return Err(io::Error::other("a line is too long"));
                }
                None => continue,
            };
            let rest = line.split_off(whole);
            if is_last {
                line.pop();
                return Ok(Some((Bytes::from(line), None)));
            }
            return Ok(Some((Bytes::from(line), Some((reader, rest)))));
        }
    });
    pieces.boxed()
}
