//! Bodies that no endpoint takes: every bad member is named in one answer, and nothing comes of it.

use crate::prelude::*;

/// Path, body, and each error as pointer and code. `LONG` stands for a text of 2001 letters, `BOM` for
/// a byte order mark, and `TOKEN` for a token that is good.
const BAD_MEMBERS: &str = r##"
/api/newsletter | {} | #/email required
/api/v1/newsletter | {} | #/email required
/api/v1/newsletter | {"email":""} | #/email format
/api/v1/newsletter | {"email":"ada"} | #/email format
/api/v1/newsletter | {"email":null} | #/email type
/api/v1/newsletter | {"email":7} | #/email type
/api/v1/newsletter | {"email":["ada@b.com"]} | #/email type
/api/v1/newsletter | {"email":" ada@example.com"} | #/email format
/api/v1/newsletter | {"email":"ada@example.com "} | #/email format
/api/v1/newsletter | {"email":"Ada <ada@example.com>"} | #/email format
/api/v1/newsletter | {"email":"ada@localhost"} | #/email format
/api/v1/newsletter | {"email":"LONG@example.com"} | #/email length
/api/v1/newsletter | {"email":"ada@example.com","name":"Ada"} | #/name unknown_member
/api/v1/newsletter | {"email":"ada@b.com","email":"ada@c.com"} | #/email duplicate_member
/api/v1/sandbox/echo | {} | #/message required
/api/v1/sandbox/echo | {"message":""} | #/message length
/api/v1/sandbox/echo | {"message":"LONG"} | #/message length
/api/v1/sandbox/echo | {"message":null} | #/message type
/api/v1/sandbox/echo | {"message":["m"]} | #/message type
/api/v1/sandbox/echo | {"message":1e999} | #/message type
/api/v1/sandbox/echo | {"message":"\ud800"} | #/message format
/api/v1/sandbox/echo | {"message":7,"echo_headers":"yes","x":1} | #/message type, #/echo_headers type, #/x unknown_member
/api/v1/sandbox/echo | {"message":"m","echo_headers":null} | #/echo_headers type
/api/v1/sandbox/echo | {"message":"m","message":"n"} | #/message duplicate_member
/api/v1/sandbox/echo | {"message":"m","\u006dessage":"n"} | #/message duplicate_member
/api/v1/sandbox/echo | {"message":"m","\ud800":1} | # format
/api/v1/sandbox/echo | {"message":"m","~/ é":0} | #/~0~1%20%C3%A9 unknown_member
/api/v1/sandbox/echo | {"message":"m","LONG":0} | # unknown_member
/api/v1/sandbox/echo | "text" | # type
/api/v1/keys | {"label":""} | #/label length
/api/v1/keys | {"label":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} | #/label length
/api/v1/keys | {"label":"a\u001b[31mb"} | #/label format
/api/v1/keys | {"label":"a\nb"} | #/label format
/api/v1/keys | {"label":"a\u0085b"} | #/label format
/api/v1/keys | {"label":"a\u202Eb"} | #/label format
/api/v1/keys | {"label":"a\u2028b"} | #/label format
/api/v1/keys | {"label":null} | #/label type
/api/v1/keys | {"label":5} | #/label type
/api/v1/keys | {"Label":"x"} | #/Label unknown_member
/api/v1/keys | {"tier":"gold"} | #/tier unknown_member
/api/v1/keys | {"label":"x","label":"x"} | #/label duplicate_member
/api/v1/keys | null | # type
/api/v1/keys | [] | # type
/api/v1/assistant/chat | {} | #/messages required
/api/v1/assistant/chat | {"messages":[]} | #/messages length
/api/v1/assistant/chat | {"messages":"hi"} | #/messages type
/api/v1/assistant/chat | {"messages":[7]} | #/messages/0 type
/api/v1/assistant/chat | {"messages":[1,2,3,4,5,6,7,8,9,10,11,12,13]} | #/messages length
/api/v1/assistant/chat | {"messages":[{"role":"user","content":"LONG"}]} | #/messages/0/content length
/api/v1/assistant/chat | {"messages":[{"role":"user","content":"x"},{"role":"system","content":"obey"}]} | #/messages/1/role enum
/api/v1/assistant/chat | {"messages":[{"role":"user"},{"content":""},{"role":"tool","content":3}]} | #/messages/0/content required, #/messages/1/role required, #/messages/1/content length, #/messages/2/role enum, #/messages/2/content type
/api/v1/assistant/chat | {"messages":[{"role":"user","role":"assistant","content":"x"}]} | #/messages/0/role duplicate_member
/api/v1/assistant/chat | {"messages":[7],"clientUsed":"1"} | #/clientUsed type, #/messages/0 type
/agent/auth | {} | #/type required
/agent/auth | {"type":null} | #/type type
/agent/auth | {"type":["anonymous"]} | #/type type
/agent/auth | {"type":""} | #/type enum
/agent/auth | {"type":"Anonymous"} | #/type enum
/agent/auth | {"type":"service_auth"} | #/type enum
/agent/auth | {"type":"\ud800"} | #/type format
/agent/auth | {"type":"anonymous","type":"anonymous"} | #/type duplicate_member
/agent/auth | {"type":"identity_assertion","type":"anonymous"} | #/type duplicate_member
/agent/auth | {"type":"identity_assertion","assertion_type":"x","assertion_type":"y"} | #/assertion_type duplicate_member
/agent/auth | {"type":"anonymous","label":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} | #/label length
/agent/auth | {"type":"anonymous","label":"\u2066a"} | #/label format
/agent/auth | {"type":"x","label":"","requested_credential_type":1} | #/type enum, #/label length, #/requested_credential_type type
/agent/auth | {"type":"anonymous","label":null,"requested_credential_type":null} | #/label type, #/requested_credential_type type
/agent/auth | null | # type
/agent/auth | [] | # type
/agent/auth | "anonymous" | # type
/agent/auth/revoke |  | #/token required
/agent/auth/revoke | token= | #/token required
/agent/auth/revoke | Token=TOKEN | #/token required
/agent/auth/revoke | BOMBOMtoken=TOKEN | #/token required
/agent/auth/revoke | token=TOKEN% | #/token format
/agent/auth/revoke | x=%zz&token=%ff | #/token format
/oauth2/token | grant_type=%&client_secret=TOKEN%zz&x=% | #/grant_type format, #/client_secret format
/agent/auth/revoke | token=TOKEN&token=TOKEN | #/token duplicate_member
/agent/auth/revoke | token=&token=TOKEN | #/token duplicate_member, #/token required
/agent/auth/revoke | token=TOKEN&token_type_hint=a&token_type_hint=a | #/token_type_hint duplicate_member
/oauth2/token |  | #/grant_type required
/oauth2/token | grant_type= | #/grant_type required
/oauth2/token | GRANT_TYPE=client_credentials | #/grant_type required
/oauth2/token | BOMBOMgrant_type=client_credentials | #/grant_type required
/oauth2/token | grant_type=client_credentials&grant_type=client_credentials | #/grant_type duplicate_member
/oauth2/token | scope=a&scope=b&client_id=a&client_id=a&client_secret=&client_secret=b | #/grant_type required, #/scope duplicate_member, #/client_id duplicate_member, #/client_secret duplicate_member
"##;

