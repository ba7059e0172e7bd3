//! Archives of a data directory: a tar file with
//!
//! | File | Content |
//! |---|---|
//! | `ledger.jsonl` | the ledger up to its last whole batch |
//! | `secret` | the secret that the ledger's hashes were made with |
//! | `counts.jsonl` | the hourly counts |
//! | `blocks.jsonl` | the blocked networks |
//!
//! The ledger comes last, so that a truncated archive lacks it. Each of its lines has a checksum, and its head
//! contains the secret's id. Counts and blocks have no checksums: a flipped bit there changes a number in a
//! chart, or a network in a list that people can read.
//!
//! The mark and the limiter's windows are left out: the mark belongs to the running ledger, and windows are
//! useless later. [`write()`] takes a consistent copy while a service runs, because the ledger only grows.
//!
//! During a restore, the file `restoring` is there until all of it is in place, the verified ledger last: a data
//! directory with only a part of it does not start.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::adapters::files::data_dir::{
    BACKED_UP, MARK, RESTORING, SECRET, create_empty, create_private, lock, refuse_foreign,
};
use crate::adapters::files::part_file::PartFile;
use crate::adapters::files::{
    BUFFER_BYTES, Files, OpenError, PRIVATE_FILE, append_whole, if_there, publish, read_up_to,
    remove_any, remove_for_good, sync_parent,
};
use crate::adapters::ledger::record::{Flaw, LEDGER, Verified, unfinished, verify};
use crate::adapters::ledger::{open_verified, refusal};
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
fn read_secret(path: &Path, verified: &Verified) -> Result<Vec<u8>, OpenError> {
    let secret = path.join(SECRET);
    let bytes = fs::read(&secret).map_err(OpenError::io("read", &secret))?;
    let id = <[u8; 32]>::try_from(bytes.as_slice()).map(|bytes| Secret::new(bytes).id());
    if id.ok().as_ref() == Some(&verified.head.secret) {
        return Ok(bytes);
    }
    let foreign = "the secret is not that of ledger.jsonl";
    Err(OpenError::Refused(foreign.to_owned()))
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Number of ledger entries.
    pub entries: u64,
    /// The files in the archive.
    pub files: Vec<String>,
}

/// Restores the archive read from `archive` into the data directory at `path`, which may be missing and must
/// not contain files of a service. Everything acknowledged after the archive was written is lost.
///
/// # Errors
/// [`OpenError`] when the archive is damaged, or the directory cannot be used. The directory then contains
/// nothing of the archive.
pub fn restore(files: &dyn Files, path: &Path, archive: impl Read) -> Result<Restored, OpenError> {
    create_private(files, path).map_err(OpenError::io("create", path))?;
    refuse_foreign(path)?;
    let _lock = lock(path)?;
    let marker = path.join(RESTORING);
    let is_there = |name: &&str| path.join(name).symlink_metadata().is_ok();
    if marker.exists() && !is_there(&LEDGER) {
        // Of a restore that was interrupted.
        clear(path)?;
    }
    let mut names = BACKED_UP.into_iter().map(|(name, _)| name).chain([MARK]);
    if let Some(name) = names.find(is_there) {
        return Err(OpenError::Refused(format!(
            "{} already contains {name}: restore into another --data-dir, or move the files of this one away",
            path.display()
        )));
    }
    create_empty(files, &marker).map_err(OpenError::io("create", &marker))?;
    let restored = restore_in(files, path, archive).map_err(|cause| match clear(path) {
        Ok(()) => cause,
        Err(left) => OpenError::Refused(format!("{cause}; its files were not removed: {left}")),
    })?;
    remove_for_good(files, &marker).map_err(OpenError::io("remove", &marker))?;
    Ok(restored)
}

/// Removes what was restored.
fn clear(path: &Path) -> Result<(), OpenError> {
    let placed = BACKED_UP.map(|(name, _)| path.join(name)).into_iter();
    for file in placed.chain([place(path, LEDGER), path.join(RESTORING)]) {
        remove_any(&file).map_err(OpenError::io("remove", &file))?;
    }
    Ok(())
}

