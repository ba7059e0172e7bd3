//! [`CountStore`] over a file, and the task that fills it.
//!
//! A line is an hour and its counts, without zeros:
//!
//! ```text
//! {"hour":"2026-11-23T01","counts":{"requests":5120,"client_errors":17}}
//! ```
//!
//! Each minute with counts replaces the file: 400 days of a busy site take 2.5 MB.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::domain::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use crate::metrics::Metrics;
use crate::metrics::workers::Worker;
use crate::ports::{Clock, CountStore, StoreError};

use crate::adapters::files::{
    Files as _, SystemFiles, json_lines, numbered, read_small, store_error, write_whole,
};
use crate::adapters::supervisor::supervise;

/// A process that is killed loses the counts since the last write.
const INTERVAL: Duration = Duration::from_secs(60);

/// Deadline for storing the last counts.
const FINISH_DEADLINE: Duration = Duration::from_secs(1);

/// Our own files are at most a fifth of this.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Hourly counts in a file.
#[derive(Clone, Debug)]
pub struct FileCountStore(Arc<CountFile>);

#[derive(Debug)]
struct CountFile {
    path: PathBuf,
    hours: Mutex<BTreeMap<Hour, Counts>>,
    /// Held while the file is written.
    writing: Mutex<()>,
}

/// A line of the file. Counts of a later version are skipped, and lines of one hour are added up.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountLine {
    hour: String,
    counts: BTreeMap<String, u64>,
}

impl FileCountStore {
    /// The counts in the file at `path`, which is created with the first counts. A file that cannot be read
    /// completely is set aside with a warning.
    pub fn open(path: &Path) -> Self {
        let mut hours = BTreeMap::new();
        if let Err(error) = load(path, &mut hours) {
            tracing::warn!(%error, path = %path.display(), "hourly counts cannot be read");
        }
        Self(Arc::new(CountFile {
            path: path.to_owned(),
            hours: Mutex::new(hours),
            writing: Mutex::default(),
        }))
    }
}

#[async_trait]
impl CountStore for FileCountStore {
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let (file, counts) = (Arc::clone(&self.0), *counts);
        let added = spawn_blocking(move || file.add(hour, &counts)).await;
        added.map_err(|error| StoreError::Unavailable(format!("counts: {error}")))?
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<Vec<HourlyCounts>, StoreError> {
        if since >= until {
            return Ok(Vec::new());
        }
        let hours = self.0.hours.lock();
        let within = hours.range(since..until);
        let listed = within.map(|(&hour, &counts)| HourlyCounts { hour, counts });
        Ok(listed.collect())
    }
}

impl CountFile {
    /// Writes the new counts to the file, and only then adds them. Its directory is not created: somebody may have
    /// moved the data directory away, and may move it back.
    fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let _writing = self.writing.lock();
        let mut hours = self.hours.lock().clone();
        hours.entry(hour).or_default().add_all(counts);
        hours = hours.split_off(&hour.minus(KEPT_HOURS).next());
        write(&self.path, &hours).map_err(|error| store_error("counts", &error))?;
        *self.hours.lock() = hours;
        Ok(())
    }
}

/// Reads the file at `path` into `hours`. A file with bad lines is set aside, and replaced by the readable part.
fn load(path: &Path, hours: &mut BTreeMap<Hour, Counts>) -> io::Result<()> {
    let mut bad_lines = 0_usize;
    match read_small(path, FILE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => bad_lines = 1,
        text => {
            for line in text?.unwrap_or_default().split_inclusive('\n') {
                match parse(line) {
                    Some((hour, counts)) => hours.entry(hour).or_default().add_all(&counts),
                    None => bad_lines += 1,
                }
            }
        }
    }
    if bad_lines > 0 {
        let kept = numbered(path, "bad");
        SystemFiles.rename(path, &kept)?;
        tracing::warn!(
            bad_lines,
            kept = %kept.display(),
            "hourly counts were set aside; the readable part is kept"
        );
        if !hours.is_empty() {
            write(path, hours)?;
        }
    }
    Ok(())
}

fn write(path: &Path, hours: &BTreeMap<Hour, Counts>) -> io::Result<()> {
    let lines = hours.iter().map(|(hour, counts)| {
        let counted = counts.iter().filter(|(_, number)| *number > 0);
        let counts = counted.map(|(counted, number)| (counted.as_str().to_owned(), number));
        CountLine {
            hour: hour.name(),
            counts: counts.collect(),
        }
    });
    write_whole(&SystemFiles, path, json_lines(lines)?.as_bytes())
}

fn parse(line: &str) -> Option<(Hour, Counts)> {
    let line: CountLine = serde_json::from_str(line.strip_suffix('\n')?).ok()?;
    let mut counts = Counts::default();
    for (name, number) in line.counts {
        if let Some(counted) = Counted::from_name(&name) {
            counts.add(counted, number);
        }
    }
    Some((Hour::from_name(&line.hour)?, counts))
}

/// The task that stores hourly counts.
#[derive(Debug)]
pub struct HourlyCounting {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl HourlyCounting {
    pub fn start(
        counts: &Arc<dyn CountStore>,
        metrics: &Arc<Metrics>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (counts, counted, clock) = (counts.clone(), metrics.clone(), clock.clone());
        let task = supervise(Worker::Counts, metrics, &stop, move |stop| {
            record_hourly(counts.clone(), counted.clone(), clock.clone(), stop)
        });
        Self { stop, task }
    }

    /// Stops it and stores the last counts, unless the store does not respond.
    pub async fn finish(self) {
        self.stop.cancel();
        if timeout(FINISH_DEADLINE, self.task).await.is_err() {
            tracing::warn!("the store does not respond: the counts of the last minute are lost");
        }
    }
}

/// Adds the counts of `metrics` to the hour once a minute, and a last time when `stop` is cancelled. After a
/// failure they are added later.
pub async fn record_hourly(
    counts: Arc<dyn CountStore>,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut is_failing = false;
    while !stop.is_cancelled() {
        tokio::select! {
            () = sleep(INTERVAL) => {}
            () = stop.cancelled() => {}
        }
        let new = metrics.not_yet_counted();
        if new.is_zero() {
            continue;
        }
        match counts.add(Hour::of(clock.now()), &new).await {
            Ok(()) => {
                metrics.set_counted(&new);
                if std::mem::take(&mut is_failing) {
                    tracing::info!("hourly counts are stored again");
                }
            }
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(%error, "hourly counts cannot be stored");
            }
            Err(_) => {}
        }
    }
}
