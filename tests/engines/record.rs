//! The record in PostgreSQL: what is acknowledged stays, whatever becomes of the server and the way to it.

use std::sync::atomic::{AtomicU32, Ordering};

use landing_api::ports::{KeyIssuer, RevocationList, StoreError};
use tokio::time::{sleep, timeout};

use crate::fixtures::{Waiting, key_record, logged_async, registration, sign_up_by};
use crate::nodes::contacts;
use crate::postgres::{open, open_counted, settings};
use crate::prelude::*;

const CREATED: Result<Subscription, StoreError> = Ok(Subscription::Created);
/// By another client.
const RENEWED: Result<Subscription, StoreError> = renewed(false);

const fn renewed(by_same_client: bool) -> Result<Subscription, StoreError> {
    Ok(Subscription::Renewed { by_same_client })
}

/// Whether a client was the first to sign an address up, perhaps in two attempts.
fn is_first(outcome: Subscription) -> bool {
    let again = Subscription::Renewed {
        by_same_client: true,
    };
    [Subscription::Created, again].contains(&outcome)
}

/// Signs `name` up from the network with this number, in the background.
fn spawn_sign_up(store: &Arc<PostgresStore>, name: &str, network: u8) -> Waiting {
    let (store, name) = (Arc::clone(store), name.to_owned());
    tokio::spawn(async move { sign_up_by(&store, &name, origin(network, None)).await })
}

/// The same with a hundred names, or so, that begin with `prefix`.
fn spawn_sign_ups(store: &Arc<PostgresStore>, prefix: &str, count: usize) -> Vec<Waiting> {
    (0..count)
        .map(|number| spawn_sign_up(store, &format!("{prefix}{number}"), 1))
        .collect()
}

async fn relayed(server: &Postgres) -> (Relay, Arc<PostgresStore>) {
    drop(server.store().await);
    let relay = Relay::start(server.port()).await;
    let store = open(&url(relay.port())).await.unwrap();
    (relay, store)
}

