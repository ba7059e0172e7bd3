//! [`CountStore`] over a file, and the task that fills it.
//!
//! A line is an hour and its counts, without zeros:
//!
//! ```text
//! {"hour":"2026-11-23T01","counts":{"requests":5120,"client_errors":17}}
//! ```
//!
//! Each minute with counts replaces the file: 400 days of a busy site take 2.5 MB.

use std::collections::BTreeMap;
use std::io;
use std::mem;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use crate::metrics::Metrics;
use crate::ports::{Clock, CountStore, StoreError};

use crate::adapters::files::small_file::{SmallFile, json_lines, read_lines};
use crate::adapters::files::{Files as _, SystemFiles};

/// A process that is killed loses the counts since the last write.
const INTERVAL: Duration = Duration::from_secs(60);

/// Our own files are at most a fifth of this.
pub(crate) const FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Hourly counts in a file.
#[derive(Clone, Debug)]
pub struct FileCountStore(Arc<SmallFile<HourlyCounts>>);

/// A line of the file. Counts of a later version are skipped, and lines of one hour are added up.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountLine {
    hour: String,
    counts: BTreeMap<String, u64>,
}

impl FileCountStore {
    /// The counts in the file at `path`, which is created with the first counts. A file that cannot be read is set
    /// aside with a warning, and counting starts from scratch.
    pub fn open(path: &Path) -> Self {
        let mut hours = HourlyCounts::new();
        match read_lines(path, FILE_BYTES_MAX, "an hour with its counts", parse) {
            Ok(lines) => {
                for (hour, counts) in lines {
                    hours.entry(hour).or_default().add_all(&counts);
                }
            }
            Err(error) => {
                let (mut aside, mut number) = (path.with_extension("bad"), 1);
                while aside.symlink_metadata().is_ok() {
                    number += 1;
                    aside = path.with_extension(format!("bad.{number}"));
                }
                let fate = match SystemFiles.rename(path, &aside) {
                    Ok(()) => format!(
                        "their file is now {}: correct it and rename it back while the service is stopped, or \
                         remove it",
                        aside.display()
                    ),
                    Err(error) => format!("their file cannot be set aside: {error}"),
                };
                tracing::warn!(
                    %error,
                    path = %path.display(),
                    "hourly counts cannot be read and start from scratch; {fate}"
                );
            }
        }
        let path = Some(path.to_owned());
        Self(SmallFile::new("counts", path, hours, to_lines))
    }
}

#[async_trait]
impl CountStore for FileCountStore {
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let counts = *counts;
        let added = self.0.change(move |hours| {
            hours.entry(hour).or_default().add_all(&counts);
            *hours = hours.split_off(&hour.minus(KEPT_HOURS).next());
            true
        });
        added.await.map(drop)
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<HourlyCounts, StoreError> {
        let hours = self.0.read();
        let hours = hours.range(since..until.max(since));
        Ok(hours.map(|(hour, counts)| (*hour, *counts)).collect())
    }
}

fn to_lines(hours: &HourlyCounts) -> io::Result<String> {
    json_lines(hours.iter().map(|(hour, counts)| {
        let counted = counts.iter().filter(|(_, number)| *number > 0);
        let counts = counted.map(|(counted, number)| (counted.as_str().to_owned(), number));
        CountLine {
            hour: hour.name(),
            counts: counts.collect(),
        }
    }))
}

fn parse(line: &str) -> Option<(Hour, Counts)> {
    let line: CountLine = serde_json::from_str(line).ok()?;
    let mut counts = Counts::default();
    for (name, number) in line.counts {
        if let Some(counted) = Counted::from_name(&name) {
            counts.add(counted, number);
        }
    }
    Some((Hour::from_name(&line.hour)?, counts))
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
        let _ = timeout(INTERVAL, stop.cancelled()).await;
        let new = metrics.not_yet_counted();
        if new == Counts::default() {
            continue;
        }
        match counts.add(Hour::of(clock.now()), &new).await {
            Ok(()) => {
                metrics.set_counted(&new);
                if mem::take(&mut is_failing) {
                    tracing::info!("hourly counts are stored again");
                }
            }
            Err(error) if !mem::replace(&mut is_failing, true) => {
                tracing::warn!(%error, "hourly counts cannot be stored: retried every minute");
            }
            Err(_logged) => {}
        }
    }
}
