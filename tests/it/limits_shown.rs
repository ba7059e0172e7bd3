//! What clients and the operator are shown about limits, and resets.

use crate::mcp::ask;
use crate::operator;
use crate::prelude::*;

const HOME: &str = "2001:db8:1:2::1";

/// What a client has used under each policy that counts it: `default 2, ip 3`.
async fn used(app: &TestApp, client: &Value) -> String {
    let rows = operator::ask(app, "limits show", client.clone()).await;
    let used = |row: &Value| {
        let policy = row["policy"].as_str().unwrap();
        format!("{policy} {}", row["clients"][0]["used"])
    };
    let used: Vec<_> = rows.unwrap().as_array().unwrap().iter().map(used).collect();
    used.join(", ")
}

async fn reset(app: &TestApp, client: &Value) -> Value {
    let answer = operator::ask(app, "limits reset", client.clone()).await;
    answer.unwrap()["windows"].clone()
}

#[tokio::test]
async fn a_network_a_credential_and_an_address_are_shown_as_requests_count_them() {
    for address in [VISITOR, HOME] {
        let app = TestApp::new();
        let send = async |call: Call| app.expect("2xx", call.from(address)).await;
        let key = send(Call::mint()).await.member("api_key");
        let agent = send(Call::register()).await;
        send(Call::sign_up("ada@example.com")).await;
        send(Call::sign_up("bob@example.com")).await;
        send(Call::chat()).await;
        send(ask()).await;
        send(ask().bearer(&key)).await;
        let from_here = json!({ "ip": address });
        assert_eq!(
            used(&app, &from_here).await,
            "default 6, ip 7, keys 1, agents 1, newsletter-ip 2, assistant 1, assistant-ip 3, \
             mail-prefix 0, newsletter-prefix 2, keys-prefix 1, assistant-prefix 0"
        );
        let with_key = json!({ "key": key });
        assert_eq!(used(&app, &with_key).await, "default 1, assistant 1");
        let token = agent.member("access_token");
        send(Call::health().bearer(&token)).await;
        for name in [token, agent.member("client_id")] {
            let agent = json!({ "key": name });
            assert_eq!(used(&app, &agent).await, "default 1, assistant 0");
        }
        let sign_up = |ip: &str| json!({"ip": ip, "email": "Ada@example.com"});
        let (here, elsewhere) = (sign_up(address), sign_up("198.51.100.1"));
        assert_eq!(used(&app, &here).await, "newsletter 1, mail 0");
        assert_eq!(used(&app, &elsewhere).await, "newsletter 0, mail 0");
        let anywhere = json!({"email": "ada@example.com"});
        assert_eq!(used(&app, &anywhere).await, "mail 0");
        // Each is reset without the others.
        assert_eq!(reset(&app, &with_key).await, 2);
        assert_eq!(used(&app, &with_key).await, "default 0, assistant 0");
        assert_eq!(reset(&app, &here).await, 1);
        assert!(used(&app, &from_here).await.contains(", ip 8, "));
        let only = json!({"ip": address, "policy": "ip"});
        assert_eq!(reset(&app, &only).await, 1);
        // One for each other policy that has counted it; neighbours share those of the prefix.
        assert_eq!(reset(&app, &from_here).await, 6);
        assert_eq!(
            used(&app, &from_here).await,
            "default 0, ip 0, keys 0, agents 0, newsletter-ip 0, assistant 0, assistant-ip 0, \
             mail-prefix 0, newsletter-prefix 2, keys-prefix 1, assistant-prefix 0"
        );
    }
}

#[tokio::test]
async fn what_names_nobody_is_refused() {
    let app = TestApp::new();
    let id = "the ID of a key is not enough";
    let email = "the address must be an email address";
    for (params, told) in [
        (json!({"key": "lak_"}), id),
        (json!({"key": "192.0.2.1"}), id),
        (json!({"key": "reg_A"}), id),
        (json!({"key": "lat_A"}), id),
        (json!({"key": "ada@example.com"}), id),
        (json!({"ip": "localhost"}), "ip must be an IP address"),
        (json!({"ip": "::1", "email": "ada"}), email),
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
    let told = nobody.unwrap_err().to_string();
    assert_eq!(told, "specify whose limits to reset");
}

#[tokio::test]
async fn every_policy_is_shown_with_its_busiest_windows() {
    let setup = Setup::default().limit("keys", "off");
    let app = setup.limit("newsletter", "1/60s").start();
    for _ in 0..3 {
        app.send(Call::sign_up("ada@example.com")).await;
    }
    app.send(Call::health().from("198.51.100.1")).await;
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
    let none = show(json!({"top": 0})).await;
    let is_empty = |row: &Value| row["clients"] == json!([]);
    assert!(none.as_array().unwrap().iter().all(is_empty), "{none}");
    let here = show(json!({"ip": VISITOR})).await;
    let busiest = policies.iter().find(|it| it["policy"] == "ip").unwrap();
    assert_eq!(here[1], *busiest);
    // One policy alone, by its name or a client's hash.
    let hash = busiest["clients"][0]["client"].clone();
    for (name, value) in [("policy", json!("ip")), ("client", hash)] {
        assert_eq!(show(json!({name: value, "top": 1})).await, json!([busiest]));
    }
}
