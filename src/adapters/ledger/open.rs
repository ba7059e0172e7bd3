//! Opening the store: from what the last process left to a ledger and an index that agree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::data_dir::DataDir;
use crate::adapters::files::{Files, SystemFiles, is_full, numbered, remove_for_good, sync_parent};
use crate::adapters::open_error::OpenError;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;

use super::index::clean_stop::{self, CleanStop};
use super::index::{self, Index, RebuildError};
use super::record::{self, FORMAT, Flaw, LEDGER, Ledger, PROBE, Stamp, Verified, append_whole};
use super::shared_state::SharedState;
use super::writer::{LedgerWriter, ledger_failed, stamp};

/// How many bad lines a message names.
const LINES_NAMED_MAX: usize = 20;

/// The store's numbers and files.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Most changes that wait for the writer; one more is refused as overload.
    pub waiting_changes_max: usize,
    /// A compaction is due when the lines that may have become superfluous since the last one
    /// outnumber those it began with, and are more than this.
    pub growth_min: u64,
    /// Where the ledger is kept.
    pub files: Arc<dyn Files>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            waiting_changes_max: 8192,
            growth_min: 65_536,
            files: Arc::new(SystemFiles),
        }
    }
}

/// Opens ledger and index. The acceptance of damage or of a new secret is withdrawn.
pub(super) fn open(data_dir: &DataDir, tuning: &Tuning) -> Result<LedgerWriter, OpenError> {
    let index_root = data_dir.index();
    let hash_key = data_dir.secret().keys().index;
    let secret = data_dir.secret().id();
    let (ledger, has_forgotten, left) = open_ledger(data_dir, &tuning.files)?;
    let is_new_secret = ledger.head().secret != secret;
    if is_new_secret && ledger.sequence() > 0 {
        tracing::warn!(
            "a new secret was accepted: cookies, agents' tokens and origins made with the old one \
             are void"
        );
    }
    let left = match left {
        // Buckets depend on the secret.
        Ok(_) if is_new_secret => Err("the secret is new".to_owned()),
        left => left,
    };
    let shared = SharedState::default();
    shared.set_file(ledger.id().ok());
    let trusted = left.and_then(|left| open_trusted(&index_root, left, &hash_key, &ledger));
    let mut writer = LedgerWriter {
        ledger,
        index_root,
        hash_key,
        shared: Arc::new(shared),
        index_failure: None,
        growth_min: tuning.growth_min,
        put_off: 0,
        // Nothing expires before an event of this process tells the time.
        now: Timestamp::default(),
    };
    match trusted {
        Ok(index) => writer.shared.set_index(index),
        Err(reason) => make_index(&mut writer, &reason).map_err(|flaw| flawed(data_dir, flaw))?,
    }
    // A line of a later format in a file of an earlier one would pass for damage.
    let is_outdated = writer.ledger.head().format < FORMAT;
    if is_new_secret || is_outdated || has_forgotten {
        match writer.compact(&secret) {
            Err(Flaw::Io(error)) if is_full(&error) && !is_new_secret && !is_outdated => {
                tracing::warn!(
                    %error,
                    "the ledger still holds addresses that were forgotten: the next start with \
                     enough room drops them"
                );
            }
            compacted => compacted.map_err(|flaw| flawed(data_dir, flaw))?,
        }
    }
    // The rename of a new generation is not durable yet.
    let repaired = writer.ledger.repair();
    repaired.map_err(OpenError::io("write", writer.ledger.path()))?;
    data_dir.withdraw_acceptance()?;
    if let Err(error) = try_room(data_dir, tuning.files.as_ref()) {
        // Nothing may be written for long: health must tell before.
        tracing::error!(%error, "nothing can be written to the data directory");
        writer.ledger.distrust();
        writer.shared.set_trouble(Some(ledger_failed(error)));
    }
    Ok(writer)
}

/// Writes a little beside the ledger, which itself stays as it is.
fn try_room(data_dir: &DataDir, files: &dyn Files) -> io::Result<()> {
    let path = data_dir.path().join(LEDGER).with_extension("jsonl.room");
    let written = files
        .create(&path)
        .and_then(|mut file| append_whole(file.as_mut(), &PROBE));
    let removed = fs::remove_file(&path);
    written.and(removed)
}

