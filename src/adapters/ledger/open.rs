//! Opening the store: from what the last process left to a ledger and an index that agree.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::data_dir::{ACCEPT_DAMAGE, DataDir, exists};
use crate::adapters::files::{Files, SystemFiles, is_full, numbered, remove_for_good, sync_parent};
use crate::adapters::open_error::OpenError;
use crate::domain::secret::MacKey;
use crate::domain::time::Timestamp;
use crate::metrics::Metrics;

use super::erasure;
use super::index::clean_stop::{self, CleanStop};
use super::index::{self, Index, RebuildError};
use super::record::{self, FORMAT, Flaw, LEDGER, Ledger, PROBE, Stamp, Verified, append_whole};
use super::shared_state::SharedState;
use super::writer::{LedgerWriter, ledger_failed, stamp};

/// How many bad lines a message names.
pub(super) const LINES_NAMED_MAX: usize = 20;

/// The store's numbers, files and metrics.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Most changes that wait for the writer; one more is refused as overload.
    pub waiting_changes_max: usize,
    /// A compaction is due when the lines that may have become superfluous since the last one
    /// outnumber those it began with, and are more than this.
    pub growth_min: u64,
    /// Where the ledger is kept.
    pub files: Arc<dyn Files>,
    /// Counts the batches.
    pub metrics: Arc<Metrics>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            waiting_changes_max: 8192,
            growth_min: 65_536,
            files: Arc::new(SystemFiles),
            metrics: Arc::new(Metrics::new([])),
        }
    }
}

/// Opens ledger and index. The acceptance of damage or of a new secret is withdrawn.
pub(super) fn open(data_dir: &DataDir, tuning: &Tuning) -> Result<LedgerWriter, OpenError> {
    let index_root = data_dir.index();
    let hash_key = data_dir.secret().keys().index;
    let secret = data_dir.secret().id();
    let (ledger, has_forgotten, marker) = open_ledger(data_dir, &tuning.files)?;
    let is_new_secret = ledger.head().secret != secret;
    if is_new_secret && ledger.sequence() > 0 {
        tracing::warn!(
            "a new secret was accepted: cookies, agents' tokens, origins and the hashes of erased \
             addresses made with the old one are void"
        );
    }
    let marker = match marker {
        // Buckets depend on the secret.
        Ok(_) if is_new_secret => Err("the secret is new".to_owned()),
        // sled keeps bytes that it no longer needs.
        Ok(_) if has_forgotten => Err("an erasure was not finished".to_owned()),
        marker => marker,
    };
    let shared = SharedState::default();
    shared.set_file(ledger.id().ok());
    let trusted = marker.and_then(|marker| open_trusted(&index_root, marker, &hash_key, &ledger));
    let mut writer = LedgerWriter {
        ledger,
        index_root,
        hash_key,
        shared: Arc::new(shared),
        metrics: Arc::clone(&tuning.metrics),
        index_failure: None,
        growth_min: tuning.growth_min,
        put_off: 0,
        // Until the first event of this process nothing expires.
        now: Timestamp::default(),
        is_index_stale: false,
    };
    let untrusted = match trusted {
        Ok(index) => {
            writer.shared.set_index(index);
            None
        }
        Err(reason) => Some(reason),
    };
    let is_stale =
        !compact(&mut writer, &secret, has_forgotten).map_err(|flaw| flawed(data_dir, flaw))?;
    // After the compaction, so that it holds no address that was forgotten.
    if let Some(reason) = untrusted {
        build_index(&mut writer, &reason).map_err(|flaw| flawed(data_dir, flaw))?;
        writer.is_index_stale = is_stale;
    }
    // The rename of a new generation is not durable yet.
    let repaired = writer.ledger.repair();
    repaired.map_err(OpenError::io("write", writer.ledger.path()))?;
    tuning.metrics.ledger.set_bytes(writer.ledger.length());
    data_dir.withdraw_acceptance()?;
    if let Err(error) = probe_disk(data_dir, tuning.files.as_ref()) {
        // Health must show this before the first write is tried.
        let error = ledger_failed(error);
        tracing::error!(%error, "nothing can be written to the data directory");
        writer.ledger.mark_failed();
        writer.shared.set_write_error(Some(error));
    }
    Ok(writer)
}

/// Compacts the ledger if it has another secret, or addresses that were forgotten.
/// Returns whether it is free of these now.
fn compact(writer: &mut LedgerWriter, secret: &str, has_forgotten: bool) -> Result<bool, Flaw> {
    let path = writer.ledger.path();
    if has_forgotten {
        erasure::blank_kept(path, &erasure::forgotten(path)?);
    }
    let is_needed = writer.ledger.head().secret != secret;
    if !is_needed && !has_forgotten {
        return Ok(true);
    }
    match writer.compact(secret) {
        Err(Flaw::Io(error)) if is_full(&error) && !is_needed => {
            tracing::warn!(
                %error,
                "the ledger still holds addresses that were forgotten: the next start with enough \
                 room drops them"
            );
            Ok(false)
        }
        compacted => compacted.map(|()| true),
    }
}

/// Writes a file beside the ledger and removes it.
fn probe_disk(data_dir: &DataDir, files: &dyn Files) -> io::Result<()> {
    let path = data_dir.path().join(LEDGER).with_extension("jsonl.room");
    let written = files
        .create(&path)
        .and_then(|mut file| append_whole(file.as_mut(), &PROBE));
    let removed = fs::remove_file(&path);
    written.and(removed)
}

