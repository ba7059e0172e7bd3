//! Links, sessions, and who is turned away.

use landing_api::operator::page::web::serve_web;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{Desk, FORMS, Login, MENU, Visit};
use crate::prelude::*;

const MINUTE_MS: u64 = 60_000;

#[tokio::test]
async fn a_link_opens_one_session_after_a_click() {
    let desk = Desk::new();
    let link = desk.link();
    let opened = Visit::get(&format!("/login?link={link}"));
    // Programs that look at links do not use it up.
    for method in [Method::GET, Method::HEAD, Method::GET] {
        let mut visit = opened.clone();
        visit.method = method;
        let shown = desk.send(visit).await;
        assert_eq!(shown.status, 200);
        assert_eq!(shown.header("set-cookie"), None);
    }
    // It is opened from a chat or a mail program, which is another site.
    let from_elsewhere = opened
        .clone()
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate")
        .header("sec-fetch-dest", "document");
    let shown = desk.send(from_elsewhere).await;
    shown.check(200, &["<button>Open the admin page</button>"]);

    let form = format!("link={link}");
    let signed_in = desk.send(Visit::post("/login", &form)).await;
    assert_eq!(signed_in.status, 303);
    let cookie = signed_in.header("set-cookie").unwrap().to_owned();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let root = signed_in.header("location").unwrap();
    let expected = format!("Max-Age=43200; Path={root}; HttpOnly; SameSite=Strict");
    assert_eq!(attributes, expected);
    let token = pair.strip_prefix("landing-admin=").unwrap();
    assert_eq!(token.len(), 43);
    assert_ne!(token, link);
    let shown = desk.send(Visit::get(root).header("cookie", pair)).await;
    shown.check(200, &[]);

    // Once, by whichever way.
    for again in [Visit::post("/login", &form), opened] {
        let shown = desk.send(again).await;
        shown.check(403, &["landing-api admin link"]);
        assert_eq!(shown.header("set-cookie"), None);
    }
}

#[tokio::test]
async fn wrong_links_are_told_what_to_do() {
    let desk = Desk::new();
    for token in ["", "x", "%00", "<script>alert(1)</script>"] {
        let link = format!("/login?link={}", token.replace(['<', '>'], "%3C"));
        let form = format!("link={token}");
        for visit in [Visit::get(&link), Visit::post("/login", &form)] {
            let shown = desk.send(visit).await;
            shown.check(
                403,
                &["This link no longer works", "landing-api admin link"],
            );
        }
    }
    assert_eq!(desk.send(Visit::get("/login")).await.status, 403);
}

