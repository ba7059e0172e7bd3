//! Agents and the real program: what it forgets, what it never forgets, and what it never tells.

use crate::prelude::*;

/// A new registration: token, client id and client secret.
fn register(program: &Program) -> [String; 3] {
    let (status, body) = program.send("POST", "/agent/auth", "", r#"{"type":"anonymous"}"#);
    assert_eq!(status, 201, "{body}");
    ["access_token", "client_id", "client_secret"]
        .map(|name| body[name].as_str().unwrap().to_owned())
}

fn exchange(program: &Program, client_id: &str, client_secret: &str) -> (u16, Value) {
    let client = format!("client_id={client_id}&client_secret={client_secret}");
    let form = format!("grant_type=client_credentials&{client}");
    program.post_form("/oauth2/token", &form)
}

#[test]
fn tokens_outlive_the_process_and_so_do_revocations() {
    let (data_dir, program) = Program::fresh(&[]);
    let [kept, kept_id, kept_secret] = register(&program);
    let [revoked, id, secret] = register(&program);
    assert_eq!(program.health(&revoked), 200);
    let (status, body) = exchange(&program, &id, &secret);
    assert_eq!(status, 200, "{body}");
    let second = body["access_token"].as_str().unwrap().to_owned();
    let key = program.mint();

    // However many revoke at once, each is told that it is done, and it is.
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for credential in [&revoked, &key] {
                    let form = format!("token={credential}&token_type_hint=access_token");
                    assert_eq!(program.post_form("/agent/auth/revoke", &form).0, 200);
                    assert_eq!(program.health(credential), 401);
                }
            });
        }
    });
    let mut program = program;
    for signal in [Signal::KILL, Signal::TERM, Signal::TERM] {
        for credential in [&revoked, &second, &key] {
            assert_eq!(program.health(credential), 401);
        }
        let (status, body) = exchange(&program, &id, &secret);
        assert_eq!((status, &body["error"]), (401, &json!("invalid_client")));
        assert_eq!(program.health(&kept), 200);
        assert_eq!(exchange(&program, &kept_id, &kept_secret).0, 200);
        program.stop(signal);
        program = Program::on(data_dir.path());
    }
    let ledger = fs::read_to_string(data_dir.path().join("ledger.jsonl")).unwrap();
    assert_eq!(ledger.matches("\"revocation\"").count(), 1);
    let lines = ledger.lines().count();
    assert_eq!(lines, 1 + 3, "nothing is stored of a token");
}

#[test]
fn no_secret_of_an_agent_is_logged() {
    let (_dir, program) = Program::fresh(&["--log-level", "trace"]);
    let [token, id, secret] = register(&program);
    let email = r#""assertion_type":"verified_email","assertion":"private@example.org""#;
    for (status, body) in [
        (201, r#"{"type":"anonymous","label":"a private label"}"#),
        (400, &format!(r#"{{"type":"identity_assertion",{email}}}"#)),
        (400, r#"{"type":"private","label":5}"#),
        (400, "{private"),
    ] {
        let (answered, answer) = program.send("POST", "/agent/auth", "", body);
        assert_eq!(answered, status, "{answer}");
    }
    exchange(&program, &id, &secret);
    exchange(&program, &id, &secret[..55]);
    exchange(&program, &id, "private");
    program.health(&token);
    for form in [
        format!("token={token}"),
        format!("token={token}&token={token}"),
        format!("token={token}&private=%"),
    ] {
        program.post_form("/agent/auth/revoke", &form);
    }
    program.health(&token);
    program.send("GET", "/oauth2/authorize?state=private", "", "");
    let log = program.stopped();
    // Its public name, by which the operator revokes it.
    assert!(log.contains(&id), "{log}");
    assert_absent(
        &log,
        &["private", "lat_", "las_", &token[4..], &secret[4..]],
    );
    for endpoint in "agent.register oauth.token agent.revoke oauth.authorize".split(' ') {
        assert!(log.contains(endpoint), "{log}");
    }
}
