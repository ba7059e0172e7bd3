//! A disk that hangs holds the threads that wait for it, and none that answers requests.

use std::pin::Pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Waker};

use landing_api::domain::hourly_counts::{Counts, Hour};
use landing_api::ports::{
    BlockList, ContactStore, CountStore, KeyIssuer, RateLimiter, RevocationList, WindowSet,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{spawn_blocking, yield_now};

use crate::fixtures::registration;
use crate::ledger::faulty;
use crate::prelude::*;

/// A runtime with one thread for requests, and one that may wait for the disk.
pub(crate) fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    let builder = builder.max_blocking_threads(1).enable_all();
    builder.start_paused(true).build().unwrap()
}

/// Holds the thread that waits for the disk, until this is dropped.
pub(crate) fn hang() -> Sender<()> {
    let (release, released) = channel();
    spawn_blocking(move || released.recv());
    release
}

/// The answer that comes after `wait` at the latest. Waits for nothing else, so that a test fails and does not hang.
pub(crate) async fn within<T>(wait: Duration, answer: impl Future<Output = T>) -> T {
    let too_late = async {
        advance(wait).await;
        for _ in 0..1000 {
            yield_now().await;
        }
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        () = too_late => panic!("it waits for the disk"),
    }
}

/// Something asked of the disk, which tells whether it was answered as it should be.
type Asked<'a> = Pin<Box<dyn Future<Output = bool> + 'a>>;

#[test]
fn whatever_needs_the_disk_waits_for_it_elsewhere() {
    runtime().block_on(async {
        let (house, opened) = House::opened_with(["ada"]).await;
        let (store, key, agent) = (&*opened.store, key_record(1, None), registration(1));
        store.issue(key.clone()).await.unwrap();
        RevocationList::revoke(store, &agent, START).await.unwrap();
        let blocks = FileBlockList::open(Some(house.file("blocks.jsonl"))).unwrap();
        let counts = FileCountStore::open(&house.file("counts.jsonl"));
        let windows = Box::new(SledWindowStore::new(&house.file("windows")));
        let quotas = policies("3/60s");
        let limiter = SledRateLimiter::without_thread(windows, &quotas, START, WINDOWS_MAX);
        let disk = hang();
        let key = async { KeyIssuer::find(store, &key.fingerprint).await == Ok(Some(key.clone())) };
        let agent = async { store.is_revoked(&agent).await == Ok(true) };
        let list = async {
            listed(ContactStore::list(store, None, None).await)
                .await
                .len()
                == 1
        };
        let block = async { blocks.add(network("192.0.2.0/24"), START).await == Ok(true) };
        let (hour, none) = (Hour::of(START), Counts::default());
        let hourly = async { counts.add(hour, &none).await == Ok(()) };
        let reset = async { limiter.reset(WindowSet::All).await == Ok(0) };
        let asked: [(&str, Asked<'_>); 7] = [
            ("a contact", Box::pin(opened.has("ada"))),
            ("a key", Box::pin(key)),
            ("a revoked agent", Box::pin(agent)),
            ("a list", Box::pin(list)),
            ("a block", Box::pin(block)),
            ("hourly counts", Box::pin(hourly)),
            ("a reset of limits", Box::pin(reset)),
        ];
        let mut waiting = Vec::new();
        for (what, mut asked) in asked {
            let mut context = Context::from_waker(Waker::noop());
            // Some give way to others in between.
            let is_waiting = (0..1000).all(|_| asked.as_mut().poll(&mut context).is_pending());
            assert!(is_waiting, "{what} was not waited for");
            waiting.push((what, asked));
        }
        drop(disk);
        for (what, asked) in waiting {
            assert!(asked.await, "{what}");
        }
    });
}

#[test]
fn a_service_whose_disk_hangs_answers_what_needs_none() {
    runtime().block_on(async {
        let (_house, files, opened) = faulty(["ada"]).await;
        let setup = Setup {
            store: Some(Arc::clone(&opened.store)),
            ..Setup::default()
        };
        let app = setup.start();
        let _disk = hang();
        let gathered = files.gather(&opened, &[]).await;
        let livez = || Call::get("/livez");
        let pages = [Call::get("/"), Call::get("/docs")];
        let calls = [livez(), Call::health(), Call::echo(), Call::chat()];
        for call in calls.into_iter().chain(pages) {
            within(Duration::ZERO, app.expect("200", call)).await;
        }
        // Once a sign-up waits for long, a load balancer need not look elsewhere, and a monitor knows.
        advance(Duration::from_secs(2)).await;
        app.expect("503 store_unavailable", Call::health()).await;
        app.expect("200", livez()).await;
        gathered.all_created().await;
    });
}