#[tokio::test]
async fn links_and_sessions_expire() {
    let desk = Desk::new();
    let link = desk.link();
    desk.app.clock.advance_ms(10 * MINUTE_MS - 1);
    let opened = Visit::get(&format!("/login?link={link}"));
    assert_eq!(desk.send(opened.clone()).await.status, 200);
    desk.app.clock.advance_ms(1);
    assert_eq!(desk.send(opened).await.status, 403);
    let form = format!("link={link}");
    assert_eq!(desk.send(Visit::post("/login", &form)).await.status, 403);

    let login = desk.sign_in().await;
    desk.app.clock.advance_ms(12 * 60 * MINUTE_MS - 1);
    let visit = Visit::get("/contacts").of(&login);
    assert_eq!(desk.send(visit.clone()).await.status, 200);
    desk.app.clock.advance_ms(1);
    desk.send(visit).await.check(403, &["Sign in with a link"]);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_no_other() {
    let desk = Desk::new();
    let (one, other) = (desk.sign_in().await, desk.sign_in().await);
    let left = desk.send(Visit::post("/logout", "").of(&one)).await;
    assert_eq!(left.status, 303);
    let end = "HttpOnly; SameSite=Strict";
    let gone = format!("landing-admin=; Max-Age=0; Path={}/; {end}", one.root);
    assert_eq!(left.header("set-cookie"), Some(&*gone));
    assert_eq!(desk.get(&one, "/").await.status, 403);
    assert_eq!(desk.get(&other, "/").await.status, 200);
}

#[tokio::test]
async fn nothing_is_shown_or_done_without_a_session() {
    let (desk, login) = Desk::signed_in().await;
    let pages = MENU.map(|(path, _)| path);
    let more = "/contacts/export /contacts/erase /contacts/show /nowhere".split(' ');
    for path in pages.into_iter().chain(more) {
        for stranger in ["", "landing-admin=", "landing-admin=x", "other=1"] {
            let cookie = stranger.to_owned();
            let root = login.root.clone();
            let shown = desk.get(&Login { cookie, root }, path).await;
            shown.check(403, &["Sign in with a link"]);
            assert!(!shown.text.contains("<nav"), "{path}");
        }
    }
    desk.sign_up("ada@example.com").await;
    for path in FORMS.split(' ') {
        let form = Visit::post(path, "email=ada%40example.com");
        assert_eq!(desk.send(form).await.status, 403, "{path}");
    }
    assert!(desk.is_known("ada@example.com").await);
    // The cookie is found among those of other services.
    let mut many = login.clone();
    many.cookie = format!("a=b; landing-admin=old;{} ; c=\u{e9}", login.cookie);
    assert_eq!(desk.get(&many, "/").await.status, 200);
}

/// Browsers send the cookies of 127.0.0.1 to each of its ports.
#[tokio::test]
async fn a_session_is_below_a_path_of_its_own_and_its_cookie_goes_nowhere_else() {
    let desk = Desk::new();
    let (login, other) = (desk.sign_in().await, desk.sign_in().await);
    assert_eq!(login.root.len(), 33);
    assert_ne!(login.root, other.root);
    assert!(!login.cookie.contains(&login.root[1..]));
    // All that a page leads to is there, but for what has no session.
    let shown = desk.send(Visit::get("/contacts").of(&login)).await.text;
    for attribute in ["href=\"", "action=\""] {
        for link in shown.split(attribute).skip(1) {
            let is_public = ["/style.css\"", "/icon.svg\"", "#content\""];
            let is_public = is_public.iter().any(|it| link.starts_with(it));
            assert!(is_public || link.starts_with(&login.root), "{link:.60}");
        }
    }
    let below = |root: &str| Login {
        root: root.to_owned(),
        ..login.clone()
    };
    let wrong = [&login.root[..32], &login.root.to_uppercase()];
    for root in ["", "/x", &other.root].into_iter().chain(wrong) {
        for path in ["/", "/contacts", "/contacts/export"] {
            let shown = desk.get(&below(root), path).await;
            shown.check(403, &["your session has its own address"]);
        }
    }
    desk.sign_up("ada@example.com").await;
    let erase = Visit::post("/contacts/erase", "email=ada%40example.com").of(&below(""));
    assert_eq!(desk.send(erase).await.status, 403);
    assert!(desk.is_known("ada@example.com").await);
}

#[tokio::test]
async fn requests_of_other_pages_do_nothing() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up("ada@example.com").await;
    let form = "email=ada%40example.com".to_owned();
    let good = Visit::post("/contacts/erase", &form).of(&login);
    let with = |name, value| good.clone().header(name, value);
    let without = |name| good.clone().without(name);
    let from = |origin| without("sec-fetch-site").header("origin", origin);
    let sending = |form: String| Visit {
        body: form,
        ..good.clone()
    };
    let cross_site = with("sec-fetch-site", "cross-site");
    let navigation = cross_site.clone().header("sec-fetch-mode", "navigate");
    for (visit, status) in [
        (with("host", "evil.example"), 421),
        (with("host", "192.0.2.1:9090"), 421),
        (without("host"), 421),
        (cross_site, 403),
        (with("sec-fetch-site", "same-site"), 403),
        (navigation.header("sec-fetch-dest", "document"), 403),
        (from("https://evil.example"), 403),
        (with("content-type", "text/plain"), 415),
        (without("content-type"), 415),
        (sending(format!("{form}&x={}", "x".repeat(17_000))), 413),
    ] {
        let headers = format!("{:?}", visit.headers);
        assert_eq!(desk.send(visit).await.status, status, "{headers}");
        assert!(desk.is_known("ada@example.com").await, "{headers}");
    }
    for path in FORMS.split(' ') {
        let form = Visit::post(path, "").of(&login);
        let stolen = form.header("sec-fetch-site", "cross-site");
        assert_eq!(desk.send(stolen).await.status, 403, "{path}");
    }
    // Nor do they read anything.
    let read = |name, value| Visit::get("/contacts").of(&login).header(name, value);
    for (visit, status) in [
        (read("sec-fetch-site", "cross-site"), 403),
        (read("sec-fetch-site", "same-site"), 403),
        (read("host", "evil.example"), 421),
    ] {
        assert_eq!(desk.send(visit).await.status, status);
    }
}

