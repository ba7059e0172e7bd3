//! A drill: three nodes behind HAProxy under load, while each engine is killed, hung, failed over and
//! restarted, and each node is killed and replaced. It takes two minutes, and prints what clients saw.
//!
//! `cargo test --test drill`; it needs the programs that `tests/engines`
//! needs, and `haproxy`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a drill prints, and has failed where it meets the unexpected"
)]
#![allow(unreachable_pub, reason = "nothing outside reaches a test")]
#![allow(
    dead_code,
    reason = "the tests of engines do more with what both share"
)]

#[path = "../it/call.rs"]
mod call;
#[path = "../engines/client.rs"]
mod client;
#[path = "../engines/engine.rs"]
mod engine;
#[path = "../it/fixtures.rs"]
mod fixtures;
mod haproxy;
mod load;
#[path = "../engines/nodes.rs"]
mod nodes;
#[path = "../engines/postgres.rs"]
mod postgres;
#[path = "../it/program.rs"]
mod program;
#[path = "../engines/redis.rs"]
mod redis;
#[path = "../support/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tests do more with it")]
mod twins;

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, sleep};

use client::Client;
use engine::free_port;
use haproxy::HaProxy;
use load::{COUNT, Load, WINDOW};
use nodes::{Nodes, Urls, contacts};
use postgres::Postgres;
use redis::Redis;

const NODES: usize = 3;

const AWAY: Duration = Duration::from_secs(3);

const FLAGS: [&str; 5] = [
    "--limit=default=off",
    "--limit=ip=60/2s",
    "--limit=newsletter-all=off",
    "--drain-notice=1s",
    "--log-level=warn",
];

struct Site {
    /// The first primary and its standby.
    records: [Postgres; 2],
    /// Which of them takes writes.
    primary: usize,
    /// The first primary and its replica.
    limits: [Redis; 2],
    _limits_address: HaProxy,
    haproxy: HaProxy,
    nodes: Nodes,
}

impl Site {
    async fn start() -> Self {
        let primary = Postgres::start().await;
        let standby = primary.standby_at(free_port()).await;
        let records = [primary, standby];
        let limits = [Redis::start().await, Redis::start().await];
        follow(&limits[1], &limits[0]);
        let [first, second] = &limits
            .each_ref()
            .map(|redis| format!("127.0.0.1:{}", redis.port));
        let limits_address = HaProxy::of_primary(&[first.clone(), second.clone()]).await;
        let [first, second] = &records
            .each_ref()
            .map(|one| format!("127.0.0.1:{}", one.port()));
        let urls = Urls {
            store: format!(
                "postgres://postgres@{first},{second}/postgres?sslmode=disable&\
                 target_session_attrs=read-write"
            ),
            limits: format!("redis://{}", limits_address.address),
        };
        let nodes = Nodes::start(NODES, &urls, &FLAGS);
        let haproxy = HaProxy::of_nodes(&nodes.addresses).await;
        haproxy.has_all(NODES).await;
        Self {
            records,
            limits,
            _limits_address: limits_address,
            haproxy,
            nodes,
            primary: 0,
        }
    }
}

fn follow(replica: &Redis, primary: &Redis) {
    let port = primary.port.to_string();
    assert_eq!(replica.cli(&["replicaof", "127.0.0.1", &port]), "OK");
}

fn promote(replica: &Redis) {
    assert_eq!(replica.cli(&["replicaof", "no", "one"]), "OK");
}

