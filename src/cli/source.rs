//! What commands read: files and standard input.

use std::io;
use std::path::Path;

use futures_util::StreamExt as _;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::io::ReaderStream;

use crate::adapters::part_file;
use crate::http::admin::AdminBody;

use super::client::stream;
use super::outcome::CommandError;
use super::progress::Progress;

/// How much of a file is sent at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// The longest file that is read whole.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The content of a file, `-` for standard input, to be sent with a progress bar.
pub(super) async fn upload(path: &Path, what: &'static str) -> Result<AdminBody, CommandError> {
    if path == Path::new("-") {
        return Ok(body_of(tokio::io::stdin(), None, what));
    }
    let opened = part_file::open(path).await;
    let (file, length) = opened.map_err(|error| cannot_read(path, &error))?;
    // A pipe has none.
    Ok(body_of(
        file,
        Some(length).filter(|length| *length > 0),
        what,
    ))
}

fn body_of(
    reader: impl AsyncRead + Send + 'static,
    length: Option<u64>,
    what: &'static str,
) -> AdminBody {
    let progress = Progress::of_bytes(what, length);
    let bytes = ReaderStream::with_capacity(reader, PIECE_BYTES);
    stream(bytes.inspect(move |read| progress.advance(read.as_ref().map_or(0, |it| it.len()))))
}

/// The lines of a file, `-` for standard input, with their numbers, without white space at their ends.
/// Empty ones are left out.
pub(super) async fn read_lines(path: &Path) -> Result<Vec<(usize, String)>, CommandError> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        read_whole(tokio::io::stdin(), &mut text).await
    } else {
        match part_file::open(path).await {
            Ok((file, _)) => read_whole(file, &mut text).await,
            Err(error) => Err(error),
        }
    };
    read.map_err(|error| cannot_read(path, &error))?;
    if text.len() as u64 > WHOLE_BYTES_MAX {
        let path = path.display();
        return Err(CommandError::Input(format!("{path} is larger than 16 MiB")));
    }
    let lines = text.lines().map(|line| line.trim().to_owned());
    let lines = lines.enumerate().map(|(index, line)| (index + 1, line));
    Ok(lines.filter(|(_, line)| !line.is_empty()).collect())
}

async fn read_whole(reader: impl AsyncRead + Unpin, text: &mut String) -> io::Result<()> {
    let mut reader = reader.take(WHOLE_BYTES_MAX + 1);
    reader.read_to_string(text).await.map(drop)
}

fn cannot_read(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Failed(format!("cannot read {}: {error}", path.display()))
}
