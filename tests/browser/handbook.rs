//! What the handbook shows: the picture.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::parts::ANSWERED;
use crate::visit;

/// Set, it has the picture made anew.
const MAKE_PICTURE: &str = "LANDING_MAKE_PICTURE";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_page_has_a_picture() {
    let flags = ["--base-url", "https://api.example.com"];
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        page.resize(1200, 1150).await;
        let hidden = json!({ "hidden": true });
        page.devtools("Emulation.setScrollbarsHidden", hidden).await;
        page.set_scheme("light").await;
        visit.goto("/").await;
        page.click("landing-chat >>> .suggestion").await;
        page.until(ANSWERED).await;
        page.run("focused().blur(); scrollTo(0, 0)").await;
        let picture = page.client.screenshot().await.unwrap();
        assert!(picture.len() < 200_000, "{}", picture.len());
        if std::env::var_os(MAKE_PICTURE).is_some() {
            fs::write(root().join("data/handbook/page.png"), picture).unwrap();
        }
    })
    .await;
}
