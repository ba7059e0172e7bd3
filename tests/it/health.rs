//! `GET /api/v1/health`.

use landing_api::ports::LimiterError;

use crate::prelude::*;

#[tokio::test]
async fn health_tells_the_service_and_where_to_read_on() {
    let app = TestApp::new();
    let reply = app.expect("200", Call::health()).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let health = reply.json();
    assert_eq!(
        health,
        json!({
            "ok": true,
            "service": "Landing API",
            "version": "v1",
            "documentation": "http://landing.example/docs",
            "openapi": "http://landing.example/openapi.json",
        })
    );
    for name in ["documentation", "openapi"] {
        let path = health[name].as_str().unwrap().strip_prefix(app.base_url);
        app.expect("200", Call::get(path.unwrap())).await;
    }
    let head = app.expect("200", Call::head("/api/v1/health")).await;
    for name in ["content-type", "content-length", "ratelimit-policy"] {
        assert_eq!(head.header(name), reply.header(name), "{name}");
    }
}

#[tokio::test]
async fn who_asks_is_told_of_a_failing_store_and_that_its_disk_is_full_but_of_no_cause() {
    let app = TestApp::new();
    let cause = || "the secret cause".to_owned();
    for (failure, begin) in [
        (StoreError::Unavailable(cause()), ""),
        (StoreError::Full(cause()), "The disk is full"),
    ] {
        app.contacts.fail_with(Some(failure.clone()));
        app.keys.fail_with(Some(failure));
        for (outcome, call) in [
            ("503 store_unavailable", Call::health()),
            ("503 store_unavailable", Call::mint()),
            ("503 newsletter_unavailable", Call::sign_up("a@b.example")),
        ] {
            let reply = app.expect(outcome, call).await;
            assert!(reply.member("detail").starts_with(begin));
            reply.check_silent_on("secret");
        }
    }
    app.contacts.fail_with(None);
    app.keys.fail_with(None);
    app.expect("200", Call::health()).await;
}

#[tokio::test]
async fn health_is_503_while_the_limiter_is_away() {
    let limiter = FaultyRateLimiter::new(|call| match call {
        "check" => Err(LimiterError("the secret cause".to_owned())),
        _ => Ok(()),
    });
    let app = Setup::with_limiter(Arc::new(limiter)).start();
    let reply = app.expect("503 limiter_unavailable", Call::health()).await;
    reply.check_silent_on("secret");
}

#[tokio::test]
async fn load_balancers_are_told_of_a_stop_and_of_nothing_else() {
    let app = Setup::default().limit("ip", "1/60s").start();
    let gone = StoreError::Unavailable("gone".to_owned());
    app.contacts.fail_with(Some(gone));
    for _ in 0..3 {
        let probe = Call::get("/livez").bearer("lak_nothing");
        let reply = app.expect("200", probe).await;
        assert_eq!(reply.json(), json!({"live": true}));
        assert_eq!(reply.header("ratelimit-limit"), None);
    }
    // Nothing was counted.
    app.expect("200", Call::get("/docs")).await;
    app.metrics.stopping.cancel();
    app.expect("503", Call::head("/livez")).await;
    app.expect("503 stopping", Call::get("/livez")).await;
}
