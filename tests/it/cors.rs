//! Pages of other origins.

use hyper::header::HeaderName;

use crate::prelude::*;
use crate::versions::endpoints_with_notice;

const SHOP: &str = "https://shop.example";
const EVIL: &str = "https://evil.example";

fn setup() -> Setup {
    Setup::default().allowing(&[SHOP, "http://127.0.0.1:3000"])
}

fn cors_headers(reply: &Reply) -> Vec<&str> {
    let names = reply.headers.keys().map(HeaderName::as_str);
    let of_cors = |name: &&str| name.starts_with("access-control-");
    names.filter(of_cors).collect()
}

/// The page that asked learns nothing.
fn check_no_cors(reply: &Reply) {
    assert_eq!(cors_headers(reply), [""; 0]);
}

/// Fails unless a preflight is told these: origin, methods, headers, and for how long.
fn check_headers(reply: &Reply, expected: &str) {
    let names = ["allow-origin", "allow-methods", "allow-headers", "max-age"];
    let told = names.map(|name| reply.header(&format!("access-control-{name}")).unwrap());
    assert_eq!(told.join(" | "), expected);
}

/// An answer that a page of `origin` may read.
fn check_readable(reply: &Reply, origin: &str) {
    assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
    let allows = reply.header("access-control-allow-credentials");
    assert_eq!(allows, Some("true"));
    assert!(reply.header("access-control-expose-headers").is_some());
    assert_eq!(cors_headers(reply).len(), 3);
    assert_eq!(reply.header("vary"), Some("Origin"));
}

