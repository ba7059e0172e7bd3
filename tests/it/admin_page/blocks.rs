//! Blocked networks.

use super::Desk;
use crate::harness::{Call, VISITOR};

#[tokio::test]
async fn a_network_is_blocked_and_unblocked_after_a_confirmation() {
    let (desk, login) = Desk::signed_in().await;
    let blocks = async || desk.get(&login, "/blocks").await.text;
    let health = async || desk.app.send(Call::health()).await.status.as_u16();
    assert!(blocks().await.contains("No results."));
    let field = format!("network={VISITOR}");
    let done = desk.confirm(&login, "/blocks/add", &field).await;
    assert!(done.text.contains("<h1>Blocked</h1>"), "{}", done.text);
    assert_eq!(health().await, 403);
    let listed = blocks().await;
    assert!(listed.contains("/blocks/remove?network="), "{listed}");
    assert!(listed.contains("2026-11-21 12:00"), "{listed}");
    let again = desk.confirm(&login, "/blocks/add", &field).await;
    assert!(again.text.contains("<h1>Already blocked</h1>"));
    let done = desk.confirm(&login, "/blocks/remove", &field).await;
    assert!(done.text.contains("<h1>Removed</h1>"), "{}", done.text);
    assert_eq!(health().await, 200);
    let gone = desk.confirm(&login, "/blocks/remove", &field).await;
    assert_eq!(gone.status, 404);
    let told = "<p>This exact network is not blocked; see the list of blocks.</p>";
    assert!(gone.text.contains(told), "{}", gone.text);
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