/// Nobody else knows the path of a session, and the cookie alone opens no other.
#[tokio::test]
async fn a_form_is_sent_below_the_path_of_its_session_alone() {
    let desk = Desk::new();
    let (login, other) = (desk.sign_in().await, desk.sign_in().await);
    desk.sign_up("ada@example.com").await;
    // Without these headers nobody but a program can have sent it.
    let plain = Visit::post("/contacts/erase", "email=ada%40example.com")
        .without("sec-fetch-site")
        .without("origin");
    for (cookie, root) in [
        (&other.cookie, &login.root),
        (&login.cookie, &String::new()),
    ] {
        let (cookie, root) = (cookie.clone(), root.clone());
        let stranger = plain.clone().of(&Login { cookie, root });
        assert_eq!(desk.send(stranger).await.status, 403);
        assert!(desk.is_known("ada@example.com").await);
    }
    assert_eq!(desk.send(plain.of(&login)).await.status, 200);
    assert!(!desk.is_known("ada@example.com").await);
}

#[tokio::test]
async fn every_page_takes_its_methods_and_no_others() {
    let (desk, login) = Desk::signed_in().await;
    for (path, name) in MENU {
        let shown = desk.get(&login, path).await;
        let here = format!("<a href=\"{path}\" aria-current=\"page\">{name}</a>");
        shown.check(200, &[&here]);
        let media_type = shown.header("content-type");
        assert_eq!(media_type, Some("text/html; charset=utf-8"));
        let head = Visit::new(Method::HEAD, path).of(&login);
        assert_eq!(desk.send(head).await.status, 200, "{path}");
    }
    for (method, path, allowed) in [
        (Method::POST, "/", "GET, HEAD"),
        (Method::DELETE, "/contacts", "GET, HEAD"),
        (Method::PUT, "/contacts/erase", "GET, HEAD, POST"),
        (Method::GET, "/logout", "POST"),
        (Method::GET, "/warning/put-away", "POST"),
        (Method::OPTIONS, "/login", "GET, HEAD, POST"),
        (Method::POST, "/style.css", "GET, HEAD"),
    ] {
        let mut visit = Visit::new(method, path);
        if !["/login", "/style.css"].contains(&path) {
            visit = visit.of(&login);
        }
        let shown = desk.send(visit).await;
        assert_eq!(shown.status, 405, "{path}");
        assert_eq!(shown.header("allow"), Some(allowed), "{path}");
    }
    for path in "/nowhere /contacts/ // /Keys /api/v1/health /docs".split(' ') {
        desk.get(&login, path).await.check(404, &["Page not found"]);
    }
    for (path, media_type) in [("/style.css", "text/css"), ("/icon.svg", "image/svg+xml")] {
        let shown = desk.send(Visit::get(path)).await;
        shown.check(200, &[]);
        assert_eq!(shown.header("content-type"), Some(media_type));
    }
}

#[tokio::test]
async fn the_65th_connection_waits_and_is_served_then() {
    const LIVE: &[u8] = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (page, stop) = (Arc::new(Desk::new().page), CancellationToken::new());
    tokio::spawn(serve_web(listener.into(), page, stop.clone()));
    let _stop = stop.drop_guard();
    let mut open = Vec::new();
    let mut answer = [0; 12];
    for _ in 0..64 {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(LIVE).await.unwrap();
        connection.read_exact(&mut answer).await.unwrap();
        open.push(connection);
    }
    let mut waiting = TcpStream::connect(address).await.unwrap();
    waiting.write_all(LIVE).await.unwrap();
    let early = timeout(Duration::from_millis(100), waiting.peek(&mut answer));
    assert!(early.await.is_err(), "served beside 64 others");
    open.pop();
    waiting.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}
