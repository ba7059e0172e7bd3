//! `landing-api status`.

use rustix::process::Signal;
use serde_json::json;

use super::{private_dir, run};
use crate::program::{Program, command};

#[test]
fn a_running_service_tells_what_it_has_done() {
    let dir = private_dir();
    let service = Program::start(command(dir.path()).args(["--limit", "newsletter-ip=1/1h"]));
    service.sign_up("ada@example.com");
    let body = json!({"email": "bob@example.com"}).to_string();
    assert_eq!(service.send("POST", "/api/v1/newsletter", "", &body).0, 429);
    let report = run(&["status", "--json"], dir.path()).json();
    assert_eq!(report["is_running"], true);
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    let of = &report["service"];
    assert_eq!(of["requests"][0], json!({"name": "2xx", "count": 1}));
    assert_eq!(of["requests"][2], json!({"name": "4xx", "count": 1}));
    assert_eq!(
        of["refusals"],
        json!([{"name": "newsletter-ip", "count": 1}])
    );
    assert_eq!(of["takes_writes"], true);
    assert_eq!(report["hours"].as_array().unwrap().len(), 24);
    let ledger = std::fs::metadata(dir.path().join("ledger.jsonl"))
        .unwrap()
        .len();
    assert_eq!(
        report["files"][0],
        json!({"name": "ledger.jsonl", "bytes": ledger})
    );
    let shown = run(&["status"], dir.path());
    for line in [
        "Service     runs since 20",
        "\nRequests    2xx 1, 4xx 1\n",
        "\nRefusals    newsletter-ip 1\n",
        "\nLast error  none\n",
        // The present hour has what happened a moment ago.
        ":00      1 ########################      0\n",
    ] {
        assert!(shown.out.contains(line), "{}", shown.out);
    }
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let report = run(&["status", "--json"], dir.path()).json();
    assert_eq!(
        (&report["is_running"], &report["service"]),
        (&json!(false), &json!(null))
    );
    // What was counted until the stop is there.
    assert_eq!(
        report["hours"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["sign_ups"] == 1)
            .count(),
        1
    );
    // Without a service it is shown once: the command has the directory open, and no service could start.
    let shown = run(&["status", "--watch"], dir.path());
    assert!(
        shown.out.contains("Service  does not run\n"),
        "{}",
        shown.out
    );
    assert!(
        shown
            .out
            .contains(":00      1 ########################      0\n"),
        "{}",
        shown.out
    );
    shown.check_width();
}
