//! What one node gives out or takes back is known to the others.

use rustix::process::Signal;
use serde_json::json;
use tokio::time::Instant;

use crate::client::{Answer, Call, Client, at_once};
use crate::engine::until;
use crate::nodes::{Nodes, SECRET, engines, write_secret};
use crate::program::{run, text};

/// Another secret.
const OTHER: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const CHAT: &str = "/api/v1/assistant/chat";

fn register() -> Call {
    Call::post("/agent/auth", &json!({ "type": "anonymous" }))
}

fn exchange(agent: &Answer) -> Call {
    let (id, secret) = (agent.text("client_id"), agent.text("client_secret"));
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    Call::form("/oauth2/token", form)
}

fn revoke(credential: &str) -> Call {
    Call::form("/agent/auth/revoke", format!("token={credential}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_gives_out_another_takes() {
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(2, &urls, &[]);
    let [here, there] = [&nodes.addresses[0], &nodes.addresses[1]];
    let client = Client::new();

    let key = client
        .send(here, &Call::post("/api/v1/keys", &json!({})))
        .await;
    let key = key.text("api_key");
    assert_eq!(
        client
            .send(there, &Call::health().bearer(&key))
            .await
            .status,
        200
    );

    let turn = client.send(here, &Call::chat()).await;
    assert_eq!(turn.body["used"], 1, "{turn:?}");
    let left = Call::get(CHAT).header("cookie", turn.cookie());
    assert_eq!(client.send(there, &left).await.body["used"], 1);
    let turn = Call::chat().header("cookie", turn.cookie());
    assert_eq!(client.send(there, &turn).await.body["used"], 2);
    assert_eq!(client.send(here, &left).await.body["used"], 2);

    let agent = client.send(here, &register()).await;
    let token = agent.text("access_token");
    assert_eq!(
        client
            .send(there, &Call::health().bearer(&token))
            .await
            .status,
        200
    );
    let second = client
        .send(there, &exchange(&agent))
        .await
        .text("access_token");
    assert_eq!(
        client
            .send(here, &Call::health().bearer(&second))
            .await
            .status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_revokes_another_soon_refuses() {
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(2, &urls, &["--limit=default=off", "--limit=ip=off"]);
    let [here, there] = [&nodes.addresses[0], &nodes.addresses[1]];
    let client = Client::new();
    let key = client
        .send(here, &Call::post("/api/v1/keys", &json!({})))
        .await;
    let key = key.text("api_key");
    let agent = client.send(here, &register()).await;
    let token = agent.text("access_token");
    for credential in [&key, &token] {
        let health = Call::health().bearer(credential);
        assert_eq!(client.send(there, &health).await.status, 200);
        assert_eq!(client.send(here, &revoke(credential)).await.status, 200);
        let revoked = Instant::now();
        assert_eq!(
            client.send(here, &health).await.status,
            401,
            "at once where it was revoked"
        );
        let mut last = revoked;
        until("the other node to refuse it", async || {
            let answer = client.send(there, &health).await;
            if answer.status == 200 {
                last = answer.sent;
            }
            answer.status == 401
        })
        .await;
        // The default of --credential-cache.
        assert!(
            (last - revoked).as_secs_f64() <= 5.0,
            "{:?}",
            last - revoked
        );
    }
    assert_eq!(client.send(there, &exchange(&agent)).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_a_foreign_secret_does_not_start() {
    let (_postgres, _redis, urls) = engines().await;
    let mut nodes = Nodes::start(1, &urls, &[]);
    nodes.end(0, Signal::TERM);
    write_secret(&nodes.secret_file(), &[OTHER]);
    let refused = run(&mut nodes.command(0));
    assert!(!refused.status.success());
    let log = text(&refused.stderr);
    assert!(log.contains("--secret-file"), "{log}");
    assert!(!log.contains(OTHER) && !log.contains(&urls.store), "{log}");
}

/// The id of the visitor whom a cookie names.
fn visitor(cookie: &str) -> &str {
    cookie.split('.').nth(1).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_secret_before_made_is_still_believed() {
    let (_postgres, _redis, urls) = engines().await;
    let mut nodes = Nodes::start(2, &urls, &[]);
    let client = Client::new();
    let [here, there] = [nodes.addresses[0].clone(), nodes.addresses[1].clone()];
    let agent = client.send(&here, &register()).await;
    let cookie = client.send(&here, &Call::chat()).await.cookie();
    // First every node believes the next secret, then every node uses it.
    for lines in [[SECRET, OTHER], [OTHER, SECRET]] {
        write_secret(&nodes.secret_file(), &lines);
        nodes.end(1, Signal::TERM);
        nodes.begin(1);
        let newer = client.send(&there, &register()).await;
        for agent in [&agent, &newer] {
            for address in [&here, &there] {
                let token = agent.text("access_token");
                let health = Call::health().bearer(&token);
                assert_eq!(client.send(address, &health).await.status, 200);
                assert_eq!(client.send(address, &exchange(agent)).await.status, 200);
            }
        }
        // The visitor stays who they were.
        let turn = Call::chat().header("cookie", &cookie);
        let renewed = client.send(&there, &turn).await.cookie();
        assert_eq!(visitor(&renewed), visitor(&cookie));
        nodes.end(0, Signal::TERM);
        nodes.begin(0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_sign_one_address_up_one_is_told_that_it_is_new() {
    let (_postgres, _redis, urls) = engines().await;
    let flags = [
        "--reveal-existing=always",
        "--limit=newsletter=off",
        "--limit=newsletter-ip=off",
        "--limit=default=off",
        "--limit=ip=off",
    ];
    let nodes = Nodes::start(2, &urls, &flags);
    for round in 0..10 {
        let answers = at_once(64, |number, client: Client| {
            let address = nodes.addresses[number % 2].clone();
            let call = Call::sign_up(&format!("ada{round}@example.com"));
            async move { client.send(&address, &call).await }
        });
        let is_new = |answer: &Answer| {
            assert_eq!(answer.status, 200, "{answer:?}");
            answer.body["alreadyExists"] == false
        };
        let answers = answers.await;
        let new = answers.iter().filter(|answer| is_new(answer)).count();
        assert_eq!(new, 1, "{:?}", answers[0]);
    }
}
