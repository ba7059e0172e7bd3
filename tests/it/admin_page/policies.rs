//! The rate limits.

use landing_api::domain::client::{LimitKey, Network, Subject};
use landing_api::domain::pseudonym::Pseudonym;

use super::Desk;
use crate::prelude::*;

#[tokio::test]
async fn the_busiest_identities_are_shown_and_reset() {
    let limited = Setup::default().limit("ip", "2/60s");
    let desk = Desk::over(limited.limit("keys-all", "off"));
    let login = desk.sign_in().await;
    let policies = async || desk.get(&login, "/policies").await.text;
    let reset = async |field: &str| desk.confirm(&login, "/policies/reset", field).await;
    assert!(policies().await.contains("There are currently no counts."));
    let health = || Call::get("/api/v1/health");
    for status in [200, 200, 429] {
        assert_eq!(desk.app.send(health()).await.status, status);
    }
    let network = Network::from(VISITOR.parse::<std::net::IpAddr>().unwrap());
    let secret = &desk.app.app.secrets.limiter;
    let hash = network.hashed(secret);
    let key = LimitKey::new(secret, PolicyName::Ip, Subject::Network(hash)).to_hex();
    let shown = policies().await;
    let name = Pseudonym::new(&desk.app.app.secrets, hash, NOW);
    assert!(shown.contains(&format!("<code>{key}</code> {name}</th>")));
    assert!(!shown.contains(VISITOR));
    for part in [
        &*key,
        "0 (refused)",
        "ip: 2&#x2f;1m for each network",
        "keys-all</th><td role=\"cell\" data-name=\"Limit\">off</td>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    let done = reset(&format!("client={key}")).await;
    done.check(200, &["<h1>Reset</h1>"]);
    assert_eq!(desk.app.send(health()).await.status, 200);
    let unknown = reset(&format!("client={}", "05".repeat(16))).await;
    unknown.check(200, &["<h1>Nothing to reset</h1>"]);
    reset("policy=default")
        .await
        .check(200, &["<h1>Reset</h1>"]);
    for bad in " policy= policy=all client=ff client=%3Cb%3E policy=%3Cb%3E".split(' ') {
        let asked = desk.get(&login, &format!("/policies/reset?{bad}")).await;
        asked.check(400, &["Nothing was done."]);
    }
}
