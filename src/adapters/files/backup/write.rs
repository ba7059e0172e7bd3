//! Writing an archive.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tar::{Builder, EntryType, Header};

use crate::adapters::files::data_dir::{BACKED_UP, SECRET};
use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::part_file::PartFile;
use crate::adapters::files::{Files, PRIVATE_FILE, if_there};
use crate::adapters::ledger::record::{Flaw, LEDGER, Verified, survey};
use crate::adapters::ledger::refusal;
use crate::domain::Secret;

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
/// [`OpenError`] when the directory cannot be read or is damaged, or `out` fails.
pub fn write(path: &Path, out: impl Write) -> Result<Written, OpenError> {
    let ledger = path.join(LEDGER);
    let (mut file, verified) = open_ledger(path)?;
    let secret = read_secret(path, &verified)?;
    let modified = file.metadata().map_err(OpenError::io("read", &ledger))?;
    let modified_s = u64::try_from(modified.mtime()).unwrap_or_default();
    let mut archive = Builder::new(out);
    let mut bytes = 0;
    let mut add = |name: &str, length: u64, content: &mut dyn Read| {
        bytes += length;
        let added = add(&mut archive, modified_s, name, length, content);
        added.map_err(OpenError::io("write", Path::new("the backup")))
    };
    add(SECRET, 32, &mut &secret[..])?;
    let mut left_out = Vec::new();
    for (name, bytes_max) in BACKED_UP {
        // These two were verified together.
        if [LEDGER, SECRET].contains(&name) {
            continue;
        }
        let path = path.join(name);
        let unread = OpenError::io("read", &path);
        let Some(found) = if_there(fs::metadata(&path)).map_err(unread)? else {
            continue;
        };
        if !found.is_file() || found.len() > bytes_max {
            left_out.push(name);
            continue;
        }
        let content = fs::read(&path).map_err(OpenError::io("read", &path))?;
        add(name, content.len() as u64, &mut &content[..])?;
    }
    file.rewind().map_err(OpenError::io("read", &ledger))?;
    // The last newline may be missing, but is part of the length.
    let end: &[u8] = if verified.end.is_unterminated {
        b"\n"
    } else {
        b""
    };
    // The ledger comes last, so that a truncated archive has none.
    add(LEDGER, verified.end.length, &mut file.chain(end))?;
    let finished = archive.into_inner().and_then(|mut out| out.flush());
    finished.map_err(OpenError::io("write", Path::new("the backup")))?;
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

/// Opens the ledger in the data directory at `path` and verifies it.
fn open_ledger(path: &Path) -> Result<(File, Verified), OpenError> {
    let ledger = path.join(LEDGER);
    let mut readings = 0;
    loop {
        let file = File::open(&ledger).map_err(OpenError::io("open", &ledger))?;
        readings += 1;
        match survey(&file, None)
            .map_err(Flaw::Io)
            .and_then(|survey| survey.verdict)
        {
            Ok(verified) => return Ok((file, verified)),
            Err(Flaw::Damaged { .. }) if readings < READINGS_MAX => {}
            Err(flaw) => return Err(refusal(path, flaw)),
        }
    }
}

/// The bytes of the secret in the directory at `path`, which must be that of its `verified` ledger.
pub(super) fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, OpenError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(OpenError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    if id.ok().as_ref() == Some(&verified.head.secret) {
        return Ok(bytes);
    }
    let foreign = "the secret is not the one that ledger.jsonl was recorded under";
    Err(OpenError::Refused(foreign.to_owned()))
}
