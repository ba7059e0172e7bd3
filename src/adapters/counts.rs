//! [`CountStore`] over a file a month, and the task that fills it.
//!
//! A file's first line names its columns, every other line is an hour:
//!
//! ```text
//! ["hour","requests","client_errors",...]
//! ["2026-11-23T01",5120,17,...]
//! ```
//!
//! Hours without a count have no line. 400 days of a busy site take 500 kB. The file of a month is written
//! anew for each change, beside its place, and renamed. A file or a line that cannot be read is set aside.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::domain::hourly_counts::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use crate::metrics::Metrics;
use crate::ports::{Clock, CountStore, StoreError};

use super::files::{PRIVATE_DIRECTORY, is_full, is_irregular, numbered, write_whole};
use super::mutex::lock;

/// A process that is killed loses what was counted since the last time.
const INTERVAL: Duration = Duration::from_secs(60);

/// How long the last counts may take to be kept.
const FINISH_DEADLINE: Duration = Duration::from_secs(1);

/// A file of ours is a tenth of this.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The end of a file's name behind its month.
const SUFFIX: &str = ".jsonl";

/// Hourly counts in a directory.
#[derive(Clone, Debug)]
pub struct FileCountStore(Arc<Months>);

#[derive(Debug)]
struct Months {
    dir: PathBuf,
    hours: Mutex<BTreeMap<Hour, Counts>>,
    /// Held while a file is written.
    writing: Mutex<()>,
}

impl FileCountStore {
    /// The counts in `dir`, which is made when there is something to keep. What cannot be read is set aside
    /// with a warning.
    pub fn open(dir: &Path) -> Self {
        let mut months = Months {
            dir: dir.to_owned(),
            hours: Mutex::default(),
            writing: Mutex::default(),
        };
        if let Err(error) = months.load() {
            tracing::warn!(%error, dir = %dir.display(), "hourly counts cannot be read");
        }
        Self(Arc::new(months))
    }
}

#[async_trait]
impl CountStore for FileCountStore {
    async fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let (months, counts) = (Arc::clone(&self.0), *counts);
        let added = spawn_blocking(move || months.add(hour, &counts)).await;
        added.map_err(|error| StoreError::Unavailable(format!("counts: {error}")))?
    }

    async fn list(&self, since: Hour, until: Hour) -> Result<Vec<HourlyCounts>, StoreError> {
        if since >= until {
            return Ok(Vec::new());
        }
        let hours = lock(&self.0.hours);
        let within = hours.range(since..until);
        let listed = within.map(|(&hour, &counts)| HourlyCounts { hour, counts });
        Ok(listed.collect())
    }
}

impl Months {
    /// Reads all files.
    fn load(&mut self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let name = entry?.file_name();
            let Some(month) = name.to_str().and_then(|name| name.strip_suffix(SUFFIX)) else {
                continue;
            };
            if let Err(error) = self.load_month(month) {
                tracing::warn!(%error, month, "hourly counts of a month cannot be read");
            }
        }
        Ok(())
    }

    fn load_month(&mut self, month: &str) -> io::Result<()> {
        let path = self.path(month);
        let read = read(&path)?;
        let (hours, bad_lines) = read.as_deref().map_or((None, 0), |text| parse(month, text));
        let has_hours = hours.is_some();
        lock(&self.hours).extend(hours.unwrap_or_default());
        if has_hours && bad_lines == 0 {
            return Ok(());
        }
        let kept = numbered(&path, "bad");
        fs::rename(&path, &kept)?;
        tracing::warn!(
            bad_lines,
            kept = %kept.display(),
            "hourly counts of a month were set aside; what can be read of them is kept"
        );
        match has_hours {
            true => write_whole(&path, self.text(month, None).as_bytes()),
            false => Ok(()),
        }
    }

    /// Writes the month with the new counts, and only then takes them for counted.
    fn add(&self, hour: Hour, counts: &Counts) -> Result<(), StoreError> {
        let _writing = lock(&self.writing);
        let mut sum = *counts;
        if let Some(before) = lock(&self.hours).get(&hour) {
            sum.add_all(before);
        }
        let name = hour.name();
        let Some((month, _)) = name.split_at_checked(MONTH_LEN) else {
            return Err(StoreError::Unavailable("counts: no such hour".to_owned()));
        };
        // Without its parents: somebody may have moved the data directory away, and move it back.
        let made = match DirBuilder::new().mode(PRIVATE_DIRECTORY).create(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        let written = made.and_then(|()| {
            let text = self.text(month, Some((hour, sum)));
            write_whole(&self.path(month), text.as_bytes())
        });
        written.map_err(|error| {
            let reason = format!("counts: {error}");
            match is_full(&error) {
                true => StoreError::Full(reason),
                false => StoreError::Unavailable(reason),
            }
        })?;
        lock(&self.hours).insert(hour, sum);
        self.drop_old(hour.minus(KEPT_HOURS));
        Ok(())
    }

    /// Drops the hours up to `last`, and the files of months that have no others.
    fn drop_old(&self, last: Hour) {
        let mut hours = lock(&self.hours);
        let mut old = Vec::new();
        while let Some(entry) = hours.first_entry().filter(|entry| *entry.key() <= last) {
            old.push(month_of(*entry.key()));
            entry.remove();
        }
        old.dedup();
        let first = hours.first_key_value().map(|(hour, _)| month_of(*hour));
        drop(hours);
        for month in old
            .into_iter()
            .filter(|month| Some(month) != first.as_ref())
        {
            // A file that stays is read and dropped again by the next start.
            if let Err(error) = fs::remove_file(self.path(&month)) {
                tracing::warn!(%error, month, "old hourly counts cannot be removed");
            }
        }
    }

    fn path(&self, month: &str) -> PathBuf {
        self.dir.join(format!("{month}{SUFFIX}"))
    }

    /// The file of a month, with one hour as it will be.
    fn text(&self, month: &str, changed: Option<(Hour, Counts)>) -> String {
        let hours = lock(&self.hours);
        let mut of_month: BTreeMap<_, _> = hours
            .iter()
            .filter(|(hour, _)| month_of(**hour) == month)
            .map(|(hour, counts)| (*hour, *counts))
            .collect();
        of_month.extend(changed);
        let columns = Counted::ALL.map(|counted| json!(counted.as_str()));
        let mut text = line(json!("hour"), columns);
        for (hour, counts) in of_month {
            text += &line(
                json!(hour.name()),
                counts.iter().map(|(_, number)| json!(number)),
            );
        }
        text
    }
}

