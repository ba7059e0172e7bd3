//! An engine that is away is no outage: what each request is answered meanwhile, and what the log says.

use crate::client::Answer;
use crate::prelude::*;

const NODES: usize = 3;
const COUNT: u32 = 90;
/// Of each node, while it decides alone.
const SHARE: u32 = 30;
const FLAGS: [&str; 2] = ["--limit=default=off", "--limit=ip=90/60s"];

/// Waits until every node decides with this count, whoever is asked for. Nobody is answered with a fault.
async fn until_all_decide_with(nodes: &Nodes, count: u32) {
    let client = Client::new();
    // Somebody else each time, whom no window refuses.
    let mut visitor = 0_u32;
    for address in &nodes.addresses {
        until("the count that is shown", async || {
            visitor += 1;
            let visitor = format!("198.51.100.{}", visitor % 200);
            let answer = client.send(address, &Call::health().from(&visitor)).await;
            assert!([200, 429].contains(&answer.status), "{answer:?}");
            answer.quota("ip") == count
        })
        .await;
    }
}

/// What a visitor does who needs no engine of the limits.
async fn all_goes_on(nodes: &Nodes) {
    let client = Client::new();
    for (number, address) in nodes.addresses.iter().enumerate() {
        let visitor = format!("203.0.113.{number}");
        let email = format!("eve{number}@example.com");
        for call in [
            Call::health(),
            Call::get("/livez"),
            Call::sign_up(&email),
            Call::get("/api/v1/assistant/chat"),
            Call::chat(),
            Call::get("/"),
        ] {
            let answer = client.send(address, &call.from(&visitor)).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let call = Call::mint().from(&visitor);
        assert_eq!(client.status(address, &call).await, 201);
    }
}

/// Waits until each node's log says each of `messages`, once.
async fn say_once(nodes: &Nodes, messages: [&str; 2]) {
    for number in 0..nodes.addresses.len() {
        for message in messages {
            let count = || nodes.log(number).matches(message).count();
            until("the log to tell", async || count() > 0).await;
            assert_eq!(count(), 1, "{message}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_limits_engine_each_node_starts_and_keeps_its_share() {
    let (_postgres, mut redis, urls) = engines().await;
    redis.kill();
    let nodes = Nodes::start(NODES, &urls, &FLAGS);
    until_all_decide_with(&nodes, SHARE).await;
    all_goes_on(&nodes).await;
    // One identity asks all nodes, for longer than they admit.
    let answers = at_once(16, |number, client: Client| {
        let address = nodes.addresses[number % NODES].clone();
        async move {
            let mut answers = Vec::new();
            for _ in 0..30 {
                answers.push(client.send(&address, &Call::health()).await);
            }
            answers
        }
    });
    let answers = answers.await.concat();
    let of_status = |status| answers.iter().filter(|it| it.status == status).count();
    assert_eq!(of_status(200), COUNT as usize, "three times the share");
    assert_eq!(of_status(429), answers.len() - COUNT as usize);
    redis.start_again().await;
    until_all_decide_with(&nodes, COUNT).await;
    let engine = "the rate-limit engine";
    say_once(
        &nodes,
        [
            &format!("{engine} is unavailable"),
            &format!("{engine} is available again"),
        ],
    )
    .await;
}

/// A request that was refused because the record is away.
fn check_refused(answer: &Answer, code: &str, seconds: u64) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.text("code"), code);
    // With the test's own time.
    let within = Duration::from_secs(seconds + 1);
    assert!(answer.took() < within, "{answer:?}");
}

/// A question with a credential.
fn asked_with(key: &str) -> Call {
    Call::get("/api/v1/assistant/chat").bearer(key)
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_record_is_down_all_goes_on_that_does_not_need_it() {
    let (mut postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(2, &urls, &[]);
    let client = Client::new();
    let address = &nodes.addresses[0];
    let key = async || client.mint(&nodes.addresses[1]).await;
    let (seen, unseen, unwanted) = (&key().await, &key().await, &key().await);
    assert_eq!(client.status(address, &asked_with(seen)).await, 200);

    postgres.kill();
    let revocation = Call::revocation(unwanted);
    let sign_up = Call::sign_up("ada@example.com");
    for (call, code, seconds) in [
        (&sign_up, "newsletter_unavailable", 3),
        (&Call::mint(), "store_unavailable", 3),
        // A look-up of a second comes first.
        (&revocation, "store_unavailable", 4),
        (&asked_with(unseen), "store_unavailable", 3),
    ] {
        check_refused(&client.send(address, call).await, code, seconds);
    }
    for call in [
        asked_with(seen),
        Call::health(),
        Call::get("/livez"),
        Call::get("/api/v1/assistant/chat"),
        Call::chat(),
        Call::get("/"),
    ] {
        let answer = client.send(address, &call).await;
        assert_eq!(answer.status, 200, "{call:?}: {answer:?}");
    }
    // Many at once wait no longer.
    let many = at_once(64, |number, client: Client| {
        let email = format!("eve{number}@example.com");
        let call = Call::sign_up(&email).from(&format!("192.0.2.{number}"));
        let address = address.clone();
        async move { client.send(&address, &call).await }
    });
    for answer in many.await {
        check_refused(&answer, "newsletter_unavailable", 3);
    }

    postgres.restart().await;
    for call in [sign_up, asked_with(unseen), revocation] {
        until("the requests", async || {
            client.status(address, &call).await == 200
        })
        .await;
    }
    let log = nodes.log(0);
    for private in [seen, unseen, unwanted, &urls.store, "example.com"] {
        assert!(!log.contains(private), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn monitors_hear_of_a_record_that_is_away_and_load_balancers_do_not() {
    let (mut postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(1, &urls, &["--limit=default=off", "--limit=ip=off"]);
    let client = Client::new();
    let address = &nodes.addresses[0];
    let health = async || client.status(address, &Call::health()).await;
    assert_eq!(health().await, 200);
    postgres.kill();
    let away = Instant::now();
    until("health to tell", async || health().await == 503).await;
    let elapsed = away.elapsed();
    assert!(elapsed > Duration::from_secs(8), "{elapsed:?}");
    assert_eq!(client.status(address, &Call::get("/livez")).await, 200);
    postgres.restart().await;
    until("health", async || health().await == 200).await;
    let changes = ["the database is unavailable", "the database is back"];
    say_once(&nodes, changes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_waits_for_the_record_at_its_start() {
    let (mut postgres, _redis, urls) = engines().await;
    let nodes = Nodes::prepare(2, &urls, &[]);
    nodes.migrate();
    postgres.kill();
    let mut command = nodes.command(0);
    let starting = tokio::task::spawn_blocking(move || Program::start(&mut command));
    let mut hopeless = nodes.command(1);
    postgres.restart().await;
    let program = starting.await.unwrap();
    let client = Client::new();
    let call = Call::sign_up("ada@example.com");
    assert_eq!(client.status(&program.address, &call).await, 200);

    postgres.kill();
    let refused = tokio::task::spawn_blocking(move || Ran::of(&mut hopeless));
    let refused = refused.await.unwrap();
    assert_ne!(refused.status, Some(0));
    assert!(refused.err.contains("--store"), "{refused:?}");
    assert!(!refused.err.contains(&urls.store), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stops_tells_load_balancers_first() {
    let (_postgres, _redis, urls) = engines().await;
    let mut nodes = Nodes::start(1, &urls, &["--drain-notice=3s"]);
    let client = Client::new();
    let address = nodes.addresses[0].clone();
    let livez = async || client.status(&address, &Call::get("/livez")).await;
    assert_eq!(livez().await, 200);
    let program = nodes.take(0);
    program.signal(Signal::TERM);
    until("the notice", async || livez().await == 503).await;
    let sign_up = Call::sign_up("ada@example.com");
    for call in [Call::health(), sign_up, Call::chat()] {
        assert_eq!(client.status(&address, &call).await, 200);
    }
    let ended = tokio::task::spawn_blocking(move || program.wait());
    assert_eq!(ended.await.unwrap().0, Some(0));
}
