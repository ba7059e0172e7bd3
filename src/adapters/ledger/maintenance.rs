//! Maintenance of the ledger: verifying it while a service runs, compacting it, and dropping damaged lines while
//! no service runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use serde::Serialize;

use crate::adapters::files::data_dir::{DataDir, MARK};
use crate::adapters::files::{Files, OpenError, if_there, open_regular, parent, remove_for_good};
use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::compaction::{Aside, append, check_room};
use super::generation::Generation;
use super::mark::{self, Mark};
use super::open::refusal;
use super::record::{Flaw, LEDGER, Ledger, Verified, damaged, events, preview, unfinished, verify};
use super::store::LedgerStore;
use super::writer::{LedgerWriter, closed};

#[async_trait]
impl StoreMaintenance for LedgerStore {
    async fn compact(&self) -> Result<Compaction, StoreError> {
        self.compact_if(|_| true).await?.ok_or_else(closed)
    }

    async fn finish_erasures(&self) -> Result<(), StoreError> {
        self.compact_if(LedgerWriter::has_forgotten).await.map(drop)
    }
}

/// A ledger without damage. An end that was never acknowledged is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerReport {
    pub format: u64,
    /// Counts compactions, from 1.
    pub generation: u64,
    pub entries: u64,
    /// Number of contacts in them.
    pub contacts: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Most readings of a ledger that seems damaged: a running service may just have truncated a failed write.
const READINGS_MAX: usize = 3;

/// Verifies every line of the ledger in the data directory at `path`. Changes nothing and takes no lock: a
/// service may be running on it.
///
/// # Errors
/// [`OpenError`] when there is no ledger, or it is damaged, cannot be read or has another format.
pub fn verify_ledger(path: &Path) -> Result<LedgerReport, OpenError> {
    let (file, verified) = open_verified(path)?;
    let bytes = file.metadata().map_err(OpenError::io("read", path))?.len();
    let end = verified.length - u64::from(verified.is_unterminated);
    let generation = Generation::read(file, end);
    let generation = generation.map_err(|flaw| refusal(path, flaw))?;
    Ok(LedgerReport {
        format: verified.head.format,
        generation: verified.head.generation,
        entries: verified.sequence,
        contacts: generation.table().contacts(),
        bytes,
    })
}

/// Opens and verifies the ledger in the data directory at `path`, on which a service may be running.
pub(in crate::adapters) fn open_verified(path: &Path) -> Result<(File, Verified), OpenError> {
    let ledger = path.join(LEDGER);
    let mut readings = 0;
    loop {
        let file = if_there(open_regular(&ledger)).map_err(OpenError::io("read", &ledger))?;
        let file = file.ok_or_else(|| OpenError::NoDataDir(path.to_path_buf()))?;
        readings += 1;
        match verify(&file, None) {
            Ok(verified) => return Ok((file, verified)),
            Err(Flaw::Damaged { .. }) if readings < READINGS_MAX => {}
            Err(flaw) => return Err(refusal(path, flaw)),
        }
    }
}

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerRepair {
    /// The damage, in one line.
    pub damage: String,
    /// The original file, kept until an address is erased.
    pub kept: PathBuf,
    /// Number of intact entries, which stay.
    pub entries: u64,
}

/// Drops the damaged lines of the ledger in the data directory at `path` and keeps every intact one, and the original
/// file next to it. `None` if nothing is damaged. No service may be running on the directory.
///
/// # Errors
/// [`OpenError`] when the directory is in use, or when another problem needs a decision.
pub fn repair_ledger(
    files: &Arc<dyn Files>,
    path: &Path,
) -> Result<Option<LedgerRepair>, OpenError> {
    let data_dir = DataDir::open_existing(path)?;
    let (ledger, mark) = (path.join(LEDGER), path.join(MARK));
    let kept = damaged(&ledger);
    let found = mark::read(&mark).map_err(OpenError::io("read", &mark))?;
    let stamp = found.as_ref().map(|(stamp, _)| stamp);
    let verified = open_regular(&ledger).map_err(Flaw::Io);
    let damage = match verified.and_then(|file| verify(&file, stamp)) {
        Err(Flaw::Damaged { line, reason }) => format!("line {line}: {reason}"),
        verified => {
            let verified = verified.map_err(|flaw| refusal(path, flaw));
            return verified.map(|_undamaged| None);
        }
    };
    if kept.exists() {
        let kept = kept.display();
        return Err(OpenError::Refused(format!(
            "{kept} is left from an earlier repair: move it away and try again"
        )));
    }
    let _aside = Aside(unfinished(&ledger));
    let repaired = salvage(files, &ledger, &data_dir.secret().id());
    let mut repaired = repaired.map_err(|flaw| refusal(path, flaw))?;
    // A second name, unlike a copy, needs no space and is never incomplete.
    fs::hard_link(&ledger, &kept).map_err(OpenError::io("create", &kept))?;
    let published = repaired.publish(&ledger).inspect_err(|_error| {
        let _ = fs::remove_file(&kept);
    });
    let published = published.and_then(|()| repaired.repair());
    let is_copy = found.is_none_or(|(_, is_here)| !is_here);
    let marked = published.and_then(|()| match is_copy {
        // It stays a copy, whose deliveries the next start holds.
        true => remove_for_good(files.as_ref(), &mark),
        false => Mark::new(Arc::clone(files), mark).write(&repaired),
    });
    marked.map_err(OpenError::io("write", &ledger))?;
    Ok(Some(LedgerRepair {
        damage,
        kept,
        entries: repaired.sequence,
    }))
}

/// Writes the intact lines of the ledger at `path` to the next generation.
fn salvage(files: &Arc<dyn Files>, path: &Path, secret: &str) -> Result<Ledger, Flaw> {
    let head = preview(path)?.and_then(|preview| preview.head);
    let number = head.map_or(0, |head| head.generation) + 1;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    check_room(parent(path), length)?;
    let mut ledger = Ledger::create(files, path, number, secret)?;
    let generation = Generation::empty(ledger.file.as_file().try_clone()?);
    let events = events(&file, 0, length);
    let intact = events.filter(|event| !matches!(event, Err(Flaw::Unreadable(_))));
    append(&mut ledger, &generation, intact, &AtomicBool::new(false))?;
    Ok(ledger)
}