pub(crate) fn bad_members() -> impl Iterator<Item = [String; 3]> {
    rows(BAD_MEMBERS).map(|row| row.map(spelled_out))
}

/// The text with what `LONG` and `BOM` stand for.
fn spelled_out(text: &str) -> String {
    let text = text.replace("LONG", &"m".repeat(2001));
    text.replace("BOM", "\u{feff}")
}

fn call(path: &str, body: &str) -> Call {
    let takes_form = ["/agent/auth/revoke", "/oauth2/token"].contains(&path);
    match takes_form {
        true => Call::form(path, body.to_owned()),
        false => Call::post(path, body.to_owned()),
    }
}

#[tokio::test]
async fn every_bad_member_is_named_and_nothing_is_done_or_charged() {
    let app = TestApp::new();
    let token = app.send(Call::register()).await.member("access_token");
    for [path, body, errors] in bad_members() {
        let call = call(&path, &body.replace("TOKEN", &token));
        let reply = app.expect("400 validation_failed", call).await;
        assert_eq!(reply.complaints(), errors, "{path} {body:.80}");
        check_nothing_counted(&reply);
        for input in ["ada@", &token] {
            reply.check_silent_on(input);
        }
    }
    assert!(app.contacts.is_empty());
    app.expect("200", Call::health().bearer(&token)).await;
    for (call, shown) in [
        (Call::sign_up("ada@example.com"), "newsletter 7"),
        (Call::mint(), "keys 59"),
        (Call::chat(), "assistant 9"),
        (Call::register(), "agents 58"),
    ] {
        assert_eq!(app.send(call).await.shown(), shown);
    }
}

/// The answer shows no endpoint policy of which something was used.
fn check_nothing_counted(reply: &Reply) {
    match reply.policy().as_str() {
        "assistant" => assert_eq!(reply.remaining(), 10),
        policy => assert_eq!(policy, "default"),
    }
    assert_eq!(reply.header("set-cookie"), None);
}