/// Calls with an answer of every kind and status that the API has.
fn calls() -> [(&'static str, Call); 23] {
    let keys = |method| Call::new(method, "/api/v1/keys");
    let sign_up = || Call::sign_up("ada@example.com");
    let grant = "grant_type=client_credentials";
    [
        ("200", Call::health()),
        ("200", Call::head("/api/v1/health")),
        ("200", keys(Method::GET).header("service-api-version", "v1")),
        ("201", Call::mint()),
        ("200", Call::get("/api/v1/sandbox/echo")),
        ("200", Call::echo()),
        ("200", Call::get("/api/v1/assistant/chat")),
        ("200", Call::chat()),
        ("200", Call::chat().header("accept", "text/event-stream")),
        ("200", Call::chat().to("/api/assistant/chat")),
        ("200", sign_up().to("/api/newsletter")),
        ("400", sign_up().body("{}")),
        ("201", Call::register()),
        ("200", Call::revocation("nonsense")),
        ("400", Call::post("/agent/auth/claim", "{}")),
        ("401", Call::form("/oauth2/token", grant)),
        ("400", Call::get("/oauth2/authorize")),
        ("404", Call::get("/oauth2/nothing")),
        ("401", Call::health().bearer("nonsense")),
        ("404", Call::get("/api/v1/nothing")),
        ("405", keys(Method::DELETE)),
        ("413", Call::echo().body(vec![b' '; 100_000])),
        ("415", sign_up().typed("text/plain")),
    ]
}

#[tokio::test]
async fn an_allowed_origin_may_read_every_answer_and_exactly_the_headers_that_are_sent() {
    let setup = Setup {
        endpoints: endpoints_with_notice(),
        ..setup()
    };
    let app = setup.limit("default", "100/60s").start();
    let mut sent = BTreeSet::from(["date".to_owned()]);
    let mut exposed = BTreeSet::new();
    let mut note = |reply: &Reply| {
        check_readable(reply, SHOP);
        let names = reply.headers.keys().map(ToString::to_string);
        sent.extend(names.filter(|name| !name.starts_with("access-control-")));
        let list = reply.header("access-control-expose-headers").unwrap();
        exposed.extend(list.split(", ").map(str::to_owned));
    };
    for (status, call) in calls() {
        note(&app.expect(status, call.header("origin", SHOP)).await);
    }
    let health = || Call::health().header("origin", SHOP);
    let failure = StoreError::Unavailable("disk on fire".to_owned());
    app.contacts.fail_with(Some(failure));
    note(&app.expect("503", health()).await);
    while app.send(Call::health()).await.remaining() > 0 {}
    note(&app.expect("429", health()).await);

    for readable_anyway in ["cache-control", "content-length", "content-type", "pragma"] {
        assert!(sent.remove(readable_anyway));
    }
    assert!(sent.remove("set-cookie"), "no script may read it");
    assert_eq!(exposed, sent);
}

#[tokio::test]
async fn other_origins_are_served_and_told_nothing() {
    let app = setup().start();
    for origin in [
        EVIL,
        "null",
        "*",
        "",
        "http://shop.example",
        "https://shop.example:444",
        "https://shop.example.evil.example",
        "https://evil-shop.example",
        "https://shop.example/",
        "https://SHOP.example:8443",
        "https://shop.example https://evil.example",
        "https://shop.example, https://evil.example",
    ] {
        let served = Call::health().header("origin", origin);
        let reply = app.expect("200", served).await;
        check_no_cors(&reply);
        assert_eq!(reply.header("vary"), Some("Origin"), "{origin}");
        let preflight = Call::preflight("/api/v1/health", origin);
        check_no_cors(&app.expect("204", preflight).await);
    }
    let two = Call::health().headers("origin", &[SHOP, SHOP]);
    check_no_cors(&app.send(two).await);
    let none = app.send(Call::health()).await;
    check_no_cors(&none);
    assert_eq!(none.header("vary"), Some("Origin"));
}

#[tokio::test]
async fn any_page_may_read_a_document_and_what_goes_wrong_with_it() {
    for origins in [&[SHOP][..], &[]] {
        let app = Setup::default().allowing(origins);
        let app = app.limit("default", "7/60s").start();
        for (status, call) in [
            ("200", Call::get("/docs")),
            ("200", Call::get("/openapi.json")),
            ("200", Call::head("/index.md")),
            ("200", Call::get("/problems/not_found")),
            ("304", Call::get("/docs").header("if-none-match", "*")),
            ("200", Call::get("/docs").bearer("nonsense")),
            ("405", Call::post("/docs", "{}")),
            ("429", Call::get("/docs")),
        ] {
            for origin in [SHOP, EVIL] {
                // Preflights are free.
                let reply = app.expect("204", Call::preflight("/docs", origin)).await;
                check_headers(&reply, "* | GET, HEAD | * | 7200");
                assert_eq!(cors_headers(&reply).len(), 4);
            }
            let reply = app.expect(status, call.header("origin", EVIL)).await;
            assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
            assert_eq!(cors_headers(&reply).len(), 2);
            assert_eq!(reply.header("access-control-expose-headers"), Some("*"));
        }
        for path in ["/nothing", "/.well-known/nothing", "/problems/nothing"] {
            let call = Call::preflight(path, SHOP).from("192.0.2.9");
            check_no_cors(&app.expect("404", call).await);
        }
    }
}

#[tokio::test]
async fn a_preflight_is_told_what_the_path_takes() {
    let app = setup().start();
    for (path, methods) in [
        ("/api/v1/health", "GET, HEAD"),
        ("/api/v1/keys", "GET, HEAD, POST"),
        ("/api/v1/sandbox/echo", "GET, HEAD, POST"),
        ("/api/v1/newsletter", "POST"),
        ("/api/newsletter", "POST"),
        ("/api/v1/assistant/chat?x", "GET, HEAD, POST"),
        ("/api/assistant/chat", "GET, HEAD, POST"),
        ("/agent/auth", "POST"),
        ("/agent/auth/revoke", "POST"),
        ("/oauth2/token", "POST"),
        ("/mcp", "POST"),
    ] {
        let reply = app.expect("204", Call::preflight(path, SHOP)).await;
        let sent = "accept, authorization, content-type, mcp-method, mcp-name, \
                    mcp-protocol-version, service-api-version, x-api-key";
        check_headers(&reply, &format!("{SHOP} | {methods} | {sent} | 7200"));
        let allows = reply.header("access-control-allow-credentials");
        assert_eq!(allows, Some("true"));
        let vary = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";
        assert_eq!(reply.header("vary"), Some(vary));
        assert_eq!(cors_headers(&reply).len(), 5);
    }
}

#[tokio::test]
async fn preflights_are_free_even_when_nothing_is_left() {
    let app = setup().limit("default", "2/60s").start();
    let preflight = |origin: &str| Call::preflight("/api/v1/newsletter", origin);
    for _ in 0..50 {
        for origin in [SHOP, EVIL] {
            app.expect("204", preflight(origin)).await;
        }
    }
    for left in ["default 1", "default 0"] {
        app.expect_left(left, Call::health()).await;
    }
    app.expect("204", preflight(SHOP)).await;
}

#[tokio::test]
async fn what_is_no_preflight_is_counted_as_ever() {
    let app = setup().start();
    // Other OPTIONS are as free, and tell what is allowed.
    let plain = || Call::new(Method::OPTIONS, "/api/v1/keys");
    let asking = |call: Call| call.header("access-control-request-method", "POST");
    for call in [plain(), plain().header("origin", SHOP), asking(plain())] {
        let reply = app.expect("204", call).await;
        assert_eq!(reply.header("allow"), Some("GET, HEAD, POST"));
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    let unknown = Call::preflight("/api/v1/nothing", SHOP);
    let get = asking(Call::get("/api/v1/keys").header("origin", SHOP));
    for (status, call, left) in [("404", unknown, "default 599"), ("200", get, "default 598")] {
        assert_eq!(app.expect(status, call).await.shown(), left);
    }
}

#[tokio::test]
async fn without_allowed_origins_there_is_no_cors() {
    let app = TestApp::new();
    let reply = app.send(Call::health().header("origin", SHOP)).await;
    check_no_cors(&reply);
    assert_eq!(reply.header("vary"), None);
    let preflight = Call::preflight("/api/v1/health", SHOP);
    check_no_cors(&app.expect("204", preflight).await);
}
