//! Small files of JSON lines: read whole, and replaced whole at each change.

use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::ports::StoreError;

use crate::adapters::files::{SystemFiles, if_there, read_up_to, store_error, write_whole};

/// A value in memory and in a file.
#[derive(Debug)]
pub(super) struct SmallFile<T> {
    /// The content, as errors name it.
    what: &'static str,
    /// Without a path nothing can be changed.
    path: Option<PathBuf>,
    /// The lines of a value, as [`json_lines`] makes them.
    to_lines: fn(&T) -> io::Result<String>,
    value: RwLock<T>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

impl<T: Clone + Send + Sync + 'static> SmallFile<T> {
    pub(super) fn new(
        what: &'static str,
        path: Option<PathBuf>,
        value: T,
        to_lines: fn(&T) -> io::Result<String>,
    ) -> Arc<Self> {
        Arc::new(Self {
            what,
            path,
            to_lines,
            value: RwLock::new(value),
            writing: Mutex::new(()),
        })
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.value.read()
    }

    /// Writes the changed value to the file, and only then shows it. `change` returns whether it changed anything. The
    /// directory is not created: somebody may have moved the data directory away, and may move it back.
    pub(super) async fn change(
        self: &Arc<Self>,
        change: impl FnOnce(&mut T) -> bool + Send + 'static,
    ) -> Result<bool, StoreError> {
        let file = Arc::clone(self);
        in_background(self.what, move || {
            let _writing = file.writing.lock();
            let mut value = file.value.read().clone();
            if !change(&mut value) {
                return Ok(false);
            }
            let missing = || io::Error::other("there is no data directory: use --data-dir");
            let path = file.path.as_ref().ok_or_else(missing)?;
            write_whole(&SystemFiles, path, (file.to_lines)(&value)?.as_bytes())?;
            *file.value.write() = value;
            Ok(true)
        })
        .await
    }
}

/// Does `work` on a file of `what` where it may block.
pub(super) async fn in_background<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, StoreError> {
    let done = spawn_blocking(work).await;
    let done = done.unwrap_or_else(|panic| Err(panic.into()));
    done.map_err(|error| store_error(what, &error))
}

/// The parsed lines of the file at `path`, each of which is `what`; none if it is missing.
///
/// # Errors
/// When it cannot be read, is not a regular file or is too long, and for the first line that `parse` refuses.
pub(super) fn read_lines<T>(
    path: &Path,
    bytes_max: u64,
    what: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> io::Result<Vec<T>> {
    let bytes = if_there(read_up_to(path, bytes_max))?.unwrap_or_default();
    let lines = (1..).zip(bytes.lines()).map(|(number, line)| {
        let refused = || format!("line {number} is not {what}: correct or remove it");
        let parsed = line.ok().and_then(|line| parse(&line));
        parsed.ok_or_else(|| io::Error::other(refused()))
    });
    lines.collect()
}

/// One line of JSON for each row.
pub(super) fn json_lines(rows: impl IntoIterator<Item = impl Serialize>) -> io::Result<String> {
    let mut text = String::new();
    for row in rows {
        text += &serde_json::to_string(&row)?;
        text.push('\n');
    }
    Ok(text)
}
