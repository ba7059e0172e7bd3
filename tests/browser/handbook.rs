//! What README and the handbook show: the picture, and the form for another site.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use serde_json::json;

use crate::visit;

/// Set, it has the picture made anew.
const MAKE_PICTURE: &str = "LANDING_MAKE_PICTURE";

/// The block of code in README that begins with the line after this.
const FORM: &str = "```html\n";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A site of another origin whose every page is `body`; returns the origin. It lasts as long as the
/// test.
fn other_site(body: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            // A request is less than that; a connection on which none comes is closed.
            if connection.read(&mut [0; 8192]).is_ok_and(|read| read > 0) {
                let _ = connection.write_all(answer.as_bytes());
            }
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_home_page_has_a_picture() {
    let flags = ["--base-url", "https://api.example.com"];
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        page.resize(1200, 1150).await;
        let hidden = json!({ "hidden": true });
        page.devtools("Emulation.setScrollbarsHidden", hidden).await;
        let light = json!({ "features": [{ "name": "prefers-color-scheme", "value": "light" }] });
        page.devtools("Emulation.setEmulatedMedia", light).await;
        visit.goto("/").await;
        page.click("landing-chat >>> .suggestion").await;
        page.until("find('landing-chat >>> .answer:not(.growing)')")
            .await;
        page.run("focused().blur(); scrollTo(0, 0)").await;
        let picture = page.client.screenshot().await.unwrap();
        assert!(picture.len() < 200_000, "{}", picture.len());
        if std::env::var_os(MAKE_PICTURE).is_some() {
            fs::write(root().join("data/handbook/page.png"), picture).unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_in_readme_works_on_another_site() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, form) = readme.split_once(FORM).unwrap();
    let (form, _) = form.split_once("\n```").unwrap();
    // The page is made before the service has an address; it is asked for by the page's own.
    const PLACE: &str = "https://api.example.com";
    assert!(form.contains(PLACE));
    let script = form.replace(&format!("\"{PLACE}/"), "`${location.hash.slice(1)}/");
    let script = script.replace("/newsletter\",", "/newsletter`,");
    let origin = other_site(format!("<!DOCTYPE html>\n<title>Other</title>\n{script}"));
    let flags = ["--allow-origin", &origin, "--limit", "newsletter=1/15m"];
    let origin = origin.clone();
    visit(&flags, |visit| async move {
        let page = &visit.browser;
        let url = format!("{origin}/#http://{}", visit.service.address);
        page.client.goto(&url).await.unwrap();
        for (address, words) in [
            ("ada@example.com", "Thank you. You are on the list."),
            ("ada@example.com", "Please try again in 15 min."),
            ("ada..b@example.com", "Please check the address."),
        ] {
            page.fill("[name=email]", address).await;
            page.click("#newsletter button").await;
            page.until_text("[role=status]", words).await;
        }
    })
    .await;
}
