//! Hourly counts: what a restart finds, and what is done about files that cannot be read.

use landing_api::adapters::files::counts::record_hourly;
use landing_api::domain::hourly_counts::{Counted, Counts, Hour, KEPT_HOURS};
use landing_api::ports::CountStore;

use crate::contracts::count_store::counts;
use crate::fixtures::OneFile;
use crate::prelude::*;
use crate::twins::MemoryCountStore;

/// When a minute's counts have been kept.
const MINUTE: Duration = Duration::from_millis(60_010);

fn open(files: &OneFile) -> FileCountStore {
    FileCountStore::open(&files.path)
}

async fn all(store: &dyn CountStore) -> Vec<(Hour, Counts)> {
    let end = Hour::of(Timestamp::from_ms(u64::MAX));
    let hours = store.list(Hour::of(Timestamp::default()), end).await;
    hours.unwrap().into_iter().collect()
}

#[tokio::test]
async fn a_restart_finds_what_was_counted() {
    let files = OneFile::named("counts.jsonl");
    let store = open(&files);
    let now = Hour::of(NOW);
    let (earlier, last) = (now.minus(24 * 25), now.minus(1));
    for (hour, number) in [(now, 3), (earlier, 4), (last, 0), (now, 5)] {
        store.add(hour, &counts(number)).await.unwrap();
    }
    let before = all(&store).await;
    assert_eq!(before.len(), 3);
    let mut sum = counts(3);
    sum.add_all(&counts(5));
    assert_eq!(before[2].1, sum);
    drop(store);
    let (store, log) = logged(|| open(&files));
    assert_eq!(all(&store).await, before);
    assert_eq!(log, "");
    assert_eq!(files.text().lines().count(), 3);
}

#[tokio::test]
async fn the_file_has_a_line_an_hour_and_nothing_that_is_too_old() {
    let files = OneFile::named("counts.jsonl");
    let now = Hour::of(NOW);
    let line = serde_json::json!({"hour": now.name(), "counts": {"keys": 1}});
    let line = format!("{line}\n");
    let old = line.replace(&now.name(), &now.minus(KEPT_HOURS + 1).name());
    // Several lines of one hour are added up.
    fs::write(&files.path, old + &line.repeat(3)).unwrap();
    let (store, log) = logged(|| open(&files));
    assert_eq!(log, "");
    let mut one = Counts::default();
    one.add(Counted::Keys, 1);
    for count in [4, 5] {
        store.add(now, &one).await.unwrap();
        assert_eq!(files.text(), line.replace(":1}", &format!(":{count}}}")));
    }
    assert_eq!(all(&open(&files)).await, all(&store).await);
}

#[tokio::test]
async fn four_hundred_days_of_a_busy_site_are_two_and_a_half_megabytes() {
    let files = OneFile::named("counts.jsonl");
    let mut busy = Counts::default();
    for counted in Counted::ALL {
        busy.add(counted, 12_000);
    }
    let store = open(&files);
    store.add(Hour::of(NOW), &busy).await.unwrap();
    let hours = (0..KEPT_HOURS).map(|before| Hour::of(NOW).minus(before).name());
    let one = files.text();
    let lines = hours.map(|name| one.replace(&Hour::of(NOW).name(), &name));
    let text: String = lines.collect();
    let length = text.len();
    assert!((2_000_000..2_750_000).contains(&length), "{length}");
    fs::write(&files.path, &text).unwrap();
    let (store, log) = logged(|| open(&files));
    assert_eq!((all(&store).await.len(), log.as_str()), (9600, ""));
    let next = Hour::of(NOW.plus_ms(3_600_000));
    store.add(next, &busy).await.unwrap();
    assert_eq!(all(&store).await.len(), 9600);
}

#[tokio::test]
async fn a_file_with_a_bad_line_is_set_aside() {
    for bad in [
        "\n",
        "{}\n",
        "[]\n",
        "nonsense\n",
        "{\"hour\":\"2026-11-21T13\"}\n",
        "{\"hour\":\"2026-11-21T13\",\"counts\":{\"keys\":-1}}\n",
        "{\"hour\":\"2026-11-21T13\",\"counts\":{\"keys\":1},\"more\":1}\n",
        "{\"hour\":\"2026-11-21T25\",\"counts\":{\"keys\":1}}\n",
        "{\"hour\":\"2026-11-21T13\",\"cou",
    ] {
        let files = OneFile::named("counts.jsonl");
        open(&files).add(Hour::of(NOW), &counts(3)).await.unwrap();
        let damaged = format!("{}{bad}", files.text());
        fs::write(&files.path, &damaged).unwrap();
        let (store, log) = logged(|| open(&files));
        let told = "line 2 is not an hour with its counts";
        assert!(log.contains("WARN") && log.contains(told), "{bad}: {log}");
        assert_eq!(all(&store).await, [], "{bad}");
        assert_eq!(files.names(), ["counts.bad"], "{bad}");
        let aside = fs::read_to_string(files.path.with_extension("bad")).unwrap();
        assert_eq!(aside, damaged, "{bad}");
        let (_, log) = logged(|| open(&files));
        assert_eq!(log, "", "{bad}");
    }
}