#[tokio::main]
async fn main() -> ExitCode {
    let site = Site::start().await;
    let key = Client::new().mint(&site.haproxy.address).await;
    let mut drill = Drill {
        load: Load::begin(&site.haproxy.address, &key),
        site,
        is_passed: true,
    };
    println!(
        "{NODES} nodes behind HAProxy, 64 clients. Answers by status; the most admissions of one client in \
         a window that\nholds {COUNT}; acknowledged contacts that are gone; and how long after the end of \
         the fault all was as before.\n\n\
         {:<40} {:>6} {:>5} {:>5} {:>5} {:>5} {:>8} {:>5} {:>6}",
        "", "200", "429", "503", "other", "none", "fullest", "lost", "normal"
    );
    drill
        .row("nothing", false, async |_| sleep(AWAY).await)
        .await;
    limits(&mut drill).await;
    record(&mut drill).await;
    each_node(&mut drill).await;
    match drill.is_passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

async fn limits(drill: &mut Drill) {
    let killed = async |site: &mut Site| {
        site.limits[0].kill();
        sleep(AWAY).await;
        site.limits[0].start_again().await;
    };
    let hung = async |site: &mut Site| {
        site.limits[0].signal(Signal::STOP);
        sleep(AWAY).await;
        site.limits[0].signal(Signal::CONT);
    };
    let switched = async |site: &mut Site| {
        promote(&site.limits[1]);
        follow(&site.limits[0], &site.limits[1]);
    };
    let failed_over = async |site: &mut Site| {
        site.limits[1].kill();
        promote(&site.limits[0]);
    };
    let failing_over = "limits' primary killed, replica promoted";
    drill
        .row("limits killed, back empty after 3 s", false, killed)
        .await;
    drill.row("limits hung for 3 s", false, hung).await;
    drill
        .row("limits switched to the replica", false, switched)
        .await;
    drill.row(failing_over, false, failed_over).await;
}

async fn record(drill: &mut Drill) {
    let killed = async |site: &mut Site| {
        site.records[0].kill();
        sleep(AWAY).await;
        site.records[0].restart().await;
    };
    let hung = async |site: &mut Site| {
        site.records[0].signal_all(Signal::STOP);
        sleep(AWAY).await;
        site.records[0].signal_all(Signal::CONT);
    };
    let restarted = async |site: &mut Site| {
        site.records[0].signal_all(Signal::INT);
        site.records[0].restart().await;
    };
    let failed_over = async |site: &mut Site| {
        site.records[0].kill();
        site.records[1].sql("SELECT pg_promote()").await;
        site.primary = 1;
    };
    let failing_over = "record's primary killed, standby promoted";
    drill
        .row("record killed, back after 3 s", true, killed)
        .await;
    drill.row("record hung for 3 s", true, hung).await;
    drill.row("record restarted", true, restarted).await;
    drill.row(failing_over, true, failed_over).await;
}

/// What happens to the nodes, one after the other.
async fn each_node(drill: &mut Drill) {
    for (what, signal, may_fail) in [
        ("killed", Signal::KILL, true),
        ("replaced", Signal::TERM, false),
    ] {
        let each = async |site: &mut Site| {
            for node in 0..NODES {
                site.nodes.end(node, signal);
                site.nodes.begin(node);
                site.haproxy.has_all(NODES).await;
            }
        };
        drill
            .row(&format!("each node {what}"), may_fail, each)
            .await;
    }
}

struct Drill {
    load: Load,
    site: Site,
    is_passed: bool,
}

impl Drill {
    /// Has `fault` happen and end, waits until all is normal again, and prints what clients saw.
    /// `may_fail` says whether a request may go without a good answer.
    async fn row(&mut self, what: &str, may_fail: bool, fault: impl AsyncFnOnce(&mut Site)) {
        let begin = Instant::now();
        fault(&mut self.site).await;
        let mended = Instant::now();
        let normal = self.load.until_normal(mended).await;
        let period = self.load.during(begin, Instant::now());
        // Before the look into the record, so that each of them has to be there.
        let acknowledged = self.load.acknowledged();
        let kept = contacts(&self.site.records[self.site.primary]).await;
        let is_lost = |email: &&String| !kept.contains(*email);
        let lost = acknowledged.iter().filter(is_lost).count();
        // Windows that were begun before.
        let fullest = self.load.during(begin - WINDOW, Instant::now()).fullest();
        let mut statuses = period.by_status();
        let [served, refused, unavailable] =
            [200, 429, 503].map(|status| statuses.remove(&Some(status)).unwrap_or_default());
        let none = statuses.remove(&None).unwrap_or_default();
        let other: usize = statuses.values().sum();
        let seconds = normal.map(|normal| (normal - mended).as_secs_f64());
        let shown = seconds.map_or_else(|| "never".to_owned(), |seconds| format!("{seconds:.1} s"));
        println!(
            "{what:<40} {served:>6} {refused:>5} {unavailable:>5} {other:>5} {none:>5} {fullest:>8} \
             {lost:>5} {shown:>6}"
        );
        let is_within = fullest <= 2 * COUNT as usize;
        let has_failed = unavailable + other + none > 0;
        self.is_passed &= lost == 0 && is_within && normal.is_some() && (may_fail || !has_failed);
    }
}