/// The place of a file during a restore. The ledger gets its name once everything is verified.
fn place(path: &Path, name: &str) -> PathBuf {
    match name {
        LEDGER => unfinished(&path.join(LEDGER)),
        _ => path.join(name),
    }
}

fn restore_in(files: &dyn Files, path: &Path, archive: impl Read) -> Result<Restored, OpenError> {
    let names = unpack(files, archive, path)?;
    let ledger = place(path, LEDGER);
    let opened = File::open(&ledger).map_err(Flaw::Io);
    let verified = opened.and_then(|file| verify(&file, None));
    let verified = verified.map_err(|flaw| match flaw {
        Flaw::Damaged { .. } => bad(format!("its ledger is damaged: {flaw}")),
        Flaw::Io(_) | Flaw::Foreign(_) | Flaw::Unreadable(_) => refusal(path, flaw),
    })?;
    if verified.torn_bytes > 0 {
        return Err(bad("its ledger ends in an unfinished batch"));
    }
    read_secret(path, &verified)?;
    let placed = path.join(LEDGER);
    // The others are durable before it has its name. It has no mark, so the next start holds its pending deliveries: some
    // may have been made since.
    let published = sync_parent(files, &placed)
        .and_then(|()| files.open(&ledger))
        .and_then(|mut file| publish(files, file.as_mut(), &ledger, &placed));
    published.map_err(OpenError::io("write", &placed))?;
    Ok(Restored {
        entries: verified.sequence,
        files: names.into_iter().collect(),
    })
}

/// Unpacks the archive into the directory at `path`, and returns the names of its files.
fn unpack(
    files: &dyn Files,
    archive: impl Read,
    path: &Path,
) -> Result<BTreeSet<String>, OpenError> {
    let mut archive = Archive::new(archive);
    let mut names = BTreeSet::new();
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name);
        let kind = entry.header().entry_type();
        if kind == EntryType::Directory && name.is_empty() {
            // tar adds it when somebody packs an archive by hand.
            continue;
        }
        match BACKED_UP.into_iter().find(|(known, _)| *known == name) {
            // The name may contain anything, even control characters.
            None => return Err(bad(format!("{name:?} does not belong in a backup"))),
            Some(_) if kind != EntryType::Regular => {
                return Err(bad(format!("{name} is not a regular file")));
            }
            Some((_, size_max)) if entry.size() > size_max => {
                return Err(bad(format!("{name} is too large")));
            }
            Some(_) if !names.insert(name.to_owned()) => {
                return Err(bad(format!("it contains {name} twice")));
            }
            Some(_) => extract(files, &mut entry, &place(path, name))?,
        }
    }
    // Tar pads archives with zeros.
    for byte in BufReader::new(archive.into_inner()).bytes() {
        if byte.map_err(unreadable)? != 0 {
            return Err(bad("there is data after its end"));
        }
    }
    for name in [LEDGER, SECRET] {
        if !names.contains(name) {
            return Err(bad(format!("it is not complete: {name} is missing")));
        }
    }
    Ok(names)
}

/// Writes the entry to a new file, synced.
fn extract<R: Read>(
    files: &dyn Files,
    entry: &mut Entry<'_, R>,
    path: &Path,
) -> Result<(), OpenError> {
    let file = files.create(path);
    let mut file = file.map_err(OpenError::io("create", path))?;
    let (mut buffer, mut left) = (vec![0; BUFFER_BYTES], entry.size());
    while left > 0 {
        let taken = entry.read(&mut buffer).map_err(unreadable)?;
        if taken == 0 {
            return Err(bad("it is truncated"));
        }
        let bytes = buffer.get(..taken).unwrap_or_default();
        append_whole(file.as_mut(), bytes).map_err(OpenError::io("write", path))?;
        left = left.saturating_sub(taken as u64);
    }
    file.sync().map_err(OpenError::io("write", path))
}

fn unreadable(error: io::Error) -> OpenError {
    // It may quote the archive.
    let error = error.to_string();
    bad(format!("it cannot be read: {}", error.escape_debug()))
}

fn bad(reason: impl Display) -> OpenError {
    OpenError::Refused(format!(
        "the backup cannot be used: {reason}; nothing was restored"
    ))
}
