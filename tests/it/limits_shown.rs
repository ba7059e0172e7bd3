//! What the operator is shown about limits, and resets.

use std::net::IpAddr;

use landing_api::domain::client::Network;
use landing_api::domain::email::EmailAddress;
use landing_api::domain::policy::PolicyName;
use landing_api::usecases::limits::{
    ClientIdentity, WindowUsage, reset_identity, show_identity, show_limits,
};
use serde_json::json;

use crate::harness::{Call, NOW, Setup, TestApp, VISITOR};
use crate::mcp::ask;

const HOME: &str = "2001:db8:1:2::1";

fn network(address: &str) -> Network {
    Network::from(address.parse::<IpAddr>().unwrap())
}

fn sign_up(email: &str) -> Call {
    Call::post("/api/v1/newsletter", json!({ "email": email }).to_string())
}

fn chat() -> Call {
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    Call::post("/api/v1/assistant/chat", body.to_string())
}

/// What an identity has used under each policy that counts it.
async fn used(app: &TestApp, identity: ClientIdentity<'_>) -> Vec<(&'static str, u32)> {
    let usages = show_identity(app.app().meter(), identity, NOW)
        .await
        .unwrap();
    let used = |it: &WindowUsage| (it.standing.policy.as_str(), it.standing.used());
    usages.iter().map(used).collect()
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
        let from_here = ClientIdentity::Network(network(address));
        let expected = [
            ("default", 6),
            ("ip", 7),
            ("keys", 1),
            ("agents", 1),
            ("newsletter-ip", 2),
            ("assistant", 1),
            ("assistant-ip", 3),
            ("newsletter-form", 0),
        ];
        assert_eq!(used(&app, from_here).await, expected);
        let secrets = &app.app().secrets;
        let identity = |text| ClientIdentity::from_credential(text, secrets).unwrap();
        let with_key = identity(&key);
        assert_eq!(
            used(&app, with_key).await,
            [("default", 1), ("assistant", 1)]
        );
        let token = agent["access_token"].as_str().unwrap();
        app.send(Call::get("/api/v1/health").from(address).bearer(token))
            .await;
        for name in [token, agent["client_id"].as_str().unwrap()] {
            assert_eq!(
                used(&app, identity(name)).await,
                [("default", 1), ("assistant", 0)]
            );
        }
        let ada = EmailAddress::parse("ada@example.com").unwrap();
        let sign_up = ClientIdentity::SignUp(network(address), &ada);
        assert_eq!(used(&app, sign_up).await, [("newsletter", 1)]);
        let elsewhere = ClientIdentity::SignUp(network("198.51.100.1"), &ada);
        assert_eq!(used(&app, elsewhere).await, [("newsletter", 0)]);
        // Each is reset without the others.
        let meter = app.app().meter();
        assert_eq!(reset_identity(meter, with_key, None).await, Ok(2));
        assert_eq!(
            used(&app, with_key).await,
            [("default", 0), ("assistant", 0)]
        );
        assert_eq!(reset_identity(meter, sign_up, None).await, Ok(1));
        assert_eq!(used(&app, from_here).await[1], ("ip", 8));
        assert_eq!(reset_identity(meter, from_here, None).await, Ok(8));
        assert!(
            used(&app, from_here)
                .await
                .iter()
                .all(|(_, used)| *used == 0)
        );
    }
}

#[tokio::test]
async fn what_is_no_credential_names_nobody() {
    let app = TestApp::new();
    for text in ["", "lak_", "192.0.2.1", "reg_A", "lat_A", "ada@example.com"] {
        assert_eq!(
            ClientIdentity::from_credential(text, &app.app().secrets),
            None
        );
    }
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
    let policies = show_limits(app.app().meter(), 1, NOW).await.unwrap();
    let names: Vec<_> = policies.iter().map(|it| it.policy).collect();
    assert_eq!(names, PolicyName::ALL);
    let of = |policy: PolicyName| {
        let found = &policies[usize::from(policy.tag())];
        let busiest = found.busiest.iter();
        let busiest = busiest.map(|it| (it.standing.used(), it.standing.is_violated));
        (
            found.quota.map(|it| it.to_string()),
            busiest.collect::<Vec<_>>(),
        )
    };
    assert_eq!(
        of(PolicyName::Ip),
        (Some("1800/1m".to_owned()), vec![(3, false)])
    );
    assert_eq!(
        of(PolicyName::Newsletter),
        (Some("1/1m".to_owned()), vec![(1, true)])
    );
    assert_eq!(of(PolicyName::NewsletterAll).1, [(1, false)]);
    assert_eq!(of(PolicyName::Keys), (None, vec![]));
    let here = ClientIdentity::Network(network(VISITOR));
    let here = show_identity(app.app().meter(), here, NOW).await.unwrap();
    let busiest = &policies[usize::from(PolicyName::Ip.tag())].busiest[0];
    assert_eq!(here[1], *busiest);
}
