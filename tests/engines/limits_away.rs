//! One Redis that goes away in many ways, with a node's own table behind it: limits hold, nothing fails.

use landing_api::adapters::cluster::FallbackRateLimiter;
use landing_api::adapters::cluster::redis::RedisSettings;
use landing_api::adapters::system::SystemClock;
use landing_api::ports::{Charge, Clock};

use crate::fixtures::{admitted, is_admitted, peek, policies};
use crate::prelude::*;
use crate::redis::settings;

const QUOTA: &str = "9/1h";
const LIMIT: usize = 9;
const SHARE: usize = 3;

pub(crate) struct Node {
    pub(crate) limiter: Arc<FallbackRateLimiter>,
    metrics: Arc<Metrics>,
}

impl Node {
    pub(crate) async fn new(settings: RedisSettings) -> Self {
        let metrics = Arc::new(Metrics::new([]));
        let counted = RedisSettings {
            metrics: Some(Arc::clone(&metrics)),
            ..settings
        };
        let engine = RedisRateLimiter::open(counted).await.unwrap();
        Self::over(Arc::new(engine), metrics)
    }

    pub(crate) async fn with_engine() -> (Redis, Self) {
        let redis = Redis::start().await;
        let node = Self::new(redis.settings()).await;
        (redis, node)
    }

    async fn behind_relay(redis: &Redis) -> (Relay, Self) {
        let relay = Relay::start(redis.port).await;
        let url = format!("redis://127.0.0.1:{}", relay.port());
        (relay, Self::new(settings(&url)).await)
    }

    fn over(engine: Arc<dyn RateLimiter>, metrics: Arc<Metrics>) -> Self {
        let clock = Arc::new(SystemClock);
        let counted = Arc::clone(&metrics);
        let limiter = FallbackRateLimiter::new(engine, 3, &policies(QUOTA), counted, clock);
        Self {
            limiter: limiter.unwrap(),
            metrics,
        }
    }

    pub(crate) async fn until_away(&self, is_away: bool) {
        until("the engine's state", async || {
            self.metrics
                .limits_engine
                .is_away
                .lock()
                .unwrap_or_default()
                == is_away
        })
        .await;
    }

    pub(crate) async fn admitted(&self, charge: Charge<'_>, tries: usize) -> usize {
        admitted(&*self.limiter, &[charge], now(), tries).await
    }

    pub(crate) fn local_decisions(&self) -> u64 {
        self.metrics.local_decisions.get()
    }
}

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

pub(crate) fn client(host: u32) -> Charge<'static> {
    charge(PolicyName::Ip, QUOTA, host)
}

#[tokio::test]
async fn a_killed_server_leaves_each_node_its_share_and_comes_back_empty() {
    let (mut redis, node) = Node::with_engine().await;
    assert_eq!(node.admitted(client(1), 2).await, 2);
    assert_eq!(node.local_decisions(), 0);
    redis.kill();
    // What the engine admitted to this node counts.
    assert_eq!(node.admitted(client(1), LIMIT).await, SHARE - 2);
    assert_eq!(node.admitted(client(2), LIMIT).await, SHARE);
    assert_eq!(node.local_decisions(), 2 * LIMIT as u64);
    node.until_away(true).await;
    assert_eq!(node.metrics.limits_engine.losses.get(), 1);
    node.limiter.check().unwrap();
    redis.start_again().await;
    node.until_away(false).await;
    assert_eq!(node.admitted(client(1), LIMIT + 1).await, LIMIT);
    assert_eq!(node.local_decisions(), 2 * LIMIT as u64);
}

#[tokio::test]
async fn a_server_that_hangs_holds_up_three_calls_and_is_back_when_it_goes_on() {
    let (redis, node) = Node::with_engine().await;
    assert_eq!(node.admitted(client(1), 1).await, 1);
    redis.signal(Signal::STOP);
    assert_eq!(node.admitted(client(1), LIMIT).await, SHARE - 1);
    node.until_away(true).await;
    redis.signal(Signal::CONT);
    node.until_away(false).await;
    let before = node.local_decisions();
    assert!(is_admitted(&*node.limiter, &[client(2)], now()).await);
    assert_eq!(peek(&*node.limiter, client(2), now()).await.0, 1);
    assert_eq!(node.local_decisions(), before);
}

