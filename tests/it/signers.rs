//! The log, `limits show` and the filter of contacts have one name for a client.

use crate::operator::{ask, refused};
use crate::prelude::*;

const DAY_MS: u64 = 86_400_000;

/// Signs an address up, and returns what the log calls the client.
async fn sign_up(app: &TestApp, name: &str, call: impl Fn(Call) -> Call) -> String {
    let call = call(Call::sign_up(&format!("{name}@example.com")));
    let (_, log) = logged_async(app.expect("200", call)).await;
    let (_, rest) = log.split_once(" client=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn names(app: &TestApp, filter: Value) -> Vec<String> {
    let listed = ask(app, "contacts list", filter.clone()).await.unwrap();
    let rows = listed.as_array().unwrap();
    let counted = ask(app, "contacts count", filter).await.unwrap();
    assert_eq!(counted["contacts"], rows.len());
    let name = |row: &Value| row["email"].as_str().unwrap().replace("@example.com", "");
    rows.iter().map(name).collect()
}

/// What `limits show` says of the busiest client of a policy.
async fn busiest(app: &TestApp, policy: &str) -> Value {
    let params = json!({"policy": policy, "top": 1});
    let shown = ask(app, "limits show", params).await.unwrap();
    shown[0]["clients"][0].clone()
}

#[tokio::test]
async fn who_fills_a_limit_is_who_the_log_names_and_what_it_brought_is_found() {
    let app = Setup::default().start();
    let attacker = |call: Call| call.from("203.0.113.7");
    let in_log = sign_up(&app, "x1", attacker).await;
    for name in ["x2", "x3"] {
        assert_eq!(sign_up(&app, name, attacker).await, in_log);
    }
    sign_up(&app, "ada", |call| call).await;
    let shown = busiest(&app, "newsletter-ip").await;
    assert_eq!(shown["name"], *in_log);
    assert_eq!(busiest(&app, "ip").await["name"], *in_log);
    assert_eq!(busiest(&app, "newsletter").await["name"], Value::Null);
    let of_address = ask(&app, "limits show", json!({"ip": "203.0.113.7"})).await;
    assert_eq!(of_address.unwrap()[1]["clients"][0]["name"], *in_log);
    for name in [&json!(in_log), &shown["client"], &json!("203.0.113.7")] {
        let filter = json!({"signed_by": name});
        assert_eq!(names(&app, filter).await, ["x1", "x2", "x3"], "{name}");
    }
    let until = json!({"signed_by": in_log, "until": "2026-11-21"});
    assert!(names(&app, until).await.is_empty());

    // The name of yesterday's log is that of yesterday's sign-ups.
    app.clock.advance_ms(DAY_MS);
    let today = sign_up(&app, "x4", attacker).await;
    assert_ne!(today, in_log);
    let all = ["x1", "x2", "x3", "x4"];
    assert_eq!(names(&app, json!({"signed_by": in_log})).await, all[..3]);
    assert_eq!(names(&app, json!({"signed_by": today})).await, all);
}

#[tokio::test]
async fn a_header_that_is_not_believed_hides_nobody() {
    let app = TestApp::new();
    let forged = |call: Call| call.header("x-forwarded-for", "192.0.2.1");
    let in_log = sign_up(&app, "x", |call| forged(call.from("203.0.113.7"))).await;
    for name in [&in_log, "203.0.113.7"] {
        assert_eq!(names(&app, json!({"signed_by": name})).await, ["x"]);
    }
}

#[tokio::test]
async fn a_credential_is_a_signer_too() {
    let app = TestApp::new();
    let key = &*app.mint().await;
    for (name, address) in [("x1", "203.0.113.7"), ("x2", "198.51.100.7")] {
        sign_up(&app, name, |call| call.from(address).bearer(key)).await;
    }
    let shown = ask(&app, "limits show", json!({"key": key})).await.unwrap();
    let client = &shown[0]["clients"][0];
    let filter = json!({"signed_by": client["client"]});
    assert_eq!(names(&app, filter).await, ["x1", "x2"], "{shown}");
    // The log names networks.
    assert_eq!(client["name"], Value::Null);
}

#[tokio::test]
async fn only_the_last_four_signers_are_known() {
    let app = TestApp::new();
    for host in 1..=5 {
        sign_up(&app, "ada", |call| call.from(&format!("203.0.113.{host}"))).await;
    }
    for (host, expected) in [(1, &[][..]), (2, &["ada"]), (5, &["ada"]), (6, &[])] {
        let filter = json!({"signed_by": format!("203.0.113.{host}")});
        assert_eq!(names(&app, filter).await, expected, "{host}");
    }
}

#[tokio::test]
async fn what_names_nobody_is_refused() {
    let app = TestApp::new();
    sign_up(&app, "ada", |call| call).await;
    let pair = busiest(&app, "newsletter").await["client"].clone();
    let no_name = "--signed-by must be a client's name in the log";
    for (name, message) in [
        (json!("somebody"), no_name),
        (json!("203.0.113.0/24"), no_name),
        (json!("9c1f02"), "8 or 32 hexadecimal digits"),
        (pair, "must not be the hash of a policy"),
    ] {
        for words in ["contacts list", "contacts count"] {
            let refused = refused(ask(&app, words, json!({"signed_by": name})).await);
            assert!(refused.contains(message), "{name}: {refused}");
        }
    }
    let unknown = json!({"signed_by": "00000000"});
    assert!(names(&app, unknown).await.is_empty());
}