/// Opens the ledger. Also returns whether it has addresses that were forgotten, and what the last stop
/// left, if that was a clean one.
fn open_ledger(
    data_dir: &DataDir,
    files: &Arc<dyn Files>,
) -> Result<(Ledger, bool, Result<CleanStop, String>), OpenError> {
    let path = data_dir.path().join(LEDGER);
    let index_root = data_dir.index();
    let secret = data_dir.secret().id();
    // A compaction may have been interrupted.
    let unfinished = record::unfinished(&path);
    remove_for_good(&unfinished).map_err(OpenError::io("remove", &unfinished))?;
    record::take_over(files.as_ref(), &path)
        .map_err(OpenError::io("take over the journal of", &path))?;
    let left = clean_stop::read(&index_root);
    // It was another ledger, if an empty one was accepted instead.
    let is_empty_accepted = exists(&data_dir.accept_empty())?;
    let proof = left.as_ref().ok().filter(|_| !is_empty_accepted);
    let proof = proof.and_then(CleanStop::proof);
    let synced = left.as_ref().ok().map(|left| &left.stamp);
    let opened = match verify_and_open(files, &path, proof, synced) {
        Err(Flaw::Io(error)) => {
            // The first sync also reports what the last process wrote and the disk then lost. It
            // reports that once, and the last batch must be written again, even after a clean stop.
            tracing::warn!(%error, "the ledger cannot be read or written: trying once more");
            verify_and_open(files, &path, proof, None)
        }
        opened => opened,
    };
    match opened {
        Ok((ledger, verified)) => Ok((ledger, verified.has_forgotten, left)),
        Err(Flaw::Damaged { line, what }) if exists(&data_dir.accept_damage())? => {
            let kept = numbered(&path, "damaged");
            tracing::warn!(
                ledger.line = line,
                what = what + &others(&path),
                kept = %kept.display(),
                "damage was accepted: going on with what is whole, and keeping the file as it was"
            );
            // The generation may be what is damaged, and the number that follows one of an index.
            remove_index(&index_root)?;
            let generation = record::glimpse(&path).map_err(OpenError::io("read", &path))?;
            let generation = generation.map_or(0, |glimpse| glimpse.generation) + 1;
            let now = Timestamp::default();
            // Not every file system has hard links.
            let copy = |_error| fs::copy(&path, &kept).map(drop);
            let keep = || fs::hard_link(&path, &kept).or_else(copy);
            let (ledger, _expired) = record::compact(files, &path, generation, &secret, now, keep)
                .map_err(|flaw| flawed(data_dir, flaw))?;
            Ok((ledger, false, Err("damage was accepted".to_owned())))
        }
        Err(flaw) => Err(flawed(data_dir, flaw)),
    }
}

/// Opens the ledger that the last process left. What is in `proof` must be there. If `synced` is its
/// state, all of it was synced.
fn verify_and_open(
    files: &Arc<dyn Files>,
    path: &Path,
    proof: Option<&Stamp>,
    synced: Option<&Stamp>,
) -> Result<(Ledger, Verified), Flaw> {
    let verified = record::verify(path, proof)?;
    let is_synced = synced.is_some_and(|stamp| {
        stamp.generation == verified.head.generation && stamp.length == verified.length
    });
    let ledger = Ledger::open(files, path, &verified, is_synced)?;
    Ok((ledger, verified))
}

/// Makes the index from the ledger. Without one the store starts all the same: it may lack nothing
/// but room.
fn make_index(writer: &mut LedgerWriter, reason: &str) -> Result<(), Flaw> {
    if writer.ledger.sequence() > 0 {
        tracing::info!(reason, "the index cannot be used");
    }
    // What cannot be removed makes the next step fail.
    let _ = remove_index(&writer.index_root);
    match writer.make_index() {
        Ok(()) => Ok(()),
        Err(RebuildError::Index(error)) => {
            tracing::error!(
                %error,
                "the index cannot be made; until it can, sign-ups, keys and revocations are refused"
            );
            Ok(())
        }
        Err(RebuildError::Ledger(flaw)) => Err(flaw),
    }
}

/// Removes every index. Its marker goes durably: a later start would hold it against another ledger.
fn remove_index(root: &Path) -> Result<(), OpenError> {
    // First, so that an index that is removed in part is not trusted. It goes in any case.
    let _ = clean_stop::remove(root);
    index::wipe(root, None)
        .and_then(|()| sync_parent(root))
        .map_err(OpenError::io("remove", root))
}

/// Opens the index that a clean stop left, or returns why it cannot be trusted.
fn open_trusted(
    root: &Path,
    left: CleanStop,
    hash_key: &MacKey,
    ledger: &Ledger,
) -> Result<Arc<Index>, String> {
    if left.stamp != stamp(ledger) {
        return Err("it is of another state of the ledger".to_owned());
    }
    let directory = left.redeem(root)?;
    index::wipe(root, Some(&directory)).map_err(|error| error.to_string())?;
    Index::open(&directory, hash_key).map_err(|error| error.to_string())
}

fn exists(path: &Path) -> Result<bool, OpenError> {
    path.try_exists().map_err(OpenError::io("look at", path))
}

fn flawed(data_dir: &DataDir, flaw: Flaw) -> OpenError {
    let path: PathBuf = data_dir.path().join(LEDGER);
    match flaw {
        Flaw::Io(error) => OpenError::io("read or write", &path)(error),
        Flaw::Newer(format) => OpenError::NewerFormat {
            path,
            format,
            newest: FORMAT,
        },
        Flaw::Damaged { line, what } => OpenError::Damaged {
            line,
            what: what + &others(&path),
            path,
            accept: data_dir.accept_damage(),
        },
    }
}

/// Names the bad lines of the ledger at `path`, if there are several.
fn others(path: &Path) -> String {
    let (first, count) = record::bad_lines(path, LINES_NAMED_MAX).unwrap_or_default();
    if count < 2 {
        return String::new();
    }
    let first: Vec<_> = first.iter().map(ToString::to_string).collect();
    let more = match count > LINES_NAMED_MAX as u64 {
        true => ", ...",
        false => "",
    };
    format!(" ({count} lines are bad: {}{more})", first.join(", "))
}