fn is_unavailable<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Unavailable(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sign_ups_at_two_nodes_one_creates() {
    let server = Postgres::start().await;
    let stores = [server.store().await, open(&server.url()).await.unwrap()];
    for round in 0..5 {
        let name = format!("racer{round}");
        let racers: Vec<_> = (0..64)
            .map(|racer| spawn_sign_up(&stores[usize::from(racer) % 2], &name, racer))
            .collect();
        let mut created = 0;
        for racer in racers {
            let outcome = racer.await.unwrap();
            created += usize::from(outcome == CREATED);
            assert!(matches!(outcome, CREATED | RENEWED), "{outcome:?}");
        }
        assert_eq!(created, 1);
    }
}

#[tokio::test]
async fn what_is_asked_again_counts_once() {
    let server = Postgres::start().await;
    let (relay, store) = relayed(&server).await;
    let signers = "SELECT jsonb_array_length(state -> 'signers') FROM contact WHERE email = 'ada@example.com'";
    for (host, kept) in [(1, "1"), (2, "2"), (2, "2")] {
        let versions = server.sql("SELECT xmin FROM contact").await;
        relay.set(Flow::SwallowChanges);
        let waiting = spawn_sign_up(&store, "ada", host);
        until("the sign-up to be kept", async || {
            server.sql("SELECT xmin FROM contact").await != versions
        })
        .await;
        relay.cut().await;
        // This client has signed it up before, without an answer.
        assert_eq!(waiting.await.unwrap(), renewed(true), "{host}");
        assert_eq!(server.sql(signers).await, [kept]);
    }
    // And the same with revocations.
    let key = key_record(1, None);
    store.issue(key.clone()).await.unwrap();
    let registration = registration(1);
    let revoke_key = || KeyIssuer::revoke(&*store, &key.fingerprint, START);
    let revoke_registration = || RevocationList::revoke(&*store, &registration, START);
    assert_eq!(revoke_key().await, Ok(true));
    assert_eq!(revoke_registration().await, Ok(true));
    for _ in 0..2 {
        assert_eq!(revoke_key().await, Ok(false));
        assert_eq!(revoke_registration().await, Ok(false));
    }
}

/// Signs new addresses up, as many at a time as there are tasks, and counts what is acknowledged.
struct Load {
    tasks: JoinSet<Vec<String>>,
    acknowledged: Arc<AtomicU32>,
    stop: tokio_util::sync::CancellationToken,
}

impl Load {
    fn start(store: &Arc<PostgresStore>) -> Self {
        let acknowledged = Arc::new(AtomicU32::new(0));
        let stop = tokio_util::sync::CancellationToken::new();
        let mut tasks = JoinSet::new();
        for task in 0..8 {
            let (store, stop) = (Arc::clone(store), stop.clone());
            let acknowledged = Arc::clone(&acknowledged);
            tasks.spawn(async move {
                let mut kept = Vec::new();
                for number in 0.. {
                    if stop.is_cancelled() {
                        break;
                    }
                    let name = format!("load{task}-{number}");
                    match sign_up(&store, &name).await {
                        Ok(outcome) => {
                            // Each address is new, but its first answer may be lost.
                            assert!(is_first(outcome), "{outcome:?}");
                            kept.push(address(&name).as_str().to_owned());
                            acknowledged.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => assert!(is_unavailable::<()>(&Err(error))),
                    }
                }
                kept
            });
        }
        Self {
            tasks,
            acknowledged,
            stop,
        }
    }

    async fn goes_on(&self) {
        let before = self.acknowledged.load(Ordering::Relaxed);
        until("sign-ups to be taken", async || {
            self.acknowledged.load(Ordering::Relaxed) > before + 8
        })
        .await;
    }

    /// Ends it, and checks that all that was acknowledged is there.
    async fn check(self, server: &Postgres) {
        self.stop.cancel();
        let acknowledged = self.tasks.join_all().await.concat();
        let kept = contacts(server).await;
        let lost = acknowledged.iter().filter(|it| !kept.contains(*it));
        assert_eq!(lost.count(), 0, "of {}", acknowledged.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_acknowledged_survives_kills() {
    let (mut server, store) = Postgres::with_store().await;
    let load = Load::start(&store);
    for _ in 0..10 {
        load.goes_on().await;
        server.kill();
        server.restart().await;
    }
    load.goes_on().await;
    load.check(&server).await;
}

/// Each primary is killed in turn, its standby promoted, and a new standby made of that.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_acknowledged_survives_a_promoted_standby() {
    let mut primary = Postgres::start().await;
    drop(primary.store().await);
    let ports = [primary.port(), free_port()];
    let mut standby = primary.standby_at(ports[1]).await;
    let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
    let url = format!(
        "postgres://postgres@{hosts}/postgres?sslmode=disable&target_session_attrs=read-write"
    );
    let store = open(&url).await.unwrap();
    let load = Load::start(&store);
    for round in 0..2 {
        load.goes_on().await;
        // What is acknowledged is at the standby, so nothing is while it hangs.
        standby.signal_all(Signal::STOP);
        let waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        until("a commit to wait for the standby", async || {
            !primary.sql(waiting).await.is_empty()
        })
        .await;
        primary.kill();
        standby.signal_all(Signal::CONT);
        standby.sql("SELECT pg_promote()").await;
        primary = standby;
        // Alone until it has a standby, too.
        load.goes_on().await;
        standby = primary.standby_at(ports[round % 2]).await;
    }
    load.goes_on().await;
    load.check(&primary).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_are_terminated_are_replaced_without_an_error() {
    let (server, store) = Postgres::with_store().await;
    // Known keys are cached.
    let unknown = key_record(1, None).fingerprint;
    for round in 0..5 {
        let waiting = spawn_sign_ups(&store, &format!("r{round}n"), 64);
        assert!(!server.sql(TERMINATE).await.is_empty());
        assert_eq!(KeyIssuer::find(&*store, &unknown).await, Ok(None));
        for waiting in waiting {
            assert!(is_first(waiting.await.unwrap().unwrap()));
        }
    }
}

#[tokio::test]
async fn a_read_only_primary_is_left_until_it_takes_writes() {
    let (server, store) = Postgres::with_store().await;
    assert_eq!(sign_up(&store, "ada").await, CREATED);
    server.set_now("default_transaction_read_only", "on").await;
    until("the primary to be read-only", async || {
        is_unavailable(&sign_up(&store, "bob").await)
    })
    .await;
    server.set_now("default_transaction_read_only", "off").await;
    until("the primary to take writes", async || {
        sign_up(&store, "cy").await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_row_that_somebody_holds_holds_up_nobody_else() {
    let (server, store) = Postgres::with_store().await;
    let created = spawn_sign_up(&store, "held", 1);
    assert_eq!(created.await.unwrap(), CREATED);
    let holder = server.client().await;
    let hold = "BEGIN; SELECT * FROM contact FOR UPDATE";
    holder.batch_execute(hold).await.unwrap();
    for round in 0..3 {
        let held = spawn_sign_up(&store, "held", 1);
        let others = spawn_sign_ups(&store, &format!("r{round}n"), 100);
        for other in others {
            assert_eq!(other.await.unwrap(), CREATED);
        }
        assert_eq!(held.await.unwrap(), Err(StoreError::Overloaded));
    }
    holder.batch_execute("ROLLBACK").await.unwrap();
    let again = spawn_sign_up(&store, "held", 1);
    assert_eq!(again.await.unwrap(), renewed(true));
}

#[tokio::test]
async fn others_do_the_work_of_missing_connections_which_are_logged() {
    let (server, _) = Postgres::with_store().await;
    let role = "CREATE ROLE site LOGIN CONNECTION LIMIT 2; GRANT ALL ON ALL TABLES IN SCHEMA public TO site";
    server.sql(role).await;
    let settings = settings(&server.url().replace("postgres@", "site@"));
    let metrics = Arc::new(Metrics::new([]));
    let signed_up = async {
        let store = open_counted(&settings, &metrics).await.unwrap();
        for waiting in spawn_sign_ups(&store, "n", 64) {
            assert_eq!(waiting.await.unwrap(), CREATED);
        }
        sleep(Duration::from_secs(6)).await;
        assert_eq!(ContactStore::check(&*store), Ok(()));
        assert_ne!(*metrics.store_engine.is_away.lock(), Some(true));
    };
    let ((), log) = logged_async(signed_up).await;
    let missing = "a connection to the database is missing";
    assert_eq!(log.matches(missing).count(), 3, "{log}");
}

#[tokio::test]
async fn more_than_may_wait_are_refused_at_once() {
    let server = Postgres::start().await;
    let (relay, store) = relayed(&server).await;
    assert_eq!(sign_up(&store, "ada").await, CREATED);
    relay.set(Flow::Stall);
    let waiting = spawn_sign_ups(&store, "n", 1500);
    let (mut refused, mut unavailable) = (0, 0);
    for waiting in waiting {
        match waiting.await.unwrap() {
            Err(StoreError::Overloaded) => refused += 1,
            Err(StoreError::Unavailable(_)) => unavailable += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((refused, unavailable), (1500 - 1024, 1024));
    relay.set(Flow::Pass);
    until("sign-ups to be taken", async || {
        sign_up(&store, "bob").await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_server_that_hangs_is_told_within_three_seconds_and_found_within_two() {
    let (server, store) = Postgres::with_store().await;
    assert_eq!(sign_up(&store, "ada").await, CREATED);
    server.signal_all(Signal::STOP);
    assert_eq!(ContactStore::check(&*store), Ok(()));
    let late = Duration::from_millis(500);
    let fingerprint = key_record(1, None).fingerprint;
    for _ in 0..2 {
        let refused = sign_up(&store, "bob");
        let refused = timeout(Duration::from_secs(3) + late, refused).await;
        assert!(is_unavailable(&refused.unwrap()));
        let refused = KeyIssuer::find(&*store, &fingerprint);
        let refused = timeout(Duration::from_secs(1) + late, refused).await;
        assert!(is_unavailable(&refused.unwrap()));
    }
    until("health to tell", async || {
        is_unavailable(&ContactStore::check(&*store))
    })
    .await;
    server.signal_all(Signal::CONT);
    let back = timeout(Duration::from_secs(2), sign_up(&store, "cy"));
    assert_eq!(back.await.unwrap(), CREATED);
    assert_eq!(ContactStore::check(&*store), Ok(()));
}

/// Without an address or a URL.
#[tokio::test]
async fn an_outage_is_logged_once_and_counted() {
    let (mut server, _) = Postgres::with_store().await;
    let metrics = Arc::new(Metrics::new([]));
    let outage = async {
        let store = open_counted(&settings(&server.url()), &metrics)
            .await
            .unwrap();
        assert_eq!(sign_up(&store, "ada").await, CREATED);
        server.kill();
        for name in ["bob", "cy"] {
            assert!(is_unavailable(&sign_up(&store, name).await));
        }
        assert_eq!(*metrics.store_engine.is_away.lock(), Some(true));
        server.restart().await;
        assert_eq!(sign_up(&store, "dan").await, CREATED);
    };
    let ((), log) = logged_async(outage).await;
    assert_ne!(*metrics.store_engine.is_away.lock(), Some(true));
    assert_eq!(metrics.store_engine.losses.get(), 1);
    let lines: Vec<_> = log.lines().collect();
    let [away, back] = &lines[..] else {
        panic!("{log}");
    };
    for (line, level, words) in [
        (away, "WARN", "the database is unavailable"),
        (back, "INFO", "the database is back"),
    ] {
        assert!(line.contains(level) && line.contains(words), "{line}");
    }
    let port = server.port().to_string();
    for private in ["example.com", "127.0.0.1", "postgres://", &port] {
        assert!(!log.contains(private), "{log}");
    }
}
