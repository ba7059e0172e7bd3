//! `landing-api block`.

use serde_json::json;

use super::{alike, run, stopped_house};
use crate::program::Program;

#[test]
fn a_network_is_blocked_beside_the_service_and_stays_so_over_a_restart() {
    let (dir, service) = Program::fresh(&[]);
    let health = |service: &Program| service.send("GET", "/api/v1/health", "", "");
    assert_eq!(health(&service).0, 200);
    let added = run("block add 127.0.0.1", dir.path());
    assert_eq!(added.out, "Network  127.0.0.1/32\nResult   blocked\n");
    let (status, refused) = health(&service);
    assert_eq!((status, &refused["code"]), (403, &json!("network_blocked")));
    let listed = run("block list", dir.path());
    let rows: Vec<_> = listed.out.lines().collect();
    assert_eq!(rows[0], "Since (UTC)       Network");
    assert!(rows[1].ends_with("  127.0.0.1/32"), "{rows:?}");
    assert_eq!(rows.len(), 2, "{rows:?}");
    listed.check_width();
    let log = service.stopped();
    let audit = "operator command=\"block add\" result=\"blocked\"";
    assert!(log.contains(audit), "{log}");
    assert!(!log.contains("127.0.0.1/32"), "{log}");

    let service = Program::on(dir.path());
    assert_eq!(health(&service).0, 403);
    let removed = run("block remove 127.0.0.1 --json", dir.path());
    let expected = json!({"network": "127.0.0.1/32", "result": "removed"});
    assert_eq!(removed.json(), expected);
    assert_eq!(health(&service).0, 200);
    let add = "block add 192.0.2.0/24 --json";
    assert_eq!(run(add, dir.path()).json()["result"], "blocked");
    for ran in alike(dir.path(), service, &[add]) {
        assert_eq!(ran.json()["result"], "blocked before");
    }
    let listed = run("block list --json", dir.path());
    assert_eq!(listed.json()["network"], "192.0.2.0/24");
}

#[test]
fn wrong_input_is_refused() {
    let house = stopped_house();
    for (words, status, message) in [
        ("block add", 2, "<CIDR>"),
        ("block add 9c1f02ab", 2, "or an address"),
        ("block add 192.0.2.7/24", 2, "write 192.0.2.0/24"),
        ("block add ::/0", 2, "must not cover all addresses"),
        ("block remove 192.0.2", 2, "or an address"),
        ("block remove 192.0.2.0/24", 1, "this exact network is not"),
    ] {
        run(words, &house.path).refused(status, message);
    }
}
