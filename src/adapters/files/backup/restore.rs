//! Restoring an archive. It is unpacked into a directory inside the data directory and verified there. Then
//! its files are moved into place, the ledger last: a data directory with only some of them does not start.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, DirBuilder};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use serde::Serialize;
use tar::{Archive, Entry, EntryType};

use crate::adapters::files::data_dir::{
    BACKED_UP, MARK, RESTORING, SECRET, create_private, held, lock, mark_held, refuse_foreign,
};
use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::{
    BUFFER_BYTES, Files, PRIVATE_DIRECTORY, append_whole, remove_any, remove_for_good,
};
use crate::adapters::ledger::record::{Flaw, LEDGER, Verified, preview, verify};
use crate::adapters::ledger::{refusal, waiting_deliveries};
use crate::domain::Channel;

use super::write::read_secret;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Number of ledger entries.
    pub entries: u64,
    /// Number of pending deliveries. Their channels are held: some may have been made since.
    pub held: u64,
    /// The files in the archive.
    pub files: Vec<String>,
}

/// Restores the archive read from `archive` into the data directory at `path`, which may be missing and must
/// not contain a ledger. Everything acknowledged after the archive was written is lost.
///
/// # Errors
/// [`OpenError`] when the archive is damaged, or the directory cannot be used. The directory then contains
/// no ledger.
pub fn restore(files: &dyn Files, path: &Path, archive: impl Read) -> Result<Restored, OpenError> {
    create_private(files, path).map_err(OpenError::io("create", path))?;
    refuse_foreign(path)?;
    let _lock = lock(path)?;
    if has_ledger(path)? {
        return Err(OpenError::Refused(format!(
            "{} already has a ledger: restore into another --data-dir, or move this one away first",
            path.display()
        )));
    }
    let staging = path.join(RESTORING);
    // An earlier restore may have been interrupted.
    remove_any(&staging).map_err(OpenError::io("remove", &staging))?;
    let restored = unpack(files, archive, &staging)
        .and_then(|names| Ok((check(&staging)?, names)))
        .and_then(|(verified, names)| {
            let held = hold_deliveries(files, path, &staging.join(LEDGER))?;
            put_in_place(files, path, &staging, &names)?;
            Ok(Restored {
                entries: verified.end.sequence,
                held,
                files: names.into_iter().collect(),
            })
        });
    let removed = remove_any(&staging).map_err(OpenError::io("remove", &staging));
    let restored = restored?;
    removed?;
    sync(files, path)?;
    Ok(restored)
}

/// The files in the directory at `path` that a restore would replace; none if there is a ledger, because
/// the restore is then refused.
///
/// # Errors
/// [`OpenError`] when the ledger cannot be read.
pub fn replaced_files(path: &Path) -> Result<Vec<&'static str>, OpenError> {
    if has_ledger(path)? {
        return Ok(Vec::new());
    }
    let names = BACKED_UP.into_iter().map(|(name, _)| name);
    let is_there = |name: &&str| fs::metadata(path.join(name)).is_ok_and(|file| file.len() > 0);
    Ok(names.filter(is_there).collect())
}

/// True if there is a ledger in the directory at `path`. An empty file does not count.
fn has_ledger(path: &Path) -> Result<bool, OpenError> {
    let ledger = path.join(LEDGER);
    let found = preview(&ledger).map_err(OpenError::io("read", &ledger))?;
    Ok(found.is_some())
}

