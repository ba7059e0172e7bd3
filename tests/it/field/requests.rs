//! Requests as clients and proxies write them.

use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::{Method, Request};
use landing_api::http::router::ENDPOINTS;
use proptest::prelude::*;

use crate::harness::{Call, Setup, TestApp};
use crate::transport::{Server, connect_http_2, server};

const FORM: &str = "/newsletter";
const SHOP: &str = "https://shop.example";
const THANKS: &str = "/newsletter/thanks?lang=en";

async fn check_kept(app: &TestApp, call: Call, email: &str) {
    let reply = app.expect("303", call).await;
    assert_eq!(reply.header("location"), Some(THANKS));
    assert!(app.contact(email).await.is_some(), "{email}");
}

fn utf16(text: &str, is_little: bool) -> Vec<u8> {
    let units = text.encode_utf16();
    let bytes = |unit: u16| match is_little {
        true => unit.to_le_bytes(),
        false => unit.to_be_bytes(),
    };
    units.flat_map(bytes).collect()
}

#[tokio::test]
async fn every_json_body_may_begin_with_a_byte_order_mark() {
    let app = TestApp::new();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for (path, body) in [
        ("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#),
        ("/api/v1/sandbox/echo", r#"{"message":"hello"}"#),
        (
            "/api/v1/assistant/chat",
            r#"{"messages":[{"role":"user","content":"hi"}]}"#,
        ),
        ("/api/v1/keys", "{}"),
        ("/agent/auth", r#"{"type":"anonymous"}"#),
        ("/mcp", ping),
    ] {
        let marked = format!("\u{feff}{body}");
        app.expect("2xx", Call::post(path, marked.clone())).await;
        for (text, is_little) in [
            (&*marked, true),
            (&marked, false),
            (body, true),
            (body, false),
        ] {
            let wide = Call::post(path, utf16(text, is_little));
            app.expect("400", wide).await.check_shows(&["UTF-16"]);
        }
        let gzip = Call::post(path, &b"\x1f\x8b\x08\0"[..]);
        app.expect("400", gzip).await.check_shows(&["gzip"]);
    }
}

#[tokio::test]
async fn a_part_of_a_form_that_nobody_reads_refuses_nothing() {
    let app = TestApp::new();
    for (number, more) in [
        &b"&discount=100%"[..],
        b"&discount=%zz&x=%",
        b"&name=Andr\xe9&%ff=1&\xff",
        b"&x=1&x=2&_charset_=utf-8",
        b"&_charset_=%",
        b"&&=&===&%",
        b"&name=%E9%20%u20AC",
        b"&a[]=1&a[]=2;b",
    ]
    .into_iter()
    .enumerate()
    {
        for (place, first) in [("before", false), ("behind", true)] {
            let email = format!("{place}{number}@example.com");
            let field = format!("email={}", email.replace('@', "%40"));
            let body = match first {
                true => [field.as_bytes(), more].concat(),
                false => [&more[1..], b"&", field.as_bytes()].concat(),
            };
            check_kept(&app, Call::form(FORM, body), &email).await;
        }
    }
}

/// A part of a form, which a delimiter has to follow.
fn part(head: &[u8], value: &[u8]) -> Vec<u8> {
    [b"--e\r\n", head, b"\r\n\r\n", value, b"\r\n"].concat()
}

#[tokio::test]
async fn a_part_of_multipart_that_nobody_reads_refuses_nothing() {
    let app = TestApp::new();
    let file = part(
        b"Content-Disposition: form-data; name=\"cv\"; filename=\"a;b\xe9.pdf\"\r\nContent-Type: x",
        b"%PDF\xff\xfe\0",
    );
    // Broken heads, names that are no text, no name.
    let heads = [
        &b"no header at all"[..],
        b"Content-Disposition: \xff\xfe=; =",
        b"Content-Disposition: form-data; name=\"\xff\"",
        b"Content-Type: text/plain",
    ];
    let broken = heads.map(|head| (part(head, b"x"), b"--e--".to_vec()));
    let others = [
        (file.clone(), b"--e--\r\n".to_vec()),
        (vec![], [&file[..], b"--e--"].concat()),
        (b"--e\r\n--e\r\n\r\n".to_vec(), b"--e--".to_vec()),
        (b"a preamble\r\n".to_vec(), b"--e--\r\nan epilogue".to_vec()),
        // The last part breaks off.
        (vec![], file[..60].to_vec()),
        (vec![], file[..file.len() - 4].to_vec()),
    ];
    for (number, (before, behind)) in broken.into_iter().chain(others).enumerate() {
        let email = format!("ada{number}@example.com");
        let head = b"content-disposition:form-data;NAME=email";
        let own = part(head, email.as_bytes());
        let call = Call::post(FORM, [before, own, behind].concat());
        let call = call.typed("Multipart/Form-Data; charset=\"UTF-8\"; Boundary=\"e\"");
        check_kept(&app, call, &email).await;
    }
}

#[tokio::test]
async fn a_broken_field_that_is_read_is_named() {
    let app = TestApp::new();
    for (name, body) in [
        ("email", &b"email=ada%40example.com%"[..]),
        ("email", b"email=Andr\xe9%40example.com"),
        ("website", b"email=ada%40example.com&website=%zz"),
        ("lang", b"lang=%&email=ada%40example.com"),
        ("source", b"email=ada%40example.com&source=%ff"),
        ("redirect", b"email=a%40example.com&redirect=/%c3"),
        ("email", b"email=a%40example.com&email=b%40example.com"),
    ] {
        let reply = app.expect("400", Call::form(FORM, body)).await;
        reply.check_shows(&[&format!("couldn’t read the field \u{201c}{name}\u{201d}")]);
    }
    assert!(app.contacts.is_empty());
}

#[tokio::test]
async fn headers_and_queries_that_nobody_reads_refuse_nothing() {
    const LENIENT: &[u8] = b"text/\xff, */*;q=0.1, ;;q=, application/json;q=x";
    let app = Setup::default().allowing(&[SHOP]).start();
    for (name, value) in [
        ("accept", LENIENT),
        ("accept-language", b"\xff, de;q=\xff, x-, *;q=2"),
        ("accept-encoding", b"\xff;q=0.1,,"),
        ("accept-charset", b"\xff"),
        ("referer", b"https://[::1/\xff"),
        ("cookie", b"\xff=\xff; =; assistant=\xff; ;;a"),
        ("origin", b"https://shop.example."),
        ("if-none-match", b"\xff, \"\xff"),
        ("if-modified-since", b"Sunday, 06-Nov-94 08:49:37 GMT"),
        ("range", b"bytes=-1, x"),
        ("content-encoding", b"identity"),
        ("content-type", b"APPLICATION/JSON ; charset=\"UTF-8\""),
        ("content-type", b"application/json; charset=latin1; \xff"),
        ("authorization", b"Basic \xff"),
        ("forwarded", b"\xff"),
        ("x-forwarded-for", b"\xff, unknown"),
        ("user-agent", b"\xff\xfe"),
    ] {
        for call in [
            Call::sign_up("ada@example.com"),
            Call::sign_up("ada@example.com").to("/api/v1/newsletter?source=%&x=%zz&lang=%ff"),
            Call::chat(),
        ] {
            let call = call.without(name).header(name, value);
            app.expect("200", call).await;
            app.clock.advance_ms(24 * 3_600_000);
        }
        let docs = Call::get("/docs?%&lang=%zz").header(name, value);
        app.expect("200", docs).await;
    }
}

#[tokio::test]
async fn a_list_in_several_lines_is_one_list() {
    let app = Setup::default().behind(&["192.0.2.0/24"]).start();
    let accept = [&b"text/html;q=0.5, \xff"[..], b"text/markdown"];
    let docs = || Call::get("/docs");
    let reply = app.send(docs().headers("accept", &accept)).await;
    let markdown = Some("text/markdown; charset=utf-8");
    assert_eq!(reply.header("content-type"), markdown);
    let languages = [&b"\xff, en;q=0.1"[..], b"fr;q=0.2,de_AT;q=.9"];
    let form = Call::get(FORM).headers("accept-language", &languages);
    let reply = app.send(form).await;
    assert_eq!(reply.header("content-language"), Some("de"));
    let page = app.send(docs()).await;
    let etag = page.header("etag").unwrap();
    let again = docs().headers("if-none-match", &[&b"\"\xff\", \"a\""[..], etag.as_bytes()]);
    app.expect("304", again).await;
    // The last proxy's line is the second one.
    let hops = ["198.51.100.1", "203.0.113.1, 192.0.2.7"];
    let of = |call: Call| call.headers("x-forwarded-for", &hops);
    assert_eq!(app.send(of(Call::health())).await.shown(), "default 599");
    let other = Call::health().header("x-forwarded-for", "203.0.113.1");
    assert_eq!(app.send(other).await.shown(), "default 598");
    // The quota cookie is in the third line.
    let reply = app.send(Call::chat()).await;
    let (cookie, _) = reply.header("set-cookie").unwrap().split_once(';').unwrap();
    let cookies = ["a=b; c", "\u{e9}", cookie];
    let reply = app.send(Call::chat().headers("cookie", &cookies)).await;
    assert_eq!(reply.shown(), "assistant 8");
}

#[tokio::test]
async fn crumbs_of_cookies_count_as_one_header() {
    let server = server().await;
    let (mut sender, connection) = connect_http_2(&server).await;
    tokio::spawn(connection);
    for (crumbs, others, status) in [
        (1, 0, 200),
        (101, 0, 200),
        (200, 99, 200),
        (101, 100, 400),
        (0, 101, 400),
    ] {
        let mut request = Request::get("http://a/api/v1/health");
        for number in 0..crumbs {
            request = request.header("cookie", format!("c{number}=1"));
        }
        for number in 0..others {
            request = request.header(format!("x{number}"), "1");
        }
        let request = request.body(Empty::<Bytes>::new()).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), status, "{crumbs} {others}");
    }
}

#[tokio::test]
async fn hosts_and_origins_are_compared_as_names() {
    let setup = Setup::at("https://landing.example");
    let app = setup.allowing(&[SHOP]).start();
    for (origin, is_admitted) in [
        ("https://shop.example.", true),
        ("https://SHOP.example:443", true),
        ("https://landing.example.", true),
        ("HTTPS://Landing.Example:443", true),
        ("https://shop.example:444", false),
        ("http://shop.example", false),
        ("https://shop.example..", false),
        ("https://shop.example.evil.example", false),
    ] {
        // Without a media type only our own pages and allowed ones may call.
        let call = Call::sign_up("ada@example.com").header("origin", origin);
        let status = if is_admitted { "200" } else { "415" };
        let reply = app.expect(status, call.without("content-type")).await;
        let is_shop = is_admitted && origin.to_ascii_lowercase().contains("shop");
        // A browser compares it with what it sent.
        let echoed = reply.header("access-control-allow-origin");
        assert_eq!(echoed, is_shop.then_some(origin));
    }
}

#[tokio::test]
async fn options_tell_the_methods_of_every_known_path() {
    let app = TestApp::new();
    let paths = ENDPOINTS.iter().flat_map(|endpoint| endpoint.paths);
    let paths = paths.map(|path| path.replace("{token}", "x"));
    for path in paths.chain(["/", "/docs", "/embed.js", "*"].map(str::to_owned)) {
        let reply = app.expect("204", Call::new(Method::OPTIONS, &path)).await;
        let allow = reply.header("allow").unwrap();
        let is_told = allow.contains("GET, HEAD") || allow == "POST";
        assert!(is_told, "{path}: {allow}");
    }
    for path in ["/nowhere", "/api", "/docs/"] {
        app.expect("404", Call::new(Method::OPTIONS, path)).await;
    }
    app.expect("404", Call::get("*")).await;
}

#[tokio::test]
async fn a_balancers_check_is_answered_without_a_host() {
    let server = Server::start(Setup::default(), Default::default()).await;
    for (line, status) in [
        ("OPTIONS / HTTP/1.0", "204"),
        ("OPTIONS * HTTP/1.0", "204"),
        ("OPTIONS * HTTP/1.1\r\nHost: a", "204"),
        ("OPTIONS http://a/docs HTTP/1.1\r\nHost: b", "204"),
        ("OPTIONS /nowhere HTTP/1.0", "404"),
        ("OPTIONS / HTTP/1.1", "400"),
        ("HEAD / HTTP/1.0", "200"),
        ("GET http://a HTTP/1.1\r\nHost: a", "200"),
        ("GET HTTP://a:80/docs HTTP/1.1\r\nHost: b", "200"),
    ] {
        let mut connection = server.connect().await;
        let request = format!("{line}\r\nConnection: close\r\n\r\n");
        connection.send(request).await;
        let answer = connection.rest().await;
        let answer = String::from_utf8_lossy(&answer);
        let found = answer.split(' ').nth(1);
        assert_eq!(found, Some(status), "{line}: {answer:.300}");
        let tells = answer.contains("\r\nallow: ");
        assert_eq!(tells, status == "204", "{line}: {answer:.300}");
    }
}

#[tokio::test]
async fn expectations_and_lengths_are_read_in_any_case() {
    let server = server().await;
    let body = r#"{"message":"hello"}"#;
    for expect in ["100-continue", "100-Continue", "100-CONTINUE"] {
        let mut connection = server.connect().await;
        let head = format!(
            "POST /api/v1/sandbox/echo HTTP/1.1\r\nhost: a\r\nEXPECT: {expect}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        connection.send(head).await;
        assert_eq!(connection.receive().await.0, 100);
        connection.send(body).await;
        assert_eq!(connection.receive().await.0, 200);
    }
}

#[tokio::test]
async fn links_of_nobody_are_counted_and_good_ones_never() {
    let app = Setup::default().limit("ip", "3/60s").start();
    let sign_up = Call::sign_up("ada@example.com").from("198.51.100.1");
    app.expect("200", sign_up).await;
    let contact = app.contact("ada@example.com").await.unwrap();
    let token = contact.leave_token.unwrap().to_string();
    let unknown = "0".repeat(32);
    for (page, token, status) in [
        ("leave", &*unknown, "200"),
        ("confirm", &unknown, "200"),
        ("leave", "x", "200"),
        ("leave", &unknown, "429"),
        ("confirm", &unknown, "429"),
        ("leave", &token, "200"),
        ("confirm", &token, "200"),
    ] {
        let path = format!("/newsletter/{page}/{token}");
        app.expect(status, Call::get(&path)).await;
    }
    let one_click = |token: &str| {
        let path = format!("/newsletter/leave/{token}");
        Call::form(&path, "List-Unsubscribe=One-Click")
    };
    app.expect("429", one_click(&unknown)).await;
    app.expect("200", one_click(&token)).await;
    app.expect("429", Call::health()).await;
    app.clock.advance_ms(60_000);
    app.expect("200", one_click(&unknown)).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_answered(body: Vec<u8>, header in "[\\x20-\\x7e\\u{80}-\\u{ff}]{0,80}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let app = Setup::default().allowing(&[SHOP]).limit("ip", "off").start();
            let odd = |call: Call, name: &str| call.without(name).header(name, header.as_bytes());
            for call in [
                Call::form(FORM, body.clone()),
                Call::post(FORM, body.clone()).typed("multipart/form-data; boundary=e"),
                odd(Call::post(FORM, body.clone()), "content-type"),
                Call::post("/api/v1/newsletter", body.clone()),
                Call::form("/oauth2/token", body.clone()),
                Call::post("/mcp", body),
                odd(Call::chat(), "cookie"),
                odd(Call::chat(), "origin"),
                odd(Call::health(), "host"),
                odd(Call::get("/docs"), "accept"),
                odd(Call::get("/docs"), "if-none-match"),
                odd(Call::health(), "authorization"),
            ] {
                assert!(app.send(call).await.status.as_u16() < 500);
            }
        });
    }
}