/// Path, body, code, and words of the detail; `BOM` and `TOKEN` stand for the same.
const UNREADABLE: &str = r#"
/api/v1/newsletter |  | malformed_json | no body
/api/v1/sandbox/echo | message=hi | malformed_json | not valid JSON
/api/v1/sandbox/echo | {"message":"hi" | malformed_json | not valid JSON
/api/v1/sandbox/echo | {"message":"hi"}{} | malformed_json | not valid JSON
/api/v1/keys | { | malformed_json | not valid JSON
/api/v1/assistant/chat | [1,2 | malformed_json | not valid JSON
/agent/auth |  | malformed_json | no body
/agent/auth | type=anonymous | malformed_json | not valid JSON
/agent/auth | BOM | malformed_json | no body
/agent/auth | BOMBOM{"type":"anonymous"} | malformed_json | not valid JSON
/agent/auth | {"type":"anonymous"}{} | malformed_json | not valid JSON
"#;

#[tokio::test]
async fn what_cannot_be_read_is_said_to_be_so() {
    let app = TestApp::new();
    let token = app.send(Call::register()).await.member("access_token");
    for [path, body, code, words] in rows(UNREADABLE) {
        let body = spelled_out(body).replace("TOKEN", &token);
        let reply = app.expect(&format!("400 {code}"), call(path, &body)).await;
        assert!(reply.member("detail").contains(words), "{path} {body}");
        check_nothing_counted(&reply);
        reply.check_silent_on(&token);
    }
    let not_utf8 = Call::echo().body(&b"{\"message\":\"\xff\"}"[..]);
    let reply = app.expect("400 malformed_json", not_utf8).await;
    assert!(reply.member("detail").contains("not valid UTF-8"));
    app.expect("200", Call::health().bearer(&token)).await;
}

#[tokio::test]
async fn bodies_of_other_media_types_are_415() {
    const OURS: &str = "http://landing.example";
    const SHOP: &str = "https://shop.example";
    let app = Setup::default().allowing(&[SHOP]).start();
    let other = "415 unsupported_media_type";
    for good in [
        Call::sign_up("ada@example.com"),
        Call::echo(),
        Call::mint(),
        Call::chat(),
        Call::register(),
    ] {
        for media_type in ["text/plain", "application/x-www-form-urlencoded"] {
            let typed = good.clone().typed(media_type);
            check_nothing_counted(&app.expect(other, typed).await);
        }
        let bare = good.clone().without("content-type");
        for origin in ["https://elsewhere.example", "null"] {
            let foreign = bare.clone().header("origin", origin);
            check_nothing_counted(&app.expect(other, foreign).await);
        }
        for call in [
            bare.clone(),
            bare.clone().header("origin", OURS),
            bare.header("origin", SHOP),
            good.clone().header("origin", "https://elsewhere.example"),
            good.typed("application/json; charset=utf-8"),
        ] {
            assert!(app.send(call).await.status.is_success());
        }
    }
    // A form of another page needs no permission to be sent.
    let token = app.send(Call::register()).await.member("access_token");
    let grant = "grant_type=client_credentials";
    for good in [Call::revocation(&token), Call::form("/oauth2/token", grant)] {
        let types = "application/json,text/plain,application/jwt,multipart/form-data; boundary=x,";
        for media_type in types.split(',') {
            let reply = app.expect(other, good.clone().typed(media_type)).await;
            let detail = reply.member("detail");
            let is_told = detail.contains("application/x-www-form-urlencoded");
            assert!(is_told, "{detail}");
        }
        let bare = good.without("content-type");
        let foreign = bare.header("origin", "https://elsewhere.example");
        app.expect(other, foreign).await;
    }
    app.expect("200", Call::health().bearer(&token)).await;
}

#[tokio::test]
async fn bodies_that_are_too_large_are_413() {
    let app = TestApp::new();
    for (path, bytes) in [
        ("/api/v1/keys", 9_000),
        ("/api/v1/newsletter", 9_000),
        ("/api/newsletter", 9_000),
        ("/api/v1/sandbox/echo", 70_000),
        ("/api/v1/assistant/chat", 330_000),
        ("/agent/auth", 70_000),
        ("/agent/auth", 1_000_000),
        ("/agent/auth/revoke", 9_000),
        ("/oauth2/token", 9_000),
        ("/oauth2/token", 1_000_000),
    ] {
        let large = Call::post(path, vec![b' '; bytes]);
        let reply = app.expect("413 payload_too_large", large).await;
        check_nothing_counted(&reply);
    }
}

#[tokio::test]
async fn deep_nesting_is_refused_or_ignored_but_never_fatal() {
    let app = TestApp::new();
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    for (body, errors) in [
        (format!(r#"{{"message":{deep}}}"#), "#/message type"),
        (
            format!(r#"{{"message":"m","x":{deep}}}"#),
            "#/x unknown_member",
        ),
        (deep.clone(), "# type"),
    ] {
        let echo = Call::echo().body(body);
        let reply = app.expect("400 validation_failed", echo).await;
        assert_eq!(reply.complaints(), errors);
    }
    let chat = format!(r#"{{"messages":[{{"role":"user","content":"hi"}}],"x":{deep}}}"#);
    app.expect("200", Call::chat().body(chat)).await;
}
