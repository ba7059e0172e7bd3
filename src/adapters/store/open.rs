//! Opening the store: from whatever the last process left to a ledger, an index and a committer
//! that agree.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::data_dir::DataDir;
use crate::adapters::system::aside_while;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;

use super::SledStore;
use super::committer::{Committer, Shared, compacted_meta};
use super::desk::Desk;
use super::error::OpenError;
use super::index::{self, INDEX, Index, Meta, RebuildError, marker, rebuild};
use super::ledger::{
    self, FORMAT, Files, Flaw, LEDGER, Ledger, SystemFiles, Verified, recover, remove_for_good,
};

/// The store's numbers and files.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Most changes that wait for the committer; one more is refused as overload.
    pub waiting_changes_max: usize,
    /// Fewer dead lines than this are never worth writing the ledger anew.
    pub dead_lines_min: u64,
    /// Where the ledger is kept.
    pub files: Arc<dyn Files>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            waiting_changes_max: 8192,
            dead_lines_min: 65_536,
            files: Arc::new(SystemFiles),
        }
    }
}

pub(super) fn open(
    data_dir: &DataDir,
    now: Timestamp,
    tuning: Tuning,
) -> Result<SledStore, OpenError> {
    let hash_key = data_dir.secret().keys().index;
    let index_root = data_dir.path().join(INDEX);
    // Both are read whole, which takes a core each.
    let (promised, ledger) = aside_while(
        || {
            catch_unwind(|| marker::read(&index_root))
                .unwrap_or_else(|_panic| Err("panic".to_owned()))
        },
        || open_ledger(data_dir, now, &tuning.files),
    )
    .map_err(OpenError::io("start a thread for", data_dir.path()))?;
    let ledger = ledger?;
    let promised = if is_damage_accepted(data_dir)? {
        // It may have been read before it was wiped.
        Err("damage was accepted".to_owned())
    } else {
        promised
    };
    let (index, meta) = open_index(&index_root, promised, &hash_key, &ledger)?;
    let shared = Arc::new(Shared::default());
    let mut committer = Committer {
        ledger,
        meta,
        index_root: index_root.clone(),
        hash_key: hash_key.clone(),
        shared: Arc::clone(&shared),
        dead_lines_min: tuning.dead_lines_min,
        now,
    };
    // A line of a later format in a file of an earlier one would pass for damage.
    let is_outdated = committer.ledger.head().format < FORMAT;
    if is_outdated || committer.meta.tally.forgotten > 0 || committer.is_compaction_due() {
        committer.ledger = compact(data_dir, &committer.ledger, now)?;
        committer.meta = compacted_meta(&committer.ledger, &committer.meta);
    }
    data_dir.withdraw_acceptance()?;
    let desk = Desk::open(committer, index, tuning.waiting_changes_max)
        .map_err(OpenError::io("start a thread for", data_dir.path()))?;
    Ok(SledStore {
        desk,
        shared,
        hash_key,
        _lock: data_dir.lock(),
    })
}

/// Opens the ledger, or begins one. It is recorded under the secret of `data_dir` then.
fn open_ledger(
    data_dir: &DataDir,
    now: Timestamp,
    files: &Arc<dyn Files>,
) -> Result<Ledger, OpenError> {
    let path = data_dir.path().join(LEDGER);
    let secret = data_dir.secret().id();
    let flawed = |flaw| flawed(data_dir, flaw);
    let left = marker::promise(&data_dir.path().join(INDEX));
    // A compaction may have been interrupted.
    let unfinished = ledger::unfinished(&path);
    remove_for_good(&unfinished).map_err(OpenError::io("remove", &unfinished))?;
    if !is_there(&path)? {
        if is_there(&data_dir.path().join(INDEX))? {
            tracing::warn!("there is an index but no ledger: beginning an empty one");
        }
        ledger::set_journal_aside(files.as_ref(), &path)
            .map_err(OpenError::io("set the journal aside of", &path))?;
        return named(ledger::create(files, &path, &secret).map_err(flawed)?);
    }
    let opened = match open_recovered(files, &path, left.as_ref()) {
        Err(Flaw::Io(error)) => {
            // The first sync also tells of what the last process wrote and was lost behind its
            // back. It tells once, and then all that was not synced is to be written again,
            // whatever a clean stop promised.
            tracing::warn!(%error, "the ledger cannot be read or written: trying once more");
            open_recovered(files, &path, None)
        }
        opened => opened,
    };
    let (ledger, verified) = match opened {
        Err(Flaw::Damaged { line, what }) if is_damage_accepted(data_dir)? => {
            tracing::warn!(
                ledger.line = line,
                what,
                "damage was accepted: keeping what is whole"
            );
            // The generation may be what is damaged. The index is made again in any case.
            index::wipe(&data_dir.path().join(INDEX), None)
                .map_err(OpenError::io("remove", &data_dir.path().join(INDEX)))?;
            let salvaged = ledger::salvage(files.as_ref(), &path)
                .and_then(|generation| ledger::compact(files, &path, generation, &secret, now));
            return named(salvaged.map_err(flawed)?);
        }
        opened => opened.map_err(flawed)?,
    };
    if verified.head.secret == secret {
        return Ok(ledger);
    }
    if verified.sequence > 0 {
        tracing::warn!(
            "a new secret was accepted: cookies, agents' tokens and origins made with the old one \
             are void"
        );
    }
    compact(data_dir, &ledger, now)
}

