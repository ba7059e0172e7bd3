//! GET, HEAD, 304, 405 and the headers that go with them.

use std::collections::HashSet;

use hyper::HeaderMap;

use super::{DOCUMENTS, SKILL, app, documents, get};
use crate::prelude::*;

/// The headers but for what is of the one request.
fn lasting(mut headers: HeaderMap) -> HeaderMap {
    headers.remove("x-request-id").unwrap();
    // Below /api they count down.
    headers.remove("ratelimit");
    headers.remove("ratelimit-remaining");
    headers
}

#[tokio::test]
async fn every_document_has_its_type_and_what_a_cache_needs() {
    let app = app();
    let mut tags = HashSet::new();
    for (path, media_type) in documents() {
        let reply = get(&app, path).await;
        assert_eq!(reply.header("content-type"), Some(media_type), "{path}");
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        assert_eq!(reply.header("access-control-expose-headers"), Some("*"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        let cache_control = match path.starts_with("/api/") {
            // It shows the rate limits, as everything there.
            true => "no-store",
            false => "public, max-age=300",
        };
        assert_eq!(reply.header("cache-control"), Some(cache_control), "{path}");
        let tag = reply.header("etag").unwrap();
        assert!(tag.starts_with('"') && tag.ends_with('"') && tag.len() > 20);
        // Only these have the same bytes under the same type as others.
        if !["/.well-known/ard.json", "/favicon.ico"].contains(&path) {
            assert!(tags.insert(tag.to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn head_tells_what_get_tells() {
    let app = app();
    for (path, _) in documents() {
        for accept in ["*/*", "text/markdown", "application/ai-catalog+json"] {
            let ask = |method| Call::new(method, path).header("accept", accept);
            let got = app.send(ask(Method::GET)).await;
            let head = app.send(ask(Method::HEAD)).await;
            assert_eq!(head.status, got.status, "{path}");
            assert_eq!(lasting(head.headers), lasting(got.headers), "{path}");
        }
    }
}

#[tokio::test]
async fn other_methods_are_told_which_there_are() {
    let app = app();
    for (path, _) in documents() {
        for method in ["POST", "PUT", "PATCH", "DELETE", "QUERY"] {
            let call = Call::new(Method::from_bytes(method.as_bytes()).unwrap(), path);
            let reply = app.expect("405 method_not_allowed", call).await;
            assert_eq!(reply.header("allow"), Some("GET, HEAD"), "{path}");
        }
    }
}

/// How tags are compared, the tests of `http::answer::documents` say.
#[tokio::test]
async fn whoever_has_it_gets_it_no_second_time() {
    let app = app();
    for (path, _) in documents() {
        let whole = get(&app, path).await;
        let tag = whole.header("etag").unwrap();
        let quotes = "\"".repeat(4000);
        for (list, status) in [
            (tag, "304"),
            (&format!("\"other\", W/{tag}"), "304"),
            ("*", "304"),
            ("\"other\"", "200"),
            (&tag.to_ascii_uppercase(), "200"),
            (&quotes, "200"),
        ] {
            for method in [Method::GET, Method::HEAD] {
                let call = Call::new(method, path).header("if-none-match", list);
                let reply = app.expect(status, call).await;
                for name in "etag vary cache-control access-control-allow-origin".split(' ') {
                    assert_eq!(reply.header(name), whole.header(name), "{path} {name}");
                }
                if status == "304" {
                    assert!(reply.body.is_empty());
                    for name in ["content-type", "content-length", "link"] {
                        assert_eq!(reply.header(name), None, "{path} {name}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_document_with_forms_says_so_on_every_answer() {
    let app = app();
    for [path, _, vary] in rows(DOCUMENTS) {
        for call in [
            Call::get(path),
            Call::new(Method::HEAD, path),
            Call::get(path).header("accept", "text/markdown"),
            Call::get(path).header("if-none-match", "*"),
        ] {
            let reply = app.send(call).await;
            let names = reply.header("vary").unwrap_or_default().split(", ");
            let names: Vec<_> = names.filter(|name| *name != "Accept-Encoding").collect();
            assert_eq!(names.join(", "), vary, "{path}");
        }
    }
}

const UNKNOWN: &str = "
/.well-known
/.well-known/
/.well-known/nothing
/.well-known/security.txt
/.well-known/agent-card.json
/.well-known/oauth-protected-resource/
/.well-known/oauth-protected-resource/mcp
/.well-known/OAuth-Protected-Resource
/.well-known/agent-skills
/.well-known/agent-skills/other/SKILL.md
/.well-known/agent-skills/public-landing-api/
/.well-known/../robots.txt
/.well-known/%6acp.json
/favicon.png
/index.html
/INDEX.MD
/docs.html
/problems/not_found.md.md
/style.css.md
";

#[tokio::test]
async fn an_unknown_well_known_path_is_a_real_404() {
    let app = app();
    for path in UNKNOWN.trim().lines() {
        for method in [Method::GET, Method::HEAD, Method::POST] {
            let reply = app.expect("404", Call::new(method, path)).await;
            let media_type = reply.header("content-type");
            assert_eq!(media_type, Some("application/problem+json"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_query_and_what_a_request_says_of_its_host_change_nothing() {
    let app = app();
    for (path, _) in documents().chain([(SKILL, "")]) {
        let plain = get(&app, path).await;
        let call = Call::get(&format!("{path}?utm_source=x&y=%00"))
            .without("host")
            .header("host", "evil.example")
            .header("x-forwarded-host", "evil.example")
            .header("x-forwarded-proto", "gopher")
            .header("x-original-url", "/evil")
            .header("forwarded", "host=evil.example;proto=gopher")
            .header("origin", "https://evil.example")
            .header("referer", "https://evil.example/");
        let reply = app.send(call).await;
        assert_eq!(reply.body, plain.body, "{path}");
        assert_eq!(lasting(reply.headers), lasting(plain.headers), "{path}");
    }
}
