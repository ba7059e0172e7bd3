//! `Strict-Transport-Security` (RFC 6797).

use crate::prelude::*;

#[tokio::test]
async fn every_answer_tells_browsers_to_insist_on_https_if_that_is_set() {
    for (max_age_s, expected) in [
        (Some(31_536_000), Some("max-age=31536000")),
        (Some(0), Some("max-age=0")),
        (None, None),
    ] {
        let app = Setup {
            base_url: "https://landing.example",
            hsts_max_age_s: max_age_s,
            ..Setup::default()
        }
        .limit("default", "6/60s")
        .start();
        for (call, status) in [
            (Call::get("/docs"), "200"),
            (Call::get("/docs").header("if-none-match", "*"), "304"),
            (Call::health(), "200"),
            (Call::get("/nowhere"), "404"),
            (Call::health().bearer("nonsense"), "401"),
            (Call::post("/api/v1/newsletter", "{}"), "400"),
            (Call::get("/"), "429"),
        ] {
            let reply = app.expect(status, call).await;
            assert_eq!(reply.header("strict-transport-security"), expected);
        }
    }
}
