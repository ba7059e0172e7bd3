//! What the program logs about messages.

use crate::prelude::*;

#[test]
fn the_log_names_the_tool_and_the_cause_and_nobody() {
    let url = format!("--newsletter-webhook=http://{}/hook", closed_address());
    let flags = [
        "--log-level=trace",
        "--newsletter-webhook-mode=direct",
        &url,
    ];
    let (_dir, program) = Program::fresh(&flags);
    let email = "ada@example.com";
    let call = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        let method = "tools/call";
        json!({ "jsonrpc": "2.0", "id": email, "method": method, "params": params }).to_string()
    };
    let echo = |arguments| call("echo", arguments);
    let ada = json!({ "email": email });
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": email, "params": { "of": email } });
    let nobodys = "Mcp-Protocol-Version: ada@example.com\r\n";
    let named = "Mcp-Protocol-Version: 2025-11-25\r\nMcp-Name: ada@example.com\r\n";
    for (status, header, body) in [
        (200, "", call("subscribe_newsletter", ada)),
        (200, "", call("create_api_key", json!({}))),
        (200, "", call(email, json!({}))),
        (200, "", echo(json!({ "message": { "of": email } }))),
        (400, nobodys, echo(json!({}))),
        (200, named, unknown.to_string()),
        (400, "", format!("{email} is no JSON")),
    ] {
        let (answered, answer) = program.send("POST", "/mcp", header, &body);
        assert_eq!(answered, status, "{answer}");
    }
    let log = program.stopped();
    let requests = log.lines().filter(|line| line.contains("endpoint=\"mcp\""));
    let requests: Vec<_> = requests.collect();
    assert_eq!(requests.len(), 7, "{log}");
    let [subscribe, mint, unknown, echo, ..] = requests.as_slice() else {
        panic!("{log}");
    };
    let parts = " WARN request |tool=\"subscribe_newsletter\" status=200|code=\"newsletter_unavailable\"|\
                 cause=\"provider failed";
    for part in parts.split('|') {
        assert!(subscribe.contains(part), "{part}: {subscribe}");
    }
    let minted = "tool=\"create_api_key\" status=200";
    assert!(mint.contains(minted), "{mint}");
    assert!(!unknown.contains("tool="), "{unknown}");
    assert!(echo.contains("tool=\"echo\"") && echo.contains("code=\"validation_failed\""));
    assert_absent(&log, &["ada@", "lak_"]);
}
