//! What clients and the operator are shown about limits, and resets.

use std::sync::Arc;

use landing_api::domain::decision::POLICIES_PER_REQUEST_MAX;
use landing_api::domain::policy::PolicyName;
use serde_json::{Value, json};

use crate::harness::{Call, Setup, TestApp, VISITOR};
use crate::mcp::ask;
use crate::operator;
use crate::twins::ScriptedModelClient;

const HOME: &str = "2001:db8:1:2::1";

fn sign_up(email: &str) -> Call {
    Call::post("/api/v1/newsletter", json!({ "email": email }).to_string())
}

fn chat() -> Call {
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    Call::post("/api/v1/assistant/chat", body.to_string())
}

#[tokio::test]
async fn the_calls_that_most_policies_count_show_all_of_them() {
    let app = Setup {
        model: Arc::new(ScriptedModelClient::default().metered()),
        ..Setup::default()
    }
    .start();
    for (call, policies) in [
        (
            sign_up("ada@example.com"),
            &[
                "default",
                "ip",
                "newsletter",
                "newsletter-ip",
                "newsletter-prefix",
                "newsletter-all",
            ][..],
        ),
        (
            chat(),
            &[
                "default",
                "ip",
                "assistant",
                "assistant-ip",
                "assistant-prefix",
                "assistant-all",
            ],
        ),
    ] {
        assert!(
            policies.len() <= POLICIES_PER_REQUEST_MAX,
            "raise POLICIES_PER_REQUEST_MAX in src/domain/decision.rs"
        );
        let reply = app.send(call).await;
        let listed = reply.header("ratelimit-policy").unwrap();
        let names: Vec<_> = listed.split('"').skip(1).step_by(2).collect();
        assert_eq!(names, policies);
    }
}

/// What a client has used under each policy that counts it.
async fn used(app: &TestApp, client: Value) -> Vec<(String, u64)> {
    let rows = operator::ask(app, "limits show", client).await.unwrap();
    let used = |row: &Value| {
        let policy = row["policy"].as_str().unwrap().to_owned();
        (policy, row["clients"][0]["used"].as_u64().unwrap())
    };
    rows.as_array().unwrap().iter().map(used).collect()
}

async fn reset(app: &TestApp, client: &Value) -> Value {
    operator::ask(app, "limits reset", client.clone())
        .await
        .unwrap()
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(policy, used)| ((*policy).to_owned(), *used))
        .collect()
}

#[tokio::test]
async fn a_network_a_credential_and_an_address_are_shown_as_requests_count_them() {
    for address in [VISITOR, HOME] {
        let app = TestApp::new();
        let key = app
            .send(Call::post("/api/v1/keys", "{}").from(address))
            .await;
        let key = key.json()["api_key"].as_str().unwrap().to_owned();
        let agent = Call::post("/agent/auth", json!({"type": "anonymous"}).to_string());
        let agent = app.send(agent.from(address)).await.json();
        app.send(sign_up("ada@example.com").from(address)).await;
        app.send(sign_up("bob@example.com").from(address)).await;
        app.send(chat().from(address)).await;
        app.send(ask().from(address)).await;
        app.send(ask().from(address).bearer(&key)).await;
        let from_here = json!({ "ip": address });
        let expected = pairs(&[
            ("default", 6),
            ("ip", 7),
            ("keys", 1),
            ("agents", 1),
            ("newsletter-ip", 2),
            ("assistant", 1),
            ("assistant-ip", 3),
            ("newsletter-prefix", 2),
            ("keys-prefix", 1),
        ]);
        let mut of_here = used(&app, from_here.clone()).await;
        of_here.retain(|(_, used)| *used > 0);
        assert_eq!(of_here, expected);
        let with_key = json!({ "key": key });
        let expected = pairs(&[("default", 1), ("assistant", 1)]);
        assert_eq!(used(&app, with_key.clone()).await, expected);
        let token = agent["access_token"].as_str().unwrap();
        app.send(Call::get("/api/v1/health").from(address).bearer(token))
            .await;
        for name in [token, agent["client_id"].as_str().unwrap()] {
            let expected = pairs(&[("default", 1), ("assistant", 0)]);
            assert_eq!(used(&app, json!({ "key": name })).await, expected);
        }
        let sign_up = |ip: &str| json!({"ip": ip, "email": "Ada@example.com"});
        let (here, elsewhere) = (sign_up(address), sign_up("198.51.100.1"));
        assert_eq!(used(&app, here.clone()).await, pairs(&[("newsletter", 1)]));
        assert_eq!(used(&app, elsewhere).await, pairs(&[("newsletter", 0)]));
        // Each is reset without the others.
        assert_eq!(reset(&app, &with_key).await, json!({"windows": 2}));
        let expected = pairs(&[("default", 0), ("assistant", 0)]);
        assert_eq!(used(&app, with_key).await, expected);
        assert_eq!(reset(&app, &here).await, json!({"windows": 1}));
        assert_eq!(used(&app, from_here.clone()).await[1], ("ip".to_owned(), 8));
        let only = json!({"ip": address, "policy": "ip"});
        assert_eq!(reset(&app, &only).await, json!({"windows": 1}));
        // One for each other policy that has counted it.
        assert_eq!(reset(&app, &from_here).await, json!({"windows": 6}));
        let mut left = used(&app, from_here).await;
        // Neighbours share these.
        left.retain(|(policy, _)| !policy.ends_with("-prefix"));
        assert!(left.iter().all(|(_, used)| *used == 0), "{left:?}");
    }
}