#[tokio::test]
async fn a_file_that_is_none_of_ours_is_set_aside() {
    type Make = fn(&Path);
    let makes: [Make; 6] = [
        |path| fs::write(path, "[\"hour\",\"requests\"]\n").unwrap(),
        |path| fs::write(path, [0xff; 100]).unwrap(),
        |path| {
            let line = b"{\"hour\":\"2026-11-21T13\",\"counts\":{\"later\xff\":1}}\n";
            fs::write(path, line).unwrap();
        },
        |path| fs::write(path, "\n".repeat(40_000_000)).unwrap(),
        |path| fs::create_dir(path).unwrap(),
        make_fifo,
    ];
    for make in makes {
        let files = OneFile::named("counts.jsonl");
        make(&files.path);
        let (store, log) = logged(|| open(&files));
        assert!(log.contains("WARN") && log.contains("counts.bad"), "{log}");
        assert_eq!(all(&store).await, []);
        store.add(Hour::of(NOW), &counts(1)).await.unwrap();
        assert_eq!(files.names(), ["counts.bad", "counts.jsonl"]);
        // A second one does not replace it.
        fs::write(&files.path, "nonsense").unwrap();
        let (_, log) = logged(|| open(&files));
        assert!(log.contains("counts.bad.2: correct it"), "{log}");
        assert_eq!(files.names(), ["counts.bad", "counts.bad.2"]);
    }
}

#[tokio::test]
async fn counts_of_a_later_version_are_passed_over() {
    let files = OneFile::named("counts.jsonl");
    let text = "{\"hour\":\"2026-11-21T12\",\"counts\":{\"tokens\":7,\"keys\":5}}\n";
    fs::write(&files.path, text).unwrap();
    let (store, log) = logged(|| open(&files));
    let found = all(&store).await;
    assert_eq!(found[0].1.get(Counted::Keys), 5);
    assert_eq!(found[0].1.get(Counted::Requests), 0);
    assert_eq!(log, "");
}

#[tokio::test]
async fn what_cannot_be_written_is_not_counted_yet() {
    let files = OneFile::named("counts.jsonl");
    let store = open(&files);
    let now = Hour::of(NOW);
    for is_begun in [false, true] {
        let before = all(&store).await;
        let aside = files.path.with_extension("aside");
        if is_begun {
            fs::rename(&files.path, &aside).unwrap();
        }
        fs::create_dir(&files.path).unwrap();
        let refused = store.add(now, &counts(1)).await;
        let is_away = matches!(refused, Err(StoreError::Unavailable(_)));
        assert!(is_away, "{refused:?}");
        assert_eq!(all(&store).await, before);
        fs::remove_dir(&files.path).unwrap();
        store.add(now, &counts(1)).await.unwrap();
    }
    // Both were counted, though the file was not there for the second.
    let mut sum = counts(1);
    sum.add_all(&counts(1));
    assert_eq!(all(&open(&files)).await[0].1, sum);
    // A data directory that was moved away is not begun anew in its place.
    let moved = files.root.path().join("data");
    let store = FileCountStore::open(&moved.join("counts.jsonl"));
    let refused = store.add(now, &counts(1)).await;
    assert!(refused.is_err() && !moved.exists());
}

/// What hourly counts are recorded to and from, by which clock and until when.
type Recorded = (
    Arc<MemoryCountStore>,
    Arc<Metrics>,
    Arc<ManualClock>,
    CancellationToken,
);

fn recorded() -> Recorded {
    let (metrics, clock) = (Metrics::new([]), ManualClock::new(NOW));
    let stop = CancellationToken::new();
    (Arc::default(), Arc::new(metrics), Arc::new(clock), stop)
}

#[tokio::test(start_paused = true)]
async fn a_minute_at_a_time_goes_to_its_hour_and_the_rest_at_the_stop() {
    let (store, metrics, clock, stop) = recorded();
    let recording = record_hourly(store.clone(), metrics.clone(), clock.clone(), stop.clone());
    let recording = tokio::spawn(recording);
    let counted = async || {
        let hours = all(&*store).await.into_iter();
        let keys = hours.map(|(_, counts)| counts.get(Counted::Keys));
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
async fn what_could_not_be_stored_is_stored_later() {
    let (store, metrics, clock, stop) = recorded();
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
    assert_eq!(all(&*store).await[0].1.get(Counted::Keys), 3);
    let line = "hourly counts cannot be stored";
    // Once for the outage, and once that it is over.
    assert_eq!(log.matches(line).count(), 1, "{log}");
    assert_eq!(log.matches("stored again").count(), 1, "{log}");
}
