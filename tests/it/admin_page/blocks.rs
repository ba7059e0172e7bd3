//! Blocked networks.

use super::Desk;
use crate::harness::{Call, VISITOR};

#[tokio::test]
async fn a_network_is_blocked_and_unblocked_after_a_confirmation() {
    let (desk, login) = Desk::signed_in().await;
    let health = async || desk.app.send(Call::health()).await.status.as_u16();
    desk.get(&login, "/blocks")
        .await
        .check(200, &["No results."]);
    let field = format!("network={VISITOR}");
    let confirm = async |path| desk.confirm(&login, path, &field).await;
    confirm("/blocks/add")
        .await
        .check(200, &["<h1>Blocked</h1>"]);
    assert_eq!(health().await, 403);
    let row = ["/blocks/remove?network=", "2026-11-21 12:00"];
    desk.get(&login, "/blocks").await.check(200, &row);
    let again = confirm("/blocks/add").await;
    again.check(200, &["<h1>Already blocked</h1>"]);
    confirm("/blocks/remove")
        .await
        .check(200, &["<h1>Removed</h1>"]);
    assert_eq!(health().await, 200);
    let told = "<p>This exact network is not blocked; see the list of blocks.</p>";
    confirm("/blocks/remove").await.check(404, &[told]);
}

#[tokio::test]
async fn bad_networks_block_nothing() {
    let (desk, login) = Desk::signed_in().await;
    for bad in ["everyone", "203.0.113.0%2F99", "%3Cb%3E"] {
        let field = format!("network={bad}");
        let shown = desk.confirm(&login, "/blocks/add", &field).await;
        assert_eq!(shown.status, 400, "{bad}");
        assert!(!shown.text.contains("<b>"), "{bad}");
    }
    assert_eq!(desk.get(&login, "/blocks/add").await.status, 400);
    assert!(desk.app.app.blocks.list().is_empty());
}