/// Unpacks the archive into the new directory `staging` and returns the names of its files.
fn unpack(
    files: &dyn Files,
    archive: impl Read,
    staging: &Path,
) -> Result<BTreeSet<String>, OpenError> {
    let created = DirBuilder::new().mode(PRIVATE_DIRECTORY).create(staging);
    created.map_err(OpenError::io("create", staging))?;
    let mut archive = Archive::new(archive);
    let mut names = BTreeSet::new();
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let Some(name) = name_of(&entry)? else {
            continue;
        };
        if names.contains(&name) {
            return Err(bad(format!("it contains {name} twice")));
        }
        extract(files, &mut entry, &staging.join(&name))?;
        names.insert(name);
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

/// The name of a file that belongs in a data directory. `None` for the directory entry that tar adds when
/// somebody packs an archive by hand.
fn name_of<R: Read>(entry: &Entry<'_, R>) -> Result<Option<String>, OpenError> {
    let path = entry.path_bytes();
    let name = String::from_utf8_lossy(&path).into_owned();
    let name = name.strip_prefix("./").unwrap_or(&name);
    let kind = entry.header().entry_type();
    if kind == EntryType::Directory && name.is_empty() {
        return Ok(None);
    }
    let Some((_, size_max)) = BACKED_UP.into_iter().find(|(known, _)| *known == name) else {
        // The name may contain anything, even control characters.
        return Err(bad(format!("{name:?} does not belong in a backup")));
    };
    if kind != EntryType::Regular {
        return Err(bad(format!("{name} is not a regular file")));
    }
    if entry.size() > size_max {
        return Err(bad(format!("{name} is too large")));
    }
    Ok(Some(name.to_owned()))
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
    loop {
        let taken = entry.read(&mut buffer).map_err(unreadable)?;
        if taken == 0 {
            break;
        }
        let bytes = buffer.get(..taken).unwrap_or_default();
        append_whole(file.as_mut(), bytes).map_err(OpenError::io("write", path))?;
        left = left.saturating_sub(taken as u64);
    }
    if left > 0 {
        return Err(bad("it ends too early"));
    }
    file.sync().map_err(OpenError::io("write", path))
}

/// Verifies the ledger and the secret in `staging`.
fn check(staging: &Path) -> Result<Verified, OpenError> {
    let verified = verify(&staging.join(LEDGER), None).map_err(|flaw| match flaw {
        Flaw::Damaged { .. } => bad(format!("its ledger is damaged: {flaw}")),
        Flaw::Io(_) | Flaw::Foreign(_) | Flaw::Unreadable(_) => refusal(staging, flaw),
    })?;
    if verified.torn.is_some() {
        return Err(bad("its ledger ends in an unfinished batch"));
    }
    read_secret(staging, &verified)?;
    Ok(verified)
}

/// Holds the channels with pending deliveries in the ledger at `ledger`. Returns the number of deliveries.
fn hold_deliveries(files: &dyn Files, path: &Path, ledger: &Path) -> Result<u64, OpenError> {
    let waiting = waiting_deliveries(ledger).map_err(|flaw| refusal(path, flaw))?;
    for channel in Channel::ALL.into_iter().filter(|_| waiting > 0) {
        let held = held(path, channel);
        mark_held(files, &held).map_err(OpenError::io("write", &held))?;
    }
    Ok(waiting)
}

/// Moves the files into place, the ledger last, durably.
fn put_in_place(
    files: &dyn Files,
    path: &Path,
    staging: &Path,
    names: &BTreeSet<String>,
) -> Result<(), OpenError> {
    sync(files, staging)?;
    // The mark belongs to another ledger.
    let mark = path.join(MARK);
    remove_for_good(files, &mark).map_err(OpenError::io("remove", &mark))?;
    let others = names
        .iter()
        .map(String::as_str)
        .filter(|name| *name != LEDGER);
    for name in others {
        rename(files, &staging.join(name), &path.join(name))?;
    }
    sync(files, path)?;
    rename(files, &staging.join(LEDGER), &path.join(LEDGER))?;
    sync(files, path)
}

fn rename(files: &dyn Files, from: &Path, to: &Path) -> Result<(), OpenError> {
    files.rename(from, to).map_err(OpenError::io("write", to))
}

fn sync(files: &dyn Files, directory: &Path) -> Result<(), OpenError> {
    let synced = files.sync_directory(directory);
    synced.map_err(OpenError::io("write", directory))
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
