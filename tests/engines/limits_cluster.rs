//! A cluster whose primaries are lost, hang and change: limits hold, nothing fails, others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use landing_api::adapters::redis::RedisRateLimiter;
use landing_api::domain::policy::PolicyName;
use landing_api::ports::RateLimiter;
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::engine::until;
use crate::fixtures::{acquire, admitted, charge, is_admitted, peek};
use crate::limits_away::{Node, client, now};
use crate::redis::RedisCluster;

/// So many that each primary has some.
const HOSTS: u32 = 40;

/// How many of the hosts are decided about without the cluster.
async fn local_hosts(node: &Node) -> u64 {
    let before = node.local_decisions();
    for host in 0..HOSTS {
        let wide = charge(PolicyName::Keys, "1000000/1h", host);
        is_admitted(&*node.limiter, &[wide], now()).await;
    }
    node.local_decisions() - before
}

async fn until_local(node: &Node, what: &str, is_reached: impl Fn(u64) -> bool) {
    until(what, async || is_reached(local_hosts(node).await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_is_killed_or_hangs_costs_the_others_nothing() {
    let mut cluster = RedisCluster::start().await;
    let node = Node::new(cluster.settings()).await;
    until_local(&node, "all primaries", |local| local == 0).await;
    // What this node admits before counts while it is alone.
    for host in 0..HOSTS {
        assert_eq!(node.admitted(client(host), 2).await, 2);
    }
    cluster.primary().kill();
    let mut extra = 0;
    for host in 0..HOSTS {
        // 3 are its share, 9 the limit.
        let more = node.admitted(client(host), 9).await;
        assert!(more == 1 || more == 7, "{more}");
        extra += u64::from(more == 1);
    }
    assert!(extra > 0 && extra < u64::from(HOSTS), "{extra}");
    node.until_away(true).await;
    until_local(&node, "a new primary", |local| local == 0).await;
    node.until_away(false).await;
    // The same with one that hangs.
    let stopped = cluster.primary();
    stopped.signal(Signal::STOP);
    let stopped = stopped.port;
    let some = 1..u64::from(HOSTS);
    until_local(&node, "the others alone", |local| some.contains(&local)).await;
    until_local(&node, "another new primary", |local| local == 0).await;
    let stopped = cluster.nodes.iter().find(|node| node.port == stopped);
    stopped.unwrap().signal(Signal::CONT);
    for _ in 0..20 {
        until_local(&node, "no return to the old one", |local| local == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_and_a_slot_that_moves_lose_no_charge() {
    let mut cluster = RedisCluster::start().await;
    let node = Arc::new(Node::new(cluster.settings()).await);
    until_local(&node, "all primaries", |local| local == 0).await;
    let charges = |host| [charge(PolicyName::Ip, "1000/1h", host)];
    let is_over = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for task in 0..4 {
        let (node, is_over) = (Arc::clone(&node), Arc::clone(&is_over));
        load.spawn(async move {
            let mut admitted = 0;
            while !is_over.load(Relaxed) {
                for host in 0..HOSTS {
                    let charge = charge(PolicyName::Agents, "1000000/1h", host + 100 * task);
                    admitted += usize::from(is_admitted(&*node.limiter, &[charge], now()).await);
                }
            }
            admitted
        });
    }
    for host in 0..HOSTS {
        assert_eq!(admitted(&*node.limiter, &charges(host), now(), 5).await, 5);
    }
    let replica_of = {
        let primary = cluster.primary().port.to_string();
        let mut replicas = cluster.nodes.iter();
        replicas.find(|node| {
            let role = node.cli(&["role"]);
            role.starts_with("slave") && role.lines().any(|line| line == primary)
        })
    };
    let replica = replica_of.unwrap();
    until("the failover", async || {
        // The servers may give it up under load, after five seconds.
        assert_eq!(replica.cli(&["cluster", "failover"]), "OK");
        let promoted = until("the promotion", async || {
            replica.cli(&["role"]).starts_with("master")
        });
        timeout(Duration::from_secs(6), promoted).await.is_ok()
    })
    .await;
    until_local(&node, "the new primary", |local| local == 0).await;
    cluster.until_ok().await;
    cluster.move_slots(300);
    until_local(&node, "the moved slots", |local| local == 0).await;
    is_over.store(true, Relaxed);
    assert!(load.join_all().await.into_iter().sum::<usize>() > 0);
    for host in 0..HOSTS {
        let (counted, _) = peek(&*node.limiter, charges(host)[0], now()).await;
        assert_eq!(counted, 5, "{host}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_one_home_refuses_is_taken_back_from_the_other() {
    let cluster = RedisCluster::start().await;
    let limiter = RedisRateLimiter::open(cluster.settings()).await.unwrap();
    let limiter: Arc<dyn RateLimiter> = Arc::new(limiter);
    let full = charge(PolicyName::Ip, "10/1h", 1);
    // Elsewhere, and never full.
    let other = charge(PolicyName::Default, "1000000/1h", 2);
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let limiter = Arc::clone(&limiter);
        tasks.spawn(async move { admitted(&*limiter, &[other, full], now(), 5).await });
    }
    let all: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(all, 10);
    let refused = acquire(&*limiter, &[full, other], now()).await;
    assert!(refused.decision.is_refused() && refused.receipt.is_empty());
    let mut tasks = JoinSet::new();
    for _ in 0..1000 {
        let limiter = Arc::clone(&limiter);
        tasks.spawn(async move { is_admitted(&*limiter, &[full, other], now()).await });
    }
    assert!(tasks.join_all().await.into_iter().all(|admitted| !admitted));
    until("what is taken back", async || {
        peek(&*limiter, other, now()).await.0 == 10
    })
    .await;
}