#[tokio::test]
async fn what_names_nobody_is_refused() {
    let app = TestApp::new();
    for (params, told) in [
        (json!({"key": "lak_"}), "the id of a key is not enough"),
        (json!({"key": "192.0.2.1"}), "the id of a key is not enough"),
        (json!({"key": "reg_A"}), "the id of a key is not enough"),
        (json!({"key": "lat_A"}), "the id of a key is not enough"),
        (
            json!({"key": "ada@example.com"}),
            "the id of a key is not enough",
        ),
        (json!({"ip": "localhost"}), "ip must be an IP address"),
        (
            json!({"ip": "::1", "email": "ada"}),
            "the address must be an e-mail address",
        ),
        (json!({"policy": "newsleter"}), "no policy has this name"),
        (json!({"client": "xyz"}), "must be a hash"),
    ] {
        for operation in ["limits show", "limits reset"] {
            let answer = operator::ask(&app, operation, params.clone()).await;
            let refused = answer.unwrap_err().to_string();
            assert!(refused.contains(told), "{operation} {params}: {refused}");
        }
    }
    let nobody = operator::ask(&app, "limits reset", json!({})).await;
    assert_eq!(
        nobody.unwrap_err().to_string(),
        "say whose limits are to be reset"
    );
}

#[tokio::test]
async fn every_policy_is_shown_with_its_busiest_windows() {
    let app = Setup::default()
        .limit("keys", "off")
        .limit("newsletter", "1/60s")
        .start();
    for _ in 0..3 {
        app.send(sign_up("ada@example.com")).await;
    }
    app.send(Call::get("/api/v1/health").from("198.51.100.1"))
        .await;
    let show = async |params| operator::ask(&app, "limits show", params).await.unwrap();
    let policies = show(json!({"top": 1})).await;
    let policies = policies.as_array().unwrap();
    let names: Vec<_> = policies.iter().map(|it| it["policy"].as_str()).collect();
    assert_eq!(names, PolicyName::ALL.map(|it| Some(it.as_str())));
    let of = |policy: PolicyName| {
        let found = policies.iter().find(|it| it["policy"] == policy.as_str());
        let found = found.unwrap();
        let busiest = found["clients"].as_array().unwrap().iter();
        let busiest = busiest.map(|it| (it["used"].as_u64().unwrap(), it["remaining"] == 0));
        (found["limit"].as_str(), busiest.collect::<Vec<_>>())
    };
    assert_eq!(of(PolicyName::Ip), (Some("1800/1m"), vec![(3, false)]));
    assert_eq!(of(PolicyName::Newsletter), (Some("1/1m"), vec![(1, true)]));
    assert_eq!(of(PolicyName::NewsletterAll).1, [(1, false)]);
    assert_eq!(of(PolicyName::Keys), (None, vec![]));
    let here = show(json!({"ip": VISITOR})).await;
    let busiest = policies.iter().find(|it| it["policy"] == "ip").unwrap();
    assert_eq!(here[1], *busiest);
    // One policy alone, by its name or a client's hash.
    let hash = busiest["clients"][0]["client"].clone();
    for alone in [
        json!({"policy": "ip", "top": 1}),
        json!({"client": hash, "top": 1}),
    ] {
        assert_eq!(show(alone).await, json!([busiest]));
    }
}