#[tokio::test]
async fn a_server_that_has_become_slow_is_waited_for() {
    let redis = Redis::start().await;
    let relay = Relay::start(redis.port).await;
    let url = format!("redis://127.0.0.1:{}", relay.port());
    let node = Node::new(settings(&url)).await;
    let decided = || {
        let stats = redis.cli(&["info", "commandstats"]);
        let (_, calls) = stats.split_once("cmdstat_evalsha:calls=").unwrap();
        calls.split(',').next().unwrap().parse::<u64>().unwrap()
    };
    relay.set(Flow::Late(Duration::from_millis(200)));
    let before = decided();
    // One probe is answered before the next one is sent.
    until("two probes", async || decided() >= before + 2).await;
    // The answer to a probe may stand before that to a request.
    relay.set(Flow::Late(Duration::from_millis(300)));
    assert_eq!(node.admitted(client(1), 3).await, 3);
    assert_eq!(node.local_decisions(), 0);
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_found_later() {
    let mut redis = Redis::start().await;
    redis.kill();
    let node = Node::new(redis.settings()).await;
    assert_eq!(node.admitted(client(1), LIMIT).await, SHARE);
    node.until_away(true).await;
    redis.start_again().await;
    node.until_away(false).await;
    assert_eq!(node.admitted(client(1), LIMIT + 1).await, LIMIT);
}

#[tokio::test]
async fn a_script_that_the_server_forgot_is_sent_again() {
    let (redis, node) = Node::with_engine().await;
    for _ in 0..LIMIT {
        assert_eq!(redis.cli(&["script", "flush"]), "OK");
        assert_eq!(node.admitted(client(1), 1).await, 1);
    }
    assert_eq!(node.admitted(client(1), 1).await, 0);
    assert_eq!(node.local_decisions(), 0);
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_away_until_it_does() {
    // Memory that is full, and replicas that are missing.
    for setting in ["maxmemory", "min-replicas-to-write"] {
        let (redis, node) = Node::with_engine().await;
        assert_eq!(node.admitted(client(1), 1).await, 1);
        assert_eq!(redis.cli(&["config", "set", setting, "1"]), "OK");
        assert_eq!(node.admitted(client(1), LIMIT).await, SHARE - 1);
        node.until_away(true).await;
        assert_eq!(redis.cli(&["config", "set", setting, "0"]), "OK");
        node.until_away(false).await;
        // Nothing that it refused was half written.
        let left = node.admitted(client(1), LIMIT).await;
        assert_eq!(left, LIMIT - 1, "{setting}");
    }
}

/// By the server's own clock, which the script reads in whole milliseconds.
#[tokio::test]
async fn a_place_is_free_after_the_window_and_not_before() {
    let (_redis, node) = Node::with_engine().await;
    let charge = charge(PolicyName::Ip, "2/2s", 1);
    let begun = Instant::now();
    assert_eq!(node.admitted(charge, 3).await, 2);
    until("a place", async || node.admitted(charge, 1).await == 1).await;
    assert!(begun.elapsed() > Duration::from_millis(1_999));
    assert_eq!(node.local_decisions(), 0);
}

#[tokio::test]
async fn a_demoted_primary_is_left_for_the_server_that_its_name_leads_to() {
    let (old, new) = (Redis::start().await, Redis::start().await);
    let (relay, node) = Node::behind_relay(&old).await;
    assert_eq!(node.admitted(client(1), 2).await, 2);
    let port = new.port.to_string();
    assert_eq!(old.cli(&["replicaof", "127.0.0.1", &port]), "OK");
    until("the replica", async || {
        old.cli(&["role"]).contains("connected")
    })
    .await;
    assert_eq!(node.admitted(client(2), LIMIT).await, SHARE);
    node.until_away(true).await;
    let replica = RedisRateLimiter::open(old.settings()).await.unwrap();
    let error = replica.survey().await.unwrap_err().to_string();
    assert!(error.contains("point --limits to the primary"), "{error}");
    relay.lead_to(new.port);
    node.until_away(false).await;
    assert_eq!(node.admitted(client(3), LIMIT + 1).await, LIMIT);
    assert_ne!(new.cli(&["dbsize"]), "0");
}

#[tokio::test]
async fn an_answer_that_is_lost_may_have_counted_and_is_not_asked_for_again() {
    let redis = Redis::start().await;
    let (relay, node) = Node::behind_relay(&redis).await;
    relay.set(Flow::Swallow);
    assert_eq!(node.admitted(client(1), 1).await, 1);
    assert_eq!(node.local_decisions(), 1);
    relay.set(Flow::Pass);
    relay.cut().await;
    let other = RedisRateLimiter::open(redis.settings()).await.unwrap();
    assert_eq!(peek(&other, client(1), now()).await.0, 1);
    // The name leads nowhere for a moment: the connection is replaced by itself.
    node.until_away(false).await;
    assert_eq!(peek(&*node.limiter, client(1), now()).await.0, 1);
}

#[tokio::test]
async fn a_receipt_is_good_whatever_became_of_the_engine_since() {
    let (mut redis, node) = Node::with_engine().await;
    let charges = [client(1)];
    let by_engine = acquire(&*node.limiter, &charges, now()).await;
    let by_engine_too = acquire(&*node.limiter, &charges, now()).await;
    refund(&*node.limiter, by_engine.receipt, now()).await;
    assert_eq!(peek(&*node.limiter, client(1), now()).await.0, 1);
    redis.kill();
    // The refund was one in the own table, too.
    assert_eq!(peek(&*node.limiter, client(1), now()).await.0, 1);
    let shown = refund(&*node.limiter, by_engine_too.receipt, now()).await;
    let standing = shown.standing(PolicyName::Ip).unwrap();
    assert_eq!((standing.usage.counted, standing.quota.count()), (0, 3));
    let alone = acquire(&*node.limiter, &charges, now()).await;
    let standing = *alone.decision.standing(PolicyName::Ip).unwrap();
    assert_eq!((standing.usage.counted, standing.quota.count()), (1, 3));
    redis.start_again().await;
    node.until_away(false).await;
    // A receipt of the own table takes nothing from the engine.
    let charge = acquire(&*node.limiter, &charges, now()).await;
    drop(charge);
    refund(&*node.limiter, alone.receipt, now()).await;
    assert_eq!(peek(&*node.limiter, client(1), now()).await.0, 1);
}

#[tokio::test]
async fn the_operator_sees_the_own_windows_and_is_told_that_others_still_count() {
    let (mut redis, node) = Node::with_engine().await;
    assert_eq!(node.admitted(client(1), 2).await, 2);
    redis.kill();
    let quota = QUOTA.parse().unwrap();
    let busiest = || node.limiter.busiest(PolicyName::Ip, quota, 5, now());
    let busy = busiest().await.unwrap();
    assert_eq!((busy.len(), busy[0].usage.counted), (1, 2));
    let error = node.limiter.reset(WindowSet::All).await.unwrap_err();
    assert!(!error.to_string().contains("127.0.0.1"), "{error}");
    assert_eq!(busiest().await, Ok(vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_nodes_admit_exactly_the_limit_together() {
    let redis = Redis::start().await;
    let nodes = [
        Node::new(redis.settings()).await,
        Node::new(redis.settings()).await,
    ];
    for quota in ["100/1h", "1000/1h"] {
        let charge = charge(PolicyName::Keys, quota, 1);
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let limiter = Arc::clone(&nodes[task % 2].limiter);
            tasks.spawn(async move { admitted(&*limiter, &[charge], now(), 40).await });
        }
        let admitted: usize = tasks.join_all().await.into_iter().sum();
        assert_eq!(admitted, charge.quota.count() as usize);
        let reset = nodes[0].limiter.reset(WindowSet::All).await;
        assert_eq!(reset.unwrap(), 1);
    }
    assert_eq!(nodes[0].local_decisions() + nodes[1].local_decisions(), 0);
}
