//! Blocked networks: one decision at the door, and the file that keeps it over restarts.

use landing_api::adapters::files::data_dir;
use landing_api::ports::BlockList;

use crate::prelude::*;

async fn block(app: &TestApp, cidr: &str) {
    assert_eq!(app.blocks.add(network(cidr), NOW).await, Ok(true));
}

#[tokio::test]
async fn every_request_of_a_blocked_network_is_refused_and_none_is_counted() {
    let app = Setup::default().limit("default", "1/60s").start();
    block(&app, "192.0.2.0/24").await;
    let preflight = Call::new(Method::OPTIONS, "/api/v1/newsletter")
        .header("origin", "https://www.example.com")
        .header("access-control-request-method", "POST");
    let calls = [
        Call::get("/api/v1/health"),
        Call::get("/livez"),
        Call::get("/docs"),
        Call::get("/nothing"),
        Call::new(Method::HEAD, "/docs"),
        Call::new(Method::PUT, "/api/v1/keys"),
        Call::get("/docs").without("host"),
        Call::get("/docs").header("accept", "text/html"),
        Call::post("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#),
        Call::post("/api/v1/newsletter", "%"),
        Call::post("/agent/auth", r#"{"type":"anonymous"}"#),
        Call::post("/mcp", "{}"),
        Call::get("/api/v1/health").bearer("nonsense"),
        preflight,
    ];
    for call in calls {
        let reply = app.expect("403", call).await;
        for absent in ["ratelimit", "ratelimit-policy", "www-authenticate", "allow"] {
            assert_eq!(reply.header(absent), None, "{absent}");
        }
    }
    let ours = Call::get("/api/v1/health").from("192.0.3.1");
    app.expect("200", ours).await;
    assert_eq!(app.blocks.remove(network("192.0.2.0/24")).await, Ok(true));
    // Nothing was counted meanwhile.
    app.expect("200", Call::get("/api/v1/health")).await;
}

#[tokio::test]
async fn the_client_decides_and_not_the_proxy() {
    const BOTH: &str = "192.0.2.1, 198.51.100.7";
    for (blocked, peer, forwarded, status) in [
        ("192.0.2.0/24", "192.0.2.1", None, 403),
        ("192.0.2.0/24", "10.0.0.1", Some("192.0.2.1"), 403),
        ("192.0.2.0/24", "10.0.0.1", Some("::ffff:192.0.2.1"), 403),
        ("192.0.2.0/24", "10.0.0.1", Some("64:ff9b::192.0.2.1"), 403),
        ("192.0.2.0/24", "10.0.0.1", Some(BOTH), 200),
        ("192.0.2.0/24", "10.0.0.1", Some("198.51.100.7"), 200),
        // Who is no proxy names nobody else.
        ("192.0.2.0/24", "198.51.100.7", Some("192.0.2.1"), 200),
        ("192.0.2.0/24", "192.0.2.1", Some("198.51.100.7"), 403),
        // What a proxy asks for itself.
        ("10.0.0.0/24", "10.0.0.1", None, 403),
        ("10.0.0.0/24", "10.0.0.1", Some("198.51.100.7"), 200),
        ("2001:db8:0:100::/56", "2001:db8:0:1ff::1", None, 403),
        ("2001:db8:0:100::/56", "2001:db8:0:200::1", None, 200),
    ] {
        let app = Setup::default().behind(&["10.0.0.0/8"]).start();
        block(&app, blocked).await;
        let hops: Vec<_> = forwarded.into_iter().collect();
        let call = Call::health().from(peer).headers("x-forwarded-for", &hops);
        let told = format!("{blocked}: {}", call.told());
        assert_eq!(app.send(call).await.status.as_u16(), status, "{told}");
    }
}

#[tokio::test]
async fn a_restart_finds_what_was_blocked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(data_dir::BLOCKS);
    let open = || FileBlockList::open(Some(path.clone())).unwrap();
    let list = open();
    assert_eq!(list.add(network("192.0.2.0/24"), START).await, Ok(true));
    let list = open();
    let [block] = list.list().try_into().unwrap();
    assert_eq!(block.network, network("192.0.2.0/24"));
    assert_eq!(block.since, START);
    assert_eq!(list.add(network("192.0.2.0/24"), START).await, Ok(false));
    assert!(list.is_blocked("192.0.2.1".parse().unwrap()));
    assert_eq!(list.remove(network("192.0.2.0/24")).await, Ok(true));
    assert!(!open().is_blocked("192.0.2.1".parse().unwrap()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
}

#[tokio::test]
async fn a_change_that_is_not_written_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gone").join(data_dir::BLOCKS);
    let whole = network("192.0.2.0/24");
    for path in [Some(path), None] {
        let list = FileBlockList::open(path).unwrap();
        let refused = list.add(whole, START).await;
        let is_away = matches!(refused, Err(StoreError::Unavailable(_)));
        assert!(is_away, "{refused:?}");
        assert_eq!(list.list(), []);
        assert!(!list.is_blocked("192.0.2.1".parse().unwrap()));
    }
}

#[test]
fn a_start_with_a_file_that_cannot_be_read_is_refused_by_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(data_dir::BLOCKS);
    let told = "line 2 is not a blocked network";
    let good = json!({"network": "192.0.2.0/24", "since": "2026-11-25T16:00:00.000Z"});
    let edits = [
        ("/24", "/0"),
        (".0/24", ".1/24"),
        ("2026", "now"),
        ("}", ",\"more\":1}"),
    ];
    let edited = edits.map(|(part, other)| good.to_string().replace(part, other));
    let others = ["192.0.2.0/24", "{}", ""].map(str::to_owned);
    for bad in edited.into_iter().chain(others) {
        fs::write(&path, format!("{good}\n{bad}\n{good}\n")).unwrap();
        let refused = FileBlockList::open(Some(path.clone())).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(told), "{bad}: {refused}");
        assert!(!refused.contains("192.0.2"), "{refused}");
    }
    let start = || Ran::of(&mut command(dir.path()));
    start().refused(1, &format!("blocks.jsonl: {told}"));
    let check = || {
        let checked = Ran::of(landing_api(&["check", "--data-dir"]).arg(dir.path()));
        assert_eq!(checked.status, Some(2));
        checked.out
    };
    assert!(check().contains(told));
    fs::remove_file(&path).unwrap();
    make_fifo(&path);
    start().refused(1, "blocks.jsonl: is not a regular file");
    assert!(check().contains("is not a regular file"));
}
