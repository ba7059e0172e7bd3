//! `landing-api block`.

use super::{alike, run};
use crate::prelude::*;

#[test]
fn a_network_is_blocked_beside_the_service_and_stays_so_over_a_restart() {
    let (dir, service) = Program::fresh(&[]);
    let health = |service: &Program| service.send("GET", "/api/v1/health", "", "");
    assert_eq!(health(&service).0, 200);
    run("block add", dir.path()).refused(2, "<CIDR>");
    run("block add 192.0.2.7/24", dir.path()).refused(2, "write 192.0.2.0/24");
    run("block remove 192.0.2.0/24", dir.path()).refused(1, "this exact network is not");
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
    assert_present(&log, &["operator command=\"block add\" result=\"blocked\""]);
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