/// Opens the ledger. Also returns whether it has addresses that were forgotten, and the marker of the
/// last clean stop or why there is none.
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
    let marker = clean_stop::read(&index_root);
    // Once an empty ledger is accepted, the marker is that of another ledger.
    let is_empty_accepted = exists(&data_dir.accept_empty())?;
    let clean_stop = marker.as_ref().ok();
    let required = clean_stop.filter(|_| !is_empty_accepted);
    let required = required.map(|clean_stop| &clean_stop.stamp);
    let synced = clean_stop.map(|clean_stop| &clean_stop.stamp);
    let opened = match verify_and_open(files, &path, required, synced) {
        Err(Flaw::Io(error)) => {
            // The first sync also reports what the last process wrote and the disk then lost. It
            // reports that once, and the last batch must be written again, even after a clean stop.
            tracing::warn!(%error, "the ledger cannot be read or written: trying once more");
            verify_and_open(files, &path, required, None)
        }
        opened => opened,
    };
    match opened {
        Ok((ledger, verified)) => Ok((ledger, verified.has_forgotten, marker)),
        Err(Flaw::Damaged { line, reason }) if exists(&data_dir.accept_damage())? => {
            let kept = numbered(&path, "damaged");
            tracing::warn!(
                ledger.line = line,
                reason = reason + &list_bad_lines(&path),
                kept = %kept.display(),
                "damage was accepted: going on with what is whole, and keeping the file as it was"
            );
            // The damage may be in the generation number. The next number could then be one that an index
            // names.
            remove_index(&index_root)?;
            let generation = record::preview(&path).map_err(OpenError::io("read", &path))?;
            let generation = generation.map_or(0, |preview| preview.generation) + 1;
            let now = Timestamp::default();
            // Not every file system has hard links.
            let forgotten = erasure::forgotten(&path).map_err(|flaw| flawed(data_dir, flaw))?;
            let copy = |_error| fs::copy(&path, &kept).map(drop);
            let keep = || fs::hard_link(&path, &kept).or_else(copy);
            let (ledger, _expired) = record::compact(files, &path, generation, &secret, now, keep)
                .map_err(|flaw| flawed(data_dir, flaw))?;
            erasure::blank_kept(&path, &forgotten);
            Ok((ledger, false, Err("damage was accepted".to_owned())))
        }
        Err(flaw) => Err(flawed(data_dir, flaw)),
    }
}

/// Verifies and opens the ledger. The events of `required` must be there. If `synced` is its state, all
/// of it was synced.
fn verify_and_open(
    files: &Arc<dyn Files>,
    path: &Path,
    required: Option<&Stamp>,
    synced: Option<&Stamp>,
) -> Result<(Ledger, Verified), Flaw> {
    let verified = record::verify(path, required)?;
    let is_synced = synced.is_some_and(|stamp| {
        stamp.generation == verified.head.generation && stamp.length == verified.length
    });
    let ledger = Ledger::open(files, path, &verified, is_synced)?;
    Ok((ledger, verified))
}

/// Builds the index from the ledger. The store starts without one if that fails: only disk space may
/// be missing.
fn build_index(writer: &mut LedgerWriter, reason: &str) -> Result<(), Flaw> {
    if writer.ledger.sequence() > 0 {
        tracing::info!(reason, "the index cannot be used");
    }
    // If this fails, so does the next step.
    let _ = remove_index(&writer.index_root);
    match writer.build_index() {
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

/// Removes every index and, durably, the marker: a later start would compare it with another ledger.
fn remove_index(root: &Path) -> Result<(), OpenError> {
    // The marker first, so that an index that is removed in part is not trusted. An error is ignored,
    // because `wipe` removes the marker, too.
    let _ = clean_stop::remove(root);
    index::wipe(root, None)
        .and_then(|()| sync_parent(root))
        .map_err(OpenError::io("remove", root))
}

/// Opens the index that a clean stop left, or returns why it cannot be trusted.
fn open_trusted(
    root: &Path,
    marker: CleanStop,
    hash_key: &MacKey,
    ledger: &Ledger,
) -> Result<Arc<Index>, String> {
    if marker.stamp != stamp(ledger) {
        return Err("it is of another state of the ledger".to_owned());
    }
    let directory = marker.redeem(root)?;
    index::wipe(root, Some(&directory)).map_err(|error| error.to_string())?;
    Index::open(&directory, hash_key).map_err(|error| error.to_string())
}

fn flawed(data_dir: &DataDir, flaw: Flaw) -> OpenError {
    refusal(data_dir.path(), flaw)
}

/// Why the ledger in `directory` is refused.
pub(in crate::adapters) fn refusal(directory: &Path, flaw: Flaw) -> OpenError {
    let path: PathBuf = directory.join(LEDGER);
    match flaw {
        Flaw::Io(error) => OpenError::io("read or write", &path)(error),
        Flaw::Foreign(format) => OpenError::ForeignFormat {
            path,
            format,
            own: FORMAT,
        },
        Flaw::Damaged { line, reason } => OpenError::Damaged {
            line,
            reason: reason + &list_bad_lines(&path),
            path,
            accept: directory.join(ACCEPT_DAMAGE),
        },
    }
}

/// Lists the bad lines of the ledger at `path`, if there are several.
fn list_bad_lines(path: &Path) -> String {
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
