//! Lists of names that commands read.

use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::adapters::files::part_file;

use super::outcome::CommandError;

/// Maximum size of a file that is read whole.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The lines of a file, `-` for standard input, with their numbers and without surrounding white space. Empty
/// ones are left out.
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
    read.map_err(|error| CommandError::Failed(format!("cannot read {}: {error}", path.display())))?;
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