/// Opens the ledger that the last process left. After a clean stop, `left` is what that promised.
fn open_recovered(
    files: &Arc<dyn Files>,
    path: &Path,
    left: Option<&Meta>,
) -> Result<(Ledger, Verified), Flaw> {
    let recovered = recover(path)?;
    let verified = &recovered.verified;
    // A clean stop syncs the ledger before it promises anything.
    let is_synced = left.is_some_and(|meta| meta.is_of(&verified.head, verified.sequence));
    let ledger = Ledger::open(Arc::clone(files), path, &recovered, is_synced)?;
    Ok((ledger, recovered.verified))
}

fn compact(data_dir: &DataDir, ledger: &Ledger, now: Timestamp) -> Result<Ledger, OpenError> {
    let generation = ledger.head().generation + 1;
    let secret = data_dir.secret().id();
    let compacted = ledger::compact(ledger.files(), ledger.path(), generation, &secret, now)
        .map_err(|flaw| flawed(data_dir, flaw))?;
    named(compacted)
}

/// Makes sure that a new generation keeps the ledger's name.
fn named(mut ledger: Ledger) -> Result<Ledger, OpenError> {
    ledger
        .repair()
        .map_err(|error| OpenError::io("write", ledger.path())(error))?;
    Ok(ledger)
}

/// The directory and content of the index that a clean stop left.
type Promised = (PathBuf, Meta);

/// Opens the index that a clean stop left, or makes it again.
fn open_index(
    root: &Path,
    promised: Result<Promised, String>,
    hash_key: &MacKey,
    ledger: &Ledger,
) -> Result<(Index, Meta), OpenError> {
    let reason = match promised.and_then(|promised| open_trusted(root, promised, ledger)) {
        Ok(opened) => return Ok(opened),
        Err(reason) => reason,
    };
    let total = ledger.position().sequence;
    if total > 0 {
        tracing::info!(reason, "the index cannot be used");
    }
    // First, so that an index that is removed in part promises nothing. It goes in any case.
    let _ = marker::remove(root);
    index::wipe(root, None).map_err(OpenError::io("remove", root))?;
    rebuild(root, hash_key, ledger.path(), ledger.head(), total).map_err(|error| match error {
        RebuildError::Index(error) => index_failed(root, &error),
        RebuildError::Ledger(flaw) => OpenError::Index {
            path: root.to_path_buf(),
            reason: flaw.to_string(),
        },
    })
}

/// Opens the index that a clean stop left. The promise holds for one start: it is taken back
/// before anything is changed. Otherwise the reason why there is nothing to trust.
fn open_trusted(
    root: &Path,
    (directory, meta): Promised,
    ledger: &Ledger,
) -> Result<(Index, Meta), String> {
    if !meta.is_of(ledger.head(), ledger.position().sequence) {
        return Err("it is of another state of the ledger".to_owned());
    }
    marker::remove(root).map_err(|error| error.to_string())?;
    index::wipe(root, Some(&directory)).map_err(|error| error.to_string())?;
    let index = Index::open(&directory).map_err(|error| error.to_string())?;
    match index.meta() {
        Ok(Some(found)) if found == meta => Ok((index, meta)),
        Ok(_) => {
            index.abandon();
            Err("it does not hold what it was left with".to_owned())
        }
        Err(error) => {
            index.abandon();
            Err(error.to_string())
        }
    }
}

/// Whether there is anything at `path`.
fn is_there(path: &Path) -> Result<bool, OpenError> {
    path.try_exists().map_err(OpenError::io("look at", path))
}

fn is_damage_accepted(data_dir: &DataDir) -> Result<bool, OpenError> {
    is_there(&data_dir.accept_damage())
}

fn index_failed(root: &Path, error: &index::IndexError) -> OpenError {
    OpenError::Index {
        path: root.to_path_buf(),
        reason: error.to_string(),
    }
}

fn flawed(data_dir: &DataDir, flaw: Flaw) -> OpenError {
    let path: PathBuf = data_dir.path().join(LEDGER);
    match flaw {
        Flaw::Io(error) => OpenError::io("read or write", &path)(error),
        Flaw::Journal(source) => OpenError::Journal {
            path: ledger::journal_path(&path),
            source,
        },
        Flaw::Newer(format) => OpenError::NewerFormat {
            path,
            format,
            newest: FORMAT,
        },
        Flaw::Damaged { line, what } => OpenError::Damaged {
            path,
            line,
            what,
            accept: data_dir.accept_damage(),
        },
    }
}
