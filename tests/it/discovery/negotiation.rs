//! One path, several forms: the client's `Accept` chooses.

use super::{HTML, MARKDOWN, app, get};
use crate::prelude::*;

/// Pages and where their Markdown is.
const PAGES: &[(&str, &str)] = &[
    ("/", "/index.md"),
    ("/developers", "/developers.md"),
    ("/docs", "/docs.md"),
    ("/docs/reference", "/docs/reference.md"),
    ("/auth", "/auth.md"),
    ("/problems/rate_limited", "/problems/rate_limited.md"),
];

/// What a client accepts, and the form that it gets. The rules, the tests of `http::request::negotiate` have.
const ACCEPTED: &str = "
                                      | html
*/*                                   | html
text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8 | html
text/markdown                         | markdown
TEXT/MARKDOWN; charset=utf-8          | markdown
";

#[tokio::test]
async fn a_page_is_markdown_for_who_asks_for_that_and_html_for_anybody_else() {
    let app = app();
    for &(page, twin) in PAGES {
        let asked = rows(ACCEPTED).map(|[accept, form]| (Some(accept), form));
        for (accept, form) in asked.chain([(None, "html"), (Some("\u{ff}"), "html")]) {
            let media_type = if form == "html" { HTML } else { MARKDOWN };
            let mut call = Call::get(page);
            if let Some(accept) = accept {
                call = call.header("accept", accept);
            }
            let reply = app.expect("200", call).await;
            assert_eq!(reply.header("content-type"), Some(media_type), "{accept:?}");
            let begin = if form == "html" {
                "<!DOCTYPE html>"
            } else {
                "# "
            };
            assert!(reply.text().starts_with(begin), "{page} {accept:?}");
            if media_type == MARKDOWN {
                // That is Markdown for anybody.
                let twin = Call::get(twin).header("accept", "text/html");
                let twin = app.expect("200", twin).await;
                assert_eq!(reply.body, twin.body);
                for name in ["content-type", "etag"] {
                    assert_eq!(reply.header(name), twin.header(name), "{page}");
                }
            }
        }
    }
}

#[tokio::test]
async fn each_form_has_a_tag_of_its_own() {
    let app = app();
    for (page, media_type) in [
        ("/", "text/markdown"),
        ("/auth", "text/markdown"),
        ("/.well-known/jwks.json", "application/jwk-set+json"),
        ("/.well-known/ard.json", "application/ai-catalog+json"),
    ] {
        let default = get(&app, page).await;
        let ask = || Call::get(page).header("accept", media_type);
        let other = app.send(ask()).await;
        let (default, other) = (default.header("etag"), other.header("etag"));
        assert_ne!(default, other, "{page}");
        for (tag, status) in [(default, 200), (other, 304)] {
            let reply = app.send(ask().header("if-none-match", tag.unwrap())).await;
            assert_eq!(reply.status, status, "{page}");
            assert_eq!(reply.header("etag"), other);
        }
    }
}

/// What a client accepts, and the type that it gets.
const OF_THE_CATALOG: &str = "
*/*                                                 | application/json
application/*                                       | application/json
application/json                                    | application/json
application/json, application/ai-catalog+json;q=0.9 | application/json
text/html                                           | application/json
application/ai-catalog+json                         | application/ai-catalog+json
application/json, application/ai-catalog+json       | application/ai-catalog+json
application/ai-catalog+json, */*;q=0.1              | application/ai-catalog+json
";

#[tokio::test]
async fn the_catalog_has_its_own_type_for_who_names_it() {
    let app = app();
    for path in ["/.well-known/ai-catalog.json", "/.well-known/ard.json"] {
        for [accept, media_type] in rows(OF_THE_CATALOG) {
            let call = Call::get(path).header("accept", accept);
            let reply = app.send(call).await;
            assert_eq!(reply.header("content-type"), Some(media_type), "{accept}");
        }
    }
}

#[tokio::test]
async fn a_page_points_to_its_twin() {
    let app = app();
    for &(page, twin) in PAGES {
        let reply = get(&app, page).await;
        let link = reply.header("link").unwrap();
        let expected = format!("<{twin}>; rel=\"alternate\"; type=\"text/markdown\"");
        assert!(link.ends_with(&expected), "{link}");
        let expected = format!("<link rel=\"alternate\" type=\"text/markdown\" href=\"{twin}\">");
        assert!(reply.text().contains(&expected), "{page}");
    }
}
