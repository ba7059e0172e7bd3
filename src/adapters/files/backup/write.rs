//! Writing an archive.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::adapters::files::data_dir::{BACKED_UP, SECRET};
use crate::adapters::files::{
    AppendFile, Files, PRIVATE_FILE, UNSYNCED_BYTES_MAX, if_there, is_irregular, publish,
};
use crate::adapters::ledger::record::{Flaw, LEDGER, Verified, survey};
use crate::adapters::ledger::refusal;

use super::error::{BackupError, read_secret};

/// Most readings of a ledger that seems damaged: a running service may just have truncated a failed
/// write.
const READINGS_MAX: u32 = 3;

/// The contents of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of ledger entries.
    pub entries: u64,
    /// Total size of the files.
    pub bytes: u64,
    /// Files that were skipped, because they are larger than the service's own or not regular files.
    pub left_out: Vec<&'static str>,
}

/// Writes an archive of the data directory at `path` to `out`, even while a service runs on it. Uses little
/// memory, whatever the size.
///
/// # Errors
/// [`BackupError`] when the directory cannot be read or is damaged, or `out` fails.
pub fn write(path: &Path, out: impl Write) -> Result<Written, BackupError> {
    let ledger = path.join(LEDGER);
    let (mut file, verified) = open_ledger(path)?;
    let secret = read_secret(path, &verified)?;
    let modified = file.metadata().map_err(BackupError::io("read", &ledger))?;
    let modified_s = u64::try_from(modified.mtime()).unwrap_or_default();
    let mut archive = Builder::new(out);
    let mut bytes = 0;
    let mut add = |name: &str, length: u64, content: &mut dyn Read| {
        bytes += length;
        let added = add(&mut archive, modified_s, name, length, content);
        added.map_err(BackupError::io("write", Path::new("the backup")))
    };
    add(SECRET, 32, &mut &secret[..])?;
    let mut left_out = Vec::new();
    for (name, bytes_max) in BACKED_UP {
        // These two were verified together.
        if [LEDGER, SECRET].contains(&name) {
            continue;
        }
        let path = path.join(name);
        let unread = BackupError::io("read", &path);
        let Some(found) = if_there(fs::metadata(&path)).map_err(unread)? else {
            continue;
        };
        if !found.is_file() || found.len() > bytes_max {
            left_out.push(name);
            continue;
        }
        let content = fs::read(&path).map_err(BackupError::io("read", &path))?;
        add(name, content.len() as u64, &mut &content[..])?;
    }
    file.rewind().map_err(BackupError::io("read", &ledger))?;
    // The last newline may be missing, but is part of the length.
    let end: &[u8] = if verified.end.is_unterminated {
        b"\n"
    } else {
        b""
    };
    // The ledger comes last, so that a truncated archive has none.
    add(LEDGER, verified.end.length, &mut file.chain(end))?;
    let finished = archive.into_inner().and_then(|mut out| out.flush());
    finished.map_err(BackupError::io("write", Path::new("the backup")))?;
    Ok(Written {
        entries: verified.end.sequence,
        bytes,
        left_out,
    })
}

/// Adds the first `length` bytes of `content` to an archive.
fn add(
    archive: &mut Builder<impl Write>,
    modified_s: u64,
    name: &str,
    length: u64,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Regular);
    header.set_size(length);
    header.set_mode(PRIVATE_FILE);
    header.set_mtime(modified_s);
    let mut content = content.take(length);
    archive.append_data(&mut header, name, &mut content)?;
    match content.limit() {
        0 => Ok(()),
        _ => Err(io::Error::other(format!("{name} shrank during the backup"))),
    }
}

/// Writes an archive to the file `target`, which is replaced only by a complete one. Nobody else may read
/// it: it contains addresses and the secret.
///
/// # Errors
/// As [`write()`]; `target` is then unchanged.
pub fn write_file(files: &dyn Files, path: &Path, target: &Path) -> Result<Written, BackupError> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = target.with_file_name(name);
    if is_irregular(target) {
        let error = io::Error::other("it is not a regular file");
        return Err(BackupError::io("write", target)(error));
    }
    // Locks the secret's file, so that two backups to one file run one after the other. The ledger's file may
    // be replaced meanwhile. `write` reports a missing secret.
    let secret = File::open(path.join(SECRET));
    let _lock = secret.and_then(|file| file.lock().map(|()| file)).ok();
    let file = files.create(&beside);
    let file = file.map_err(BackupError::io("create", &beside))?;
    let mut synced = SyncedFile { file, unsynced: 0 };
    let written = write(path, &mut synced).and_then(|written| {
        publish(files, synced.file.as_mut(), &beside, target)
            .map_err(BackupError::io("write", target))?;
        Ok(written)
    });
    if written.is_err() {
        let _ = files.remove(&beside);
    }
    written
}

/// A large file that is synced as it grows.
struct SyncedFile {
    file: Box<dyn AppendFile>,
    /// In bytes.
    unsynced: u64,
}

impl Write for SyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.unsynced > UNSYNCED_BYTES_MAX {
            self.file.sync()?;
            self.unsynced = 0;
        }
        let taken = self.file.append(bytes)?;
        self.unsynced += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens the ledger in the data directory at `path` and verifies it.
fn open_ledger(path: &Path) -> Result<(File, Verified), BackupError> {
    let ledger = path.join(LEDGER);
    let mut readings = 0;
    loop {
        let file = File::open(&ledger).map_err(BackupError::io("open", &ledger))?;
        readings += 1;
        match survey(&file, None)
            .map_err(Flaw::Io)
            .and_then(|survey| survey.verdict)
        {
            Ok(verified) => return Ok((file, verified)),
            Err(Flaw::Damaged { .. }) if readings < READINGS_MAX => {}
            Err(flaw) => return Err(refusal(path, flaw).into()),
        }
    }
}
