//! Maintenance of the ledger: verifying it while a service runs, compacting it, and dropping damaged lines while
//! no service runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::Serialize;

use crate::adapters::files::data_dir::{ACCEPT_DAMAGE, DataDir};
use crate::adapters::files::open_error::OpenError;
use crate::adapters::files::{Files as _, SystemFiles, numbered};
use crate::ports::{Compaction, StoreError, StoreMaintenance};

use super::generation::Generation;
use super::open::refusal;
use super::record::{Flaw, LEDGER, survey};
use super::store::LedgerStore;

#[async_trait]
impl StoreMaintenance for LedgerStore {
    async fn compact(&self) -> Result<Compaction, StoreError> {
        self.compact().await
    }

    async fn finish_erasures(&self) -> Result<(), StoreError> {
        if self.shared.generation().table().has_forgotten() {
            self.compact().await?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerReport {
    /// The format in its head, if readable.
    pub format: Option<u64>,
    /// Number of compactions, if the head is readable.
    pub generation: Option<u64>,
    /// Number of good entries.
    pub entries: u64,
    /// Number of contacts in them.
    pub contacts: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of lines that are bad or out of order.
    pub bad_lines: u64,
    /// The numbers of the first 20 of these. The head is line 1.
    pub first_bad_lines: Vec<u64>,
    /// The reason why a start would be refused, and the solution, in one line. None if the ledger is intact: a bad
    /// end that was never acknowledged is not damage.
    pub damage: Option<String>,
}

/// Most readings of a ledger with a bad line: a running service may be writing it.
const READINGS_MAX: usize = 3;

/// Verifies every line of the ledger in the data directory at `path`. Changes nothing and takes no lock: a
/// service may be running on it.
///
/// # Errors
/// [`OpenError`] when there is no ledger, or it cannot be read or has a newer format.
pub fn verify_ledger(path: &Path) -> Result<LedgerReport, OpenError> {
    let mut report = read(path)?;
    for _ in 1..READINGS_MAX {
        if report.bad_lines > 0 || report.damage.is_some() {
            report = read(path)?;
        }
    }
    Ok(report)
}

fn read(path: &Path) -> Result<LedgerReport, OpenError> {
    let ledger = path.join(LEDGER);
    let unreadable = |error: io::Error| match error.kind() == io::ErrorKind::NotFound {
        true => OpenError::NoDataDir(path.to_path_buf()),
        false => OpenError::io("read", &ledger)(error),
    };
    let file = File::open(&ledger).map_err(unreadable)?;
    let bytes = file.metadata().map_err(unreadable)?.len();
    let survey = survey(&file, None).map_err(unreadable)?;
    let damage = match survey.verdict {
        Ok(_) => None,
        Err(flaw @ Flaw::Damaged { .. }) => Some(refusal(path, flaw).to_string()),
        Err(flaw) => return Err(refusal(path, flaw)),
    };
    let generation = Generation::salvage(file).map_err(|flaw| refusal(path, flaw))?;
    let head = survey.head;
    Ok(LedgerReport {
        format: head.as_ref().map(|head| head.format),
        generation: head.map(|head| head.generation).filter(|count| *count > 0),
        entries: survey.entries,
        contacts: generation.table().contacts(),
        bytes,
        bad_lines: survey.bad_lines.count,
        first_bad_lines: survey.bad_lines.first,
        damage,
    })
}

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerRepair {
    /// The damage, in one line.
    pub damage: String,
    /// The original file, kept for inspection, unless an erasure in it was unfinished.
    pub kept: Option<PathBuf>,
    /// Number of intact entries, which stay.
    pub entries: u64,
}

/// Drops the damaged lines of the ledger in the data directory at `path` and keeps every intact one, like a
/// start with the file `accept-damage`. The original file is kept next to it. `None` if nothing is damaged.
/// No service may be running on the directory.
///
/// # Errors
/// [`OpenError`] when the directory is in use, or when another problem needs a decision.
pub fn repair_ledger(path: &Path) -> Result<Option<LedgerRepair>, OpenError> {
    let data_dir = DataDir::open_existing(path)?;
    let damage = match open_and_close(&data_dir) {
        Err(OpenError::Damaged { line, reason, .. }) => format!("line {line}: {reason}"),
        opened => return opened.map(|()| None),
    };
    let ledger = path.join(LEDGER);
    let kept = numbered(&ledger, "damaged");
    let accept = data_dir.path().join(ACCEPT_DAMAGE);
    let accepted = SystemFiles.create(&accept);
    accepted.map_err(OpenError::io("create", &accept))?;
    let opened = open_and_close(&data_dir);
    // A failed start does not withdraw it, and a later one must not act on it.
    data_dir.withdraw_acceptance(&SystemFiles)?;
    opened?;
    let entries = verify_ledger(path)?.entries;
    Ok(Some(LedgerRepair {
        damage,
        kept: kept.exists().then_some(kept),
        entries,
    }))
}

fn open_and_close(data_dir: &DataDir) -> Result<(), OpenError> {
    let store = LedgerStore::open(data_dir)?;
    // If this fails, only the check of the next start is weaker.
    let _ = store.close();
    Ok(())
}
