//! Hourly counts: what a restart finds, and what is done about files that cannot be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::counts::{FileCountStore, record_hourly};
use landing_api::domain::hourly_counts::{Counted, Counts, Hour, HourlyCounts, KEPT_HOURS};
use landing_api::domain::time::Timestamp;
use landing_api::metrics::Metrics;
use landing_api::ports::{CountStore, StoreError};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::contracts::count_store::counts;
use crate::fixtures::{logged, logged_async, make_fifo};
use crate::harness::NOW;
use crate::program::{Program, command};
use crate::twins::{ManualClock, MemoryCountStore};

/// When a minute's counts have been kept.
const MINUTE: Duration = Duration::from_millis(60_010);

/// A directory of counts for each test.
struct Files {
    _root: TempDir,
    dir: PathBuf,
}

impl Files {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("counts");
        Self { _root: root, dir }
    }

    fn open(&self) -> FileCountStore {
        FileCountStore::open(&self.dir)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> = entries.map(|it| name(it).into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn november(&self) -> PathBuf {
        self.dir.join("2026-11.jsonl")
    }
}

async fn all(store: &dyn CountStore) -> Vec<HourlyCounts> {
    let end = Hour::of(Timestamp::from_ms(u64::MAX));
    store
        .list(Hour::of(Timestamp::default()), end)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_restart_finds_what_was_counted() {
    let files = Files::new();
    let store = files.open();
    store.add(Hour::of(NOW), &counts(3)).await.unwrap();
    store
        .add(Hour::of(NOW).minus(24 * 25), &counts(4))
        .await
        .unwrap();
    store.add(Hour::of(NOW).minus(1), &counts(0)).await.unwrap();
    assert_eq!(files.names(), ["2026-10.jsonl", "2026-11.jsonl"]);
    let before = all(&store).await;
    assert_eq!(before.len(), 3);
    drop(store);
    let (store, log) = logged(|| files.open());
    assert_eq!(all(&store).await, before);
    assert_eq!(log, "");
}

#[tokio::test]
async fn four_hundred_days_of_a_busy_site_are_half_a_megabyte() {
    let files = Files::new();
    let mut busy = Counts::default();
    for (counted, number) in [
        (Counted::Requests, 120_000),
        (Counted::ClientErrors, 4000),
        (Counted::ServerErrors, 10),
        (Counted::Refusals, 2500),
        (Counted::SignUps, 300),
        (Counted::Renewals, 60),
        (Counted::Keys, 40),
        (Counted::Agents, 20),
        (Counted::Chats, 200),
        (Counted::FailedChats, 5),
        (Counted::Refunds, 9),
    ] {
        busy.add(counted, number);
    }
    let hours = (0..KEPT_HOURS).map(|before| Hour::of(NOW).minus(before));
    let mut lines = std::collections::BTreeMap::<String, String>::new();
    for hour in hours {
        let numbers: Vec<_> = busy.iter().map(|(_, number)| number.to_string()).collect();
        let name = hour.name();
        let line = format!("[\"{name}\",{}]\n", numbers.join(","));
        *lines.entry(name[..7].to_owned()).or_default() += &line;
    }
    let names = Counted::ALL.map(|it| format!("\"{}\"", it.as_str()));
    fs::create_dir(&files.dir).unwrap();
    for (month, text) in lines {
        let text = format!("[\"hour\",{}]\n{text}", names.join(","));
        fs::write(files.dir.join(month + ".jsonl"), text).unwrap();
    }
    let (store, log) = logged(|| files.open());
    assert_eq!((all(&store).await.len(), log.as_str()), (9600, ""));
    let next = Hour::of(NOW.plus_ms(3_600_000));
    store.add(next, &busy).await.unwrap();
    assert_eq!(all(&store).await.len(), 9600);
    let size = |name: &String| fs::metadata(files.dir.join(name)).unwrap().len();
    let bytes: u64 = files.names().iter().map(size).sum();
    assert!((400_000..600_000).contains(&bytes), "{bytes}");
}

#[tokio::test]
async fn months_that_are_too_old_are_removed() {
    let files = Files::new();
    let store = files.open();
    let old = Hour::of(NOW).minus(KEPT_HOURS + 24 * 40);
    store.add(old, &counts(1)).await.unwrap();
    assert_eq!(files.names().len(), 1);
    store.add(Hour::of(NOW), &counts(1)).await.unwrap();
    assert_eq!(files.names(), ["2026-11.jsonl"]);
    drop(store);
    assert_eq!(all(&files.open()).await.len(), 1);
}

#[tokio::test]
async fn bad_lines_are_set_aside_and_the_others_kept() {
    let good = counts(3);
    for bad in [
        "",
        "{}",
        "[]",
        "nonsense",
        "[\"2026-11-21T13\"]",
        "[\"2026-11-21T13\",1,2,3,4,5,6,7,8,9,10,-11]",
        "[\"2026-11-21T13\",1,2,3,4,5,6,7,8,9,10,11,12]",
        "[\"2026-11-21T25\",1,2,3,4,5,6,7,8,9,10,11]",
        // Another month's, and an hour that is there.
        "[\"2026-10-21T13\",1,2,3,4,5,6,7,8,9,10,11]",
        "[\"2026-11-21T12\",1,2,3,4,5,6,7,8,9,10,11]",
    ] {
        let files = Files::new();
        files.open().add(Hour::of(NOW), &good).await.unwrap();
        let whole = fs::read_to_string(files.november()).unwrap();
        let damaged = format!("{whole}{bad}\n");
        fs::write(files.november(), &damaged).unwrap();
        let (store, log) = logged(|| files.open());
        assert!(
            log.contains("WARN") && log.contains("bad_lines=1"),
            "{bad}: {log}"
        );
        let found = all(&store).await;
        assert_eq!((found.len(), found[0].counts), (1, good), "{bad}");
        assert_eq!(files.names(), ["2026-11.bad.1", "2026-11.jsonl"], "{bad}");
        let kept = fs::read_to_string(files.dir.join("2026-11.bad.1")).unwrap();
        assert_eq!(kept, damaged);
        assert_eq!(fs::read_to_string(files.november()).unwrap(), whole);
        let (_, log) = logged(|| files.open());
        assert_eq!(log, "", "{bad}");
    }
}

#[tokio::test]
async fn a_file_that_is_none_of_ours_is_set_aside() {
    type Make = fn(&Path);
    let makes: [Make; 6] = [
        |path| fs::write(path, "").unwrap(),
        |path| fs::write(path, "[\"day\",\"requests\"]\n").unwrap(),
        |path| fs::write(path, [0xff; 100]).unwrap(),
        |path| fs::write(path, "\n".repeat(2_000_000)).unwrap(),
        |path| fs::create_dir(path).unwrap(),
        make_fifo,
    ];
    for make in makes {
        let files = Files::new();
        fs::create_dir(&files.dir).unwrap();
        make(&files.november());
        fs::write(files.dir.join("notes.txt"), "mine").unwrap();
        let (store, log) = logged(|| files.open());
        assert!(
            log.contains("WARN") && log.contains("2026-11.bad.1"),
            "{log}"
        );
        assert_eq!(all(&store).await, []);
        store.add(Hour::of(NOW), &counts(1)).await.unwrap();
        assert_eq!(
            files.names(),
            ["2026-11.bad.1", "2026-11.jsonl", "notes.txt"]
        );
    }
}

#[tokio::test]
async fn columns_of_a_later_version_are_passed_over() {
    let files = Files::new();
    fs::create_dir(&files.dir).unwrap();
    let text = "[\"hour\",\"tokens\",\"keys\"]\n[\"2026-11-21T12\",7,5]\n";
    fs::write(files.november(), text).unwrap();
    let (store, log) = logged(|| files.open());
    let found = all(&store).await;
    assert_eq!(found[0].counts.get(Counted::Keys), 5);
    assert_eq!(
        (found[0].counts.get(Counted::Requests), log.as_str()),
        (0, "")
    );
}

#[tokio::test]
async fn what_cannot_be_written_is_not_counted_yet() {
    let files = Files::new();
    fs::write(&files.dir, "in the way").unwrap();
    let (store, log) = logged(|| files.open());
    assert!(log.contains("WARN"), "{log}");
    let refused = store.add(Hour::of(NOW), &counts(1)).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    assert_eq!(all(&store).await, []);
    fs::remove_file(&files.dir).unwrap();
    store.add(Hour::of(NOW), &counts(1)).await.unwrap();
    assert_eq!(all(&store).await.len(), 1);
    // A data directory that was moved away is not begun anew in its place.
    let moved = files.dir.with_file_name("data");
    let store = FileCountStore::open(&moved.join("counts"));
    let refused = store.add(Hour::of(NOW), &counts(1)).await;
    assert!(refused.is_err() && !moved.exists());
}

#[tokio::test(start_paused = true)]
async fn a_minute_at_a_time_goes_to_its_hour_and_the_rest_at_the_stop() {
    let (store, metrics) = (
        Arc::new(MemoryCountStore::default()),
        Arc::new(Metrics::new([])),
    );
    let (clock, stop) = (Arc::new(ManualClock::new(NOW)), CancellationToken::new());
    let recording = record_hourly(store.clone(), metrics.clone(), clock.clone(), stop.clone());
    let recording = tokio::spawn(recording);
    let counted = async || {
        let keys = all(&*store)
            .await
            .into_iter()
            .map(|it| it.counts.get(Counted::Keys));
        keys.collect::<Vec<_>>()
    };
    metrics.keys.increase();
    assert_eq!(counted().await, Vec::<u64>::new());
    sleep(MINUTE).await;
    assert_eq!(counted().await, [1]);
    // Nothing is written while nothing happens.
    store.fail_with(Some(StoreError::Overloaded));
    sleep(MINUTE).await;
    store.fail_with(None);
    metrics.keys.increase();
    metrics.keys.increase();
    clock.advance_ms(3_600_000);
    sleep(MINUTE).await;
    assert_eq!(counted().await, [1, 2]);
    metrics.keys.increase();
    stop.cancel();
    recording.await.unwrap();
    assert_eq!(counted().await, [1, 3]);
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_kept_is_kept_later_and_an_outage_is_two_lines() {
    let (store, metrics) = (
        Arc::new(MemoryCountStore::default()),
        Arc::new(Metrics::new([])),
    );
    let (clock, stop) = (Arc::new(ManualClock::new(NOW)), CancellationToken::new());
    store.fail_with(Some(StoreError::Full("disk".to_owned())));
    let ((), log) = logged_async(async {
        let recording = record_hourly(store.clone(), metrics.clone(), clock, stop.clone());
        let outage = async {
            for _ in 0..3 {
                metrics.keys.increase();
                sleep(MINUTE).await;
            }
            store.fail_with(None);
            sleep(MINUTE).await;
            stop.cancel();
        };
        tokio::join!(recording, outage);
    })
    .await;
    assert_eq!(all(&*store).await[0].counts.get(Counted::Keys), 3);
    assert_eq!(
        log.matches("hourly counts are not being kept").count(),
        1,
        "{log}"
    );
    assert_eq!(
        log.matches("hourly counts are kept again").count(),
        1,
        "{log}"
    );
}

#[tokio::test]
async fn the_program_keeps_its_counts_at_a_stop() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    for run in 1..=2 {
        let program = Program::start(&mut command(&path));
        program.sign_up("ada@example.com");
        let (status, log) = program.stop(Signal::TERM);
        assert_eq!(status, Some(0), "{log}");
        let found = all(&FileCountStore::open(&path.join("counts"))).await;
        let sum = |counted| found.iter().map(|it| it.counts.get(counted)).sum::<u64>();
        assert_eq!(
            (sum(Counted::SignUps), sum(Counted::Renewals)),
            (1, run - 1)
        );
        assert_eq!(sum(Counted::Requests), run);
    }
}
