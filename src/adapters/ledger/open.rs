//! Opening the store: from the files of the last process to a ledger that accepts changes.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::adapters::files::data_dir::{DataDir, MARK, create_empty, held};
use crate::adapters::files::{
    Files, OpenError, SystemFiles, is_full, open_regular, remove_for_good,
};
use crate::domain::{Channel, Timestamp};
use crate::metrics::Metrics;

use super::compaction::Copy;
use super::generation::{CurrentGeneration, Generation};
use super::health::WriterHealth;
use super::mark::{self, Mark};
use super::record::{FORMAT, Flaw, LEDGER, Ledger, Stamp, unfinished, verify};
use super::writer::LedgerWriter;

/// The store's limits, intervals, files and metrics.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Most changes waiting for the writer; one more is refused as overload.
    pub waiting_changes_max: usize,
    /// Interval at which an idle writer checks that the ledger is in place and writable.
    pub look_interval: Duration,
    /// A compaction is due when there are more superfluous lines than others, and more than this.
    pub superfluous_min: u64,
    /// The file system of the ledger.
    pub files: Arc<dyn Files>,
    pub metrics: Arc<Metrics>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            waiting_changes_max: 8192,
            look_interval: Duration::from_secs(1),
            superfluous_min: 65_536,
            files: Arc::new(SystemFiles),
            metrics: Arc::new(Metrics::new([])),
        }
    }
}

/// Opens the ledger. The acceptance of a new secret is withdrawn.
pub(super) fn open(data_dir: &DataDir, tuning: &Tuning) -> Result<LedgerWriter, OpenError> {
    let refused = |flaw| refusal(data_dir.path(), flaw);
    let (ledger, is_copy) = open_ledger(data_dir, &tuning.files)?;
    let secret = data_dir.secret().id();
    let is_new_secret = ledger.head.secret != secret;
    if is_new_secret && ledger.sequence > 0 {
        tracing::warn!(
            "a new secret was accepted: cookies, agents' tokens, origins and the hashes of erased \
             addresses made with the old one are invalid"
        );
    }
    let generation = Generation::of(&ledger).map_err(refused)?;
    let has_forgotten = generation.table().has_forgotten();
    let mut writer = LedgerWriter {
        ledger,
        current: Arc::new(CurrentGeneration::new(generation)),
        health: Arc::new(WriterHealth::default()),
        superfluous_min: tuning.superfluous_min,
        put_off: 0,
        metrics: Arc::clone(&tuning.metrics),
        now: Timestamp::default(),
        mark: Mark::new(Arc::clone(&tuning.files), data_dir.path().join(MARK)),
    };
    if is_new_secret || has_forgotten {
        let copied = Copy::begin(&writer, &secret)
            .and_then(|copy| copy.run(writer.now, &AtomicBool::new(false)));
        match copied.and_then(|copy| writer.switch_to(copy)) {
            Err(Flaw::Io(error)) if is_full(&error) && !is_new_secret => tracing::warn!(
                %error,
                "the ledger still contains erased addresses: the next start with enough disk \
                 space removes them"
            ),
            compacted => compacted.map_err(refused)?,
        }
    }
    if is_copy {
        hold_deliveries(data_dir, &writer)?;
    }
    data_dir.withdraw_acceptance(tuning.files.as_ref())?;
    // So that health shows a full disk before the first write is tried.
    if let Err(error) = writer.make_ready() {
        tracing::error!(%error, "nothing can be written to the data directory");
    }
    Ok(writer)
}

/// Opens the ledger. Also returns whether it is a copy, according to the mark.
fn open_ledger(data_dir: &DataDir, files: &Arc<dyn Files>) -> Result<(Ledger, bool), OpenError> {
    let path = data_dir.path().join(LEDGER);
    // An earlier compaction may have been interrupted.
    let unfinished = unfinished(&path);
    remove_for_good(files.as_ref(), &unfinished).map_err(OpenError::io("remove", &unfinished))?;
    let mark = data_dir.path().join(MARK);
    let found = mark::read(&mark).map_err(OpenError::io("read", &mark))?;
    let is_copy = found.as_ref().is_none_or(|(_, is_here)| !is_here);
    let stamp = found.map(|(stamp, _)| stamp);
    // The marked events must be there. Unless all of it is trusted to be synced, the last batch is written again.
    let verify_and_open = |is_trusted| -> Result<Ledger, Flaw> {
        let verified = verify(&open_regular(&path)?, stamp.as_ref())?;
        let end = (verified.head.generation, verified.length);
        let is_marked = |stamp: &Stamp| (stamp.generation, stamp.length) == end;
        let is_synced = is_trusted && stamp.as_ref().is_some_and(is_marked);
        Ok(Ledger::open(files, &path, verified, is_synced)?)
    };
    let opened = match verify_and_open(true) {
        Err(Flaw::Io(error)) => {
            // The first sync also reports writes of the last process that the disk then lost. This is reported once,
            // and the last batch must be written again, even after a clean stop.
            tracing::warn!(%error, "the ledger cannot be read or written: retrying once");
            verify_and_open(false)
        }
        opened => opened,
    };
    let ledger = opened.map_err(|flaw| refusal(data_dir.path(), flaw))?;
    Ok((ledger, is_copy))
}

/// Holds pending deliveries in a copy of a ledger: the original's service may have made some of them.
fn hold_deliveries(data_dir: &DataDir, writer: &LedgerWriter) -> Result<(), OpenError> {
    let generation = writer.current.generation();
    for channel in Channel::ALL {
        if generation.table().deliveries().standing(channel).waiting == 0 {
            continue;
        }
        let path = held(data_dir.path(), channel);
        create_empty(writer.ledger.files.as_ref(), &path).map_err(OpenError::io("write", &path))?;
        tracing::warn!(
            delivery.channel = channel.as_str(),
            "the data directory has no mark written here, so it seems to be a copy: pending deliveries are \
             paused, because they may have been sent elsewhere; check `landing-api queue list`, then run \
             `landing-api queue release`"
        );
    }
    Ok(())
}

/// The reason why the ledger in `directory` is refused.
pub(in crate::adapters) fn refusal(directory: &Path, flaw: Flaw) -> OpenError {
    let path = directory.join(LEDGER);
    match flaw {
        Flaw::Io(error) => OpenError::io("read or write", &path)(error),
        Flaw::Unreadable(_) => OpenError::io("read", &path)(io::Error::other(flaw)),
        Flaw::Foreign(format) => OpenError::Refused(format!(
            "{} has format {format}, but this version reads format {FORMAT}: start the version that wrote it, or \
             restore a backup that this version made",
            path.display()
        )),
        Flaw::Damaged { line, reason } => OpenError::Refused(format!(
            "{} is damaged at line {line}: {reason}; restore it from a backup, or keep every intact line and drop \
             the rest with `landing-api ledger repair --data-dir {}`",
            path.display(),
            directory.display()
        )),
    }
}
