//! Versions of the API: the one that a request asks for, and operations that will be removed.

use hyper::Method;
use landing_api::http::endpoint::Endpoint;
use landing_api::http::router::ENDPOINTS;

use crate::harness::{Call, Reply, Setup, TestApp, is_described};

const ALIAS: &str = "/api/newsletter";
const VERSION: &str = "service-api-version";

fn ada() -> Call {
    Call::sign_up("ada@example.com")
}

#[tokio::test]
async fn the_version_is_confirmed_to_who_asks_for_it_whatever_the_answer() {
    let app = Setup::default().limit("newsletter", "1/1h").start();
    for (status, call) in [
        ("200", Call::health()),
        ("200", Call::head("/api/v1/health")),
        ("200", Call::get("/api/openapi.yaml")),
        ("201", Call::mint()),
        ("200", ada().to(ALIAS)),
        ("429", ada()),
        ("400", ada().body("{}")),
        ("401", Call::health().bearer("nonsense")),
        ("404", Call::get("/api/nothing")),
        ("405", Call::new(Method::PUT, "/api/v1/keys")),
        ("200", Call::chat().header("accept", "text/event-stream")),
    ] {
        let confirmed = app.expect(status, call.clone().header(VERSION, "v1")).await;
        assert_eq!(confirmed.header(VERSION), Some("v1"), "{status}");
        assert_eq!(app.send(call).await.header(VERSION), None, "{status}");
    }
}

/// Which values are no version, the tests of `http::request::head` say.
#[tokio::test]
async fn a_version_that_does_not_exist_is_a_problem_of_its_own_and_does_nothing() {
    let app = TestApp::new();
    for values in [&[&b"v2"[..]][..], &[b"v\xff1"], &[b"v1", b"v1"]] {
        let description = Call::get("/api/openapi.yaml");
        for call in [
            Call::health(),
            Call::mint(),
            ada().to(ALIAS),
            Call::chat(),
            description,
        ] {
            let call = call.headers(VERSION, values);
            let reply = app.expect("400 unsupported_api_version", call).await;
            assert_eq!(reply.header(VERSION), None);
        }
    }
    assert_eq!(app.contacts.len(), 0);
    let quota = app.send(Call::get("/api/v1/assistant/chat")).await;
    assert_eq!(quota.json()["used"], 0);
}

#[tokio::test]
async fn a_request_for_another_version_counts_at_the_door_as_any_other() {
    let app = Setup::default().limit("default", "3/60s").start();
    let other = || Call::health().header(VERSION, "v2");
    for remaining in [2, 1, 0] {
        let reply = app.expect("400", other()).await;
        assert_eq!(reply.remaining(), remaining);
    }
    app.expect("429", other()).await;
}

#[tokio::test]
async fn what_is_wrong_with_credential_path_or_method_is_told_first() {
    let app = TestApp::new();
    for (status, call) in [
        ("401", Call::health().bearer("nonsense")),
        ("404", Call::get("/api/v2/health")),
        ("405", Call::new(Method::DELETE, "/api/v1/health")),
    ] {
        app.expect(status, call.header(VERSION, "v2")).await;
    }
}

#[tokio::test]
async fn outside_the_api_the_header_means_nothing() {
    let app = TestApp::new();
    for value in ["v1", "v2"] {
        for path in ["/docs", "/openapi.json", "/problems/not_found"] {
            let call = Call::get(path).header(VERSION, value);
            let reply = app.expect("200", call).await;
            assert_eq!(reply.header(VERSION), None, "{path}");
        }
    }
}

/// The notice of an answer: `Deprecation` and `Sunset`.
fn notice(reply: &Reply) -> (Option<&str>, Option<&str>) {
    (reply.header("deprecation"), reply.header("sunset"))
}

const SUNSET: &str = "Mon, 01 Mar 2027 12:00:00 GMT";

/// The endpoints, with notice of the sign-up's old path.
pub(crate) fn endpoints_with_notice() -> &'static [&'static Endpoint] {
    const OLD: &str = "/api/newsletter";
    const NEW: &str = "/api/v1/newsletter";
    let mut endpoints = ENDPOINTS.to_vec();
    let at = endpoints.iter().position(|it| it.paths == [NEW, OLD]);
    let both = endpoints.remove(at.unwrap());
    let mut old = *both;
    (old.paths, old.replacement, old.sunset) = (&[OLD], Some(NEW), Some(SUNSET));
    let mut new = *both;
    new.paths = &[NEW];
    endpoints.extend([&*Box::leak(Box::new(old)), Box::leak(Box::new(new))]);
    endpoints.leak()
}

fn with_notice() -> Setup {
    Setup {
        endpoints: endpoints_with_notice(),
        ..Setup::default()
    }
}

#[tokio::test]
async fn an_operation_that_will_be_removed_says_so_in_every_answer() {
    let app = with_notice().limit("newsletter", "1/1h").start();
    let old = || ada().to(ALIAS);
    for (status, call) in [
        ("200", old()),
        ("429", old()),
        ("400", old().body("{}")),
        ("401", old().bearer("nonsense")),
        ("400", old().header(VERSION, "v2")),
        ("415", old().typed("a/b")),
    ] {
        let reply = app.expect(status, call).await;
        assert_eq!(notice(&reply), (Some("true"), Some(SUNSET)), "{status}");
    }
    // Neither its other path nor another method of the path is meant.
    for call in [ada(), Call::get(ALIAS), Call::health(), Call::get("/docs")] {
        assert_eq!(notice(&app.send(call).await), (None, None));
    }
}

#[tokio::test]
async fn just_what_will_be_removed_is_described_as_deprecated_with_its_replacement() {
    assert!(
        ENDPOINTS.iter().all(|it| it.sunset.is_none()),
        "nothing is at present"
    );
    let description = TestApp::new().send(Call::get("/openapi.json")).await.json();
    for endpoint in ENDPOINTS.iter().filter(|endpoint| is_described(endpoint)) {
        assert_eq!(endpoint.replacement.is_some(), endpoint.sunset.is_some());
        for path in endpoint.paths {
            let method = endpoint.method.as_str().to_lowercase();
            let operation = &description["paths"][path][&method];
            let text = operation["description"].as_str().unwrap();
            let is_marked = operation["deprecated"] == true;
            assert_eq!(is_marked, endpoint.sunset.is_some(), "{method} {path}");
            let replacement = endpoint.replacement.unwrap_or_default();
            assert!(text.contains(replacement), "{method} {path}");
        }
    }
}
