//! The rate limits.

use landing_api::domain::client::{LimitKey, Network, Subject};
use landing_api::domain::policy::PolicyName;

use super::{Desk, Visit};
use crate::harness::{Call, Setup, VISITOR};

async fn policies(desk: &Desk, cookie: &str) -> String {
    let shown = desk.send(Visit::get("/policies").cookie(cookie)).await;
    shown.text
}

#[tokio::test]
async fn the_busiest_identities_are_shown_and_reset() {
    let desk = Desk::over(
        Setup::default()
            .limit("ip", "2/60s")
            .limit("keys-all", "off"),
    );
    let cookie = desk.sign_in().await;
    assert!(
        policies(&desk, &cookie)
            .await
            .contains("Nothing is counted now.")
    );
    let health = || Call::get("/api/v1/health");
    for status in [200, 200, 429] {
        assert_eq!(desk.app.send(health()).await.status, status);
    }
    let network = Network::from(VISITOR.parse::<std::net::IpAddr>().unwrap());
    let key = LimitKey::new(
        &desk.app.app.secrets.limiter,
        PolicyName::Ip,
        Subject::Network(network),
    );
    let key = key.to_hex();
    let shown = policies(&desk, &cookie).await;
    assert!(
        shown.contains(&key) && shown.contains("0 (refused)"),
        "{shown}"
    );
    assert!(!shown.contains(VISITOR));
    assert!(shown.contains("ip: 2&#x2f;1m for each network"));
    assert!(shown.contains("keys-all</th><td role=\"cell\" data-name=\"Limit\">off</td>"));

    let done = desk
        .confirm(&cookie, "/policies/reset", &format!("client={key}"))
        .await;
    assert!(done.text.contains("<h1>Reset</h1>"), "{}", done.text);
    assert_eq!(desk.app.send(health()).await.status, 200);
    let again = format!("client={}", "05".repeat(16));
    let again = desk.confirm(&cookie, "/policies/reset", &again).await;
    assert!(again.text.contains("<h1>Nothing to reset</h1>"));
    let all = desk
        .confirm(&cookie, "/policies/reset", "policy=default")
        .await;
    assert!(all.text.contains("<h1>Reset</h1>"));
    for bad in [
        "",
        "policy=",
        "policy=all",
        "client=ff",
        "client=%3Cb%3E",
        "policy=%3Cb%3E",
    ] {
        let path = format!("/policies/reset?{bad}");
        let asked = desk.send(Visit::get(&path).cookie(&cookie)).await;
        assert_eq!(asked.status, 400, "{bad}");
        assert!(asked.text.contains("Nothing was done."));
    }
}
