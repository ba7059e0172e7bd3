//! `landing-api status`.

use super::run;
use crate::prelude::*;

#[test]
fn a_running_service_tells_what_it_has_done() {
    let (dir, service) = Program::fresh(&["--limit", "newsletter-ip=1/1h"]);
    service.sign_up("ada@example.com");
    let body = json!({"email": "bob@example.com"}).to_string();
    assert_eq!(service.post("/api/v1/newsletter", &body).0, 429);
    let report = run("status --json", dir.path()).json();
    assert_eq!(report["is_running"], true);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let of = &report["service"];
    let refusal = json!([{"name": "newsletter-ip", "count": 1}]);
    assert_eq!(of["requests"][0], json!({"name": "2xx", "count": 1}));
    assert_eq!(of["requests"][2], json!({"name": "4xx", "count": 1}));
    assert_eq!(of["refusals"], refusal);
    assert_eq!(of["takes_writes"], true);
    assert_eq!(report["hours"].as_array().unwrap().len(), 24);
    let ledger = fs::metadata(dir.path().join("ledger.jsonl")).unwrap();
    let file = json!({"name": "ledger.jsonl", "bytes": ledger.len()});
    assert_eq!(report["files"][0], file);
    let shown = run("status", dir.path());
    for line in [
        "Service     running for ",
        "\nModel       a search of this site's pages; chat turns: none\n",
        "\nLast 24 h   1 sign-up, 0 chats, 2 requests\n",
        "\nOn disk     ledger.jsonl ",
        "\nRequests    2xx 1, 4xx 1\n",
        "\nRefusals    newsletter-ip 1\n",
        "\nLast error  none\n",
    ] {
        assert!(shown.out.contains(line), "{}", shown.out);
    }
    let short = shown.done().out;
    assert!(short.lines().count() <= 24, "{short}");
    // The handbook's example has the same rows.
    let names = |rows: &str| -> Vec<_> { rows.lines().map(|row| row[..12].to_owned()).collect() };
    let handbook = include_str!("../../../data/handbook/operate.md");
    let (_, example) = handbook.split_once("$ landing-api status\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    assert_eq!(names(example), names(&short));
    service.stopped();
    let report = run("status --json", dir.path()).json();
    let (is_running, service) = (&report["is_running"], &report["service"]);
    assert_eq!((is_running, service), (&json!(false), &json!(null)));
    // What was counted until the stop is there.
    let hours = report["hours"].as_array().unwrap().iter();
    assert_eq!(hours.filter(|it| it["sign_ups"] == 1).count(), 1);
    let shown = run("status", dir.path());
    assert_present(&shown.out, &["Service    not running\n"]);
    shown.check_width();
}
