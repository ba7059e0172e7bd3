//! Writing an archive.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::adapters::files::data_dir::{BACKED_UP, SECRET};
use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::operator_file::read_up_to;
use crate::adapters::files::part_file::PartFile;
use crate::adapters::files::{Files, PRIVATE_FILE, if_there};
use crate::adapters::ledger::open_verified;
use crate::adapters::ledger::record::{LEDGER, Verified};
use crate::domain::Secret;

/// The contents of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Number of ledger entries.
    pub entries: u64,
    /// Total size of the files.
    pub bytes: u64,
}

/// Writes an archive of the data directory at `path` to `out`, even while a service runs on it. Uses little
/// memory, whatever the size of the ledger.
///
/// # Errors
/// [`OpenError`] when the directory cannot be read or is damaged, or `out` fails.
pub fn write(path: &Path, out: impl Write) -> Result<Written, OpenError> {
    let (mut ledger, verified) = open_verified(path)?;
    let opened = ledger.rewind().and_then(|()| ledger.metadata());
    let opened = opened.map_err(OpenError::io("read", &path.join(LEDGER)))?;
    let modified_s = u64::try_from(opened.mtime()).unwrap_or_default();
    let mut archive = Builder::new(out);
    let mut bytes = 0;
    let mut add = |name: &str, length: u64, content: &mut dyn Read| {
        bytes += length;
        let added = add(&mut archive, modified_s, name, length, content);
        added.map_err(OpenError::io("write", Path::new("the backup")))
    };
    add(SECRET, 32, &mut &read_secret(path, &verified)?[..])?;
    let others = BACKED_UP.iter();
    for (name, bytes_max) in others.filter(|(name, _)| ![LEDGER, SECRET].contains(name)) {
        let path = path.join(name);
        let read = if_there(read_up_to(&path, *bytes_max));
        if let Some(content) = read.map_err(OpenError::io("read", &path))? {
            add(name, content.len() as u64, &mut &content[..])?;
        }
    }
    // The last newline may be missing, but is part of the length.
    let end: &[u8] = if verified.is_unterminated { b"\n" } else { b"" };
    // The ledger comes last, so that a truncated archive has none.
    add(LEDGER, verified.length, &mut ledger.chain(end))?;
    let finished = archive.into_inner().and_then(|mut out| out.flush());
    finished.map_err(OpenError::io("write", Path::new("the backup")))?;
    Ok(Written {
        entries: verified.sequence,
        bytes,
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

/// Writes an archive to the file `target`, which is replaced only by a complete one. An existing one is an error
/// unless `replaces`. Nobody else may read it: it contains addresses and the secret.
///
/// # Errors
/// As [`write()`]; `target` is then unchanged.
pub fn write_file(
    files: &dyn Files,
    path: &Path,
    target: &Path,
    replaces: bool,
) -> Result<Written, OpenError> {
    // Locks the secret's file, so that two backups to one file run one after the other. The ledger's file may
    // be replaced meanwhile. `write` reports a missing secret.
    let secret = File::open(path.join(SECRET));
    let _lock = secret.and_then(|file| file.lock().map(|()| file)).ok();
    let refused = |error: io::Error| OpenError::Refused(error.to_string());
    let mut file = PartFile::create(files, target, replaces).map_err(refused)?;
    let written = write(path, &mut file)?;
    file.finish().map_err(refused)?;
    Ok(written)
}

/// The bytes of the secret in the directory at `path`, which must be that of its `verified` ledger.
pub(super) fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, OpenError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(OpenError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    if id.ok().as_ref() == Some(&verified.head.secret) {
        return Ok(bytes);
    }
    let foreign = "the secret is not that of ledger.jsonl";
    Err(OpenError::Refused(foreign.to_owned()))
}