const MONTH_LEN: usize = "2026-11".len();

fn month_of(hour: Hour) -> String {
    let mut name = hour.name();
    name.truncate(MONTH_LEN);
    name
}

fn line(first: Value, others: impl IntoIterator<Item = Value>) -> String {
    let values: Vec<_> = [first].into_iter().chain(others).collect();
    format!("{}\n", Value::Array(values))
}

/// The text of a file; `None` if it is none of ours.
fn read(path: &Path) -> io::Result<Option<String>> {
    if is_irregular(path) || fs::metadata(path)?.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    Ok(String::from_utf8(fs::read(path)?).ok())
}

/// The hours of a month's file and the number of lines that cannot be read. No hours if the first line does
/// not name columns.
fn parse(month: &str, text: &str) -> (Option<BTreeMap<Hour, Counts>>, usize) {
    let mut lines = text.lines();
    let Some(columns) = lines.next().and_then(parse_columns) else {
        return (None, 0);
    };
    let (mut hours, mut bad_lines) = (BTreeMap::new(), 0);
    for line in lines {
        match parse_hour(&columns, line) {
            Some((hour, counts)) if month_of(hour) == month && !hours.contains_key(&hour) => {
                hours.insert(hour, counts);
            }
            Some(_) | None => bad_lines += 1,
        }
    }
    (Some(hours), bad_lines)
}

/// What each column counts, if that is known: a later version may count more.
fn parse_columns(line: &str) -> Option<Vec<Option<Counted>>> {
    let names: Vec<String> = serde_json::from_str(line).ok()?;
    let (first, others) = names.split_first()?;
    let columns = others.iter().map(|name| Counted::from_name(name));
    (first == "hour").then(|| columns.collect())
}

fn parse_hour(columns: &[Option<Counted>], line: &str) -> Option<(Hour, Counts)> {
    let values: Vec<Value> = serde_json::from_str(line).ok()?;
    let (hour, numbers) = values.split_first()?;
    let hour = Hour::from_name(hour.as_str()?)?;
    if numbers.len() != columns.len() {
        return None;
    }
    let mut counts = Counts::default();
    for (column, number) in columns.iter().zip(numbers) {
        let number = number.as_u64()?;
        if let Some(counted) = column {
            counts.add(*counted, number);
        }
    }
    Some((hour, counts))
}

/// The task that keeps hourly counts.
#[derive(Debug)]
pub struct HourlyCounting {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl HourlyCounting {
    /// Starts it.
    pub fn start(
        counts: &Arc<dyn CountStore>,
        metrics: &Arc<Metrics>,
        clock: &Arc<dyn Clock>,
    ) -> Self {
        let (counts, metrics, clock) = (counts.clone(), metrics.clone(), clock.clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn(record_hourly(counts, metrics, clock, stop.clone()));
        Self { stop, task }
    }

    /// Ends it, and keeps what was counted last, unless their store does not answer.
    pub async fn finish(self) {
        self.stop.cancel();
        if timeout(FINISH_DEADLINE, self.task).await.is_err() {
            tracing::warn!("the store does not answer: the counts of the last minute are lost");
        }
    }
}

/// Once a minute, and a last time when `stop` is cancelled, adds what `metrics` have counted to the hour.
/// What cannot be added is added later.
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
                    tracing::info!("hourly counts are kept again");
                }
            }
            Err(error) if !is_failing => {
                is_failing = true;
                tracing::warn!(%error, "hourly counts are not being kept");
            }
            Err(_) => {}
        }
    }
}
