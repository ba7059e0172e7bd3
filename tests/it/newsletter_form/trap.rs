//! The field that people do not see.

use super::{PATH, THANKS, assert_nothing_done, form, leads_to, taken};
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
    assert!(app.contact("ada@example.com").await.is_some());
}

/// What is in a form with a trap hides it by itself: no style sheet may be there.
#[tokio::test]
async fn the_trap_of_every_form_is_hidden_by_its_own_attributes() {
    let app = TestApp::new();
    for path in ["/", "/newsletter", "/newsletter?lang=de", "/embed"] {
        let call = Call::get(path).header("accept", "text/html");
        let page = app.expect("200", call).await;
        // The code to copy is escaped.
        let text = page.text().replace("&lt;", "<").replace("&gt;", ">");
        for (at, _) in text.match_indices("name=\"website\"") {
            let before = &text[..at];
            let wrapper = before.rfind("<p").map(|start| &before[start..]).unwrap();
            assert!(wrapper.starts_with("<p hidden"), "{path}: {wrapper}");
        }
    }
    let script = app.expect("200", Call::get("/embed.js")).await;
    assert!(!script.text().contains("unseen"));
    assert!(!script.text().contains("location.origin"));
}
