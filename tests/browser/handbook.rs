//! The pictures in the handbook.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::browser::Browser;
use crate::parts::ANSWERED;
use crate::visit;

/// Takes the picture `name` of the handbook; `.ci/pictures` has it stored.
pub async fn keep_picture(page: &Browser, name: &str) {
    let picture = page.client.screenshot().await;
    assert!(picture.len() < 200_000, "{name}: {}", picture.len());
    if std::env::var_os("LANDING_MAKE_PICTURES").is_some() {
        let handbook = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/handbook");
        fs::write(handbook.join(name), picture).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_page_has_a_picture() {
    let flags = ["--base-url", "https://api.example.com"];
    let visit = visit(&flags).await;
    let page = &visit.browser;
    page.resize(1200, 1150).await;
    let hidden = json!({ "hidden": true });
    page.devtools("Emulation.setScrollbarsHidden", hidden).await;
    page.set_scheme("light").await;
    visit.goto("/").await;
    page.click("landing-chat >>> .suggestion").await;
    page.until(ANSWERED).await;
    page.run("focused().blur(); scrollTo(0, 0)").await;
    keep_picture(page, "page.png").await;
    visit.end().await;
}
