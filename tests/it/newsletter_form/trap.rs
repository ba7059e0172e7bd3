//! The field that people do not see.

use super::{PATH, THANKS, assert_nothing_done, form, is_kept, leads_to, taken};
use crate::harness::{Call, TestApp};

#[tokio::test]
async fn a_filled_trap_looks_like_a_success_and_keeps_nothing() {
    let app = TestApp::new();
    for body in [
        "email=ada@example.com&website=https://spam.example",
        "email=nonsense&website=x",
    ] {
        leads_to(&app, form(body), THANKS).await;
    }
    let body = "email=ada@example.com&website=x&redirect=/docs&lang=fr";
    leads_to(&app, form(body), "/docs").await;
    assert_eq!(app.metrics.trapped_forms.get(), 3);
    assert_nothing_done(&app);
    // People do not see it, and leave it empty.
    let shown = app.send(Call::get(PATH)).await;
    let field = "name=\"website\" tabindex=\"-1\" autocomplete=\"off\"";
    assert!(shown.text().contains(field));
    taken(&app, form("email=ada@example.com&lang=en&website=")).await;
    assert!(is_kept(&app, "ada@example.com").await);
}
