//! What the operator asks for, whoever asks: over a service in memory.

use futures_util::TryStreamExt as _;
use landing_api::cli::in_words;
use landing_api::domain::blocked_network::BlockedNetwork;
use landing_api::domain::credential::KeyRecord;
use landing_api::operator::operate;
use landing_api::operator::operation::{Answer, OperatorError, OperatorRequest, Params};
use landing_api::ports::{BlockList as _, ContactStore as _, KeyIssuer as _, RevocationList as _};

use crate::prelude::*;

/// What `operation` answers; a list of rows is an array.
pub(crate) async fn ask(
    app: &TestApp,
    operation: &str,
    params: Value,
) -> Result<Value, OperatorError> {
    ask_with(app, operation, params, "").await
}

/// The same with rows to read.
pub(crate) async fn ask_with(
    app: &TestApp,
    operation: &str,
    params: Value,
    rows: &str,
) -> Result<Value, OperatorError> {
    let mut request = OperatorRequest::new(Arc::clone(&app.app), Params(params));
    let rows = vec![Ok(rows.to_owned().into())];
    request.rows = Box::pin(futures_util::stream::iter(rows));
    let Answer(lines) = operate(operation, request).await?;
    let lines: Vec<_> = lines.try_collect().await?;
    let lines = lines.concat();
    if !operation.contains(" list") {
        return Ok(serde_json::from_slice(&lines).unwrap());
    }
    let lines = std::str::from_utf8(&lines).unwrap().lines();
    Ok(lines
        .map(|line| -> Value { serde_json::from_str(line).unwrap() })
        .collect())
}

pub(crate) fn refused(answer: Result<Value, OperatorError>) -> String {
    answer.unwrap_err().to_string()
}

fn failure() -> StoreError {
    StoreError::Unavailable("on purpose".to_owned())
}

/// Rows of an import, with these names.
pub(crate) fn rows(names: &[&str]) -> String {
    let row = |(line, name)| json!({"line": line, "email": format!("{name}@example.com")});
    let rows = (1..).zip(names).map(row);
    rows.map(|row| format!("{row}\n")).collect()
}

#[tokio::test]
async fn contacts_are_imported_counted_and_forgotten() {
    let app = TestApp::new();
    let import = async |rows: &str| ask_with(&app, "contacts import", json!({}), rows).await;
    let times = ["2026-01-01", "2026-01-02", "2026-01-03"];
    let people = ["ada", "bob", "cy"].iter().zip(times).zip(1..);
    let people = people.map(|((name, at), line)| {
        let email = format!("{name}@example.com");
        let row = json!({"line": line, "email": email, "subscribed_at": at});
        format!("{row}\n")
    });
    let people: String = people.collect();
    for (created, known) in [(3, 0), (0, 3)] {
        let report = import(&people).await.unwrap();
        let counts = ["created", "known", "forgotten"].map(|name| &report[name]);
        assert_eq!(counts, [created, known, 0]);
    }
    for (period, count) in [
        (json!({}), 3),
        (json!({"since": "2026-01-02"}), 2),
        (json!({"until": "2026-01-02"}), 1),
    ] {
        let counted = ask(&app, "contacts count", period.clone()).await.unwrap();
        assert_eq!(counted, json!({"contacts": count}), "{period}");
        let found = ask(&app, "contacts list", period).await.unwrap();
        assert_eq!(found.as_array().unwrap().len(), count);
    }
    let wrong = refused(ask(&app, "contacts list", json!({"since": "yesterday"})).await);
    assert_eq!(wrong, "since and until must be times");

    let both = json!({"email": ["bob@example.com", "Zoe@example.com"]});
    let report = ask(&app, "contacts forget", both).await.unwrap();
    let expected = json!([
        {"email": "bob@example.com", "was_known": true},
        {"email": "zoe@example.com", "was_known": false},
    ]);
    assert_eq!(report["addresses"], expected);
    assert_eq!(report["remaining"], Value::Null);
    assert_eq!(app.contacts.find(&address("bob")).await, Ok(None));
    let report = import(&rows(&["bob", "zoe"])).await.unwrap();
    assert_eq!(report["forgotten"], 2);
    let unforget = json!({"unforget": true});
    let report = ask_with(&app, "contacts import", unforget, &rows(&["bob"])).await;
    assert_eq!(report.unwrap()["created"], 1);

    app.contacts.fail_with(Some(failure()));
    for answer in [
        import(&rows(&["dan"])).await,
        ask(&app, "contacts count", json!({})).await,
        ask(&app, "contacts forget", json!({"email": "ada@example.com"})).await,
    ] {
        assert!(matches!(answer, Err(OperatorError::Store(error)) if error == failure()));
    }
}

#[tokio::test]
async fn what_is_no_contact_is_named_by_its_line() {
    let app = TestApp::new();
    let rows = [
        json!({"line": 2, "email": "nobody"}),
        json!({"line": 3, "email": "a@example.com", "subscribed_at": "yesterday"}),
        json!({"line": 4, "bad": "the row is not UTF-8"}),
        json!({"line": 5, "email": "b@example.com"}),
    ];
    let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let report = ask_with(&app, "contacts import", json!({}), &rows).await;
    let report = report.unwrap();
    assert_eq!([&report["created"], &report["bad"]], [1, 3]);
    let bad = &report["bad_rows"];
    assert_eq!([0, 1, 2].map(|at| &bad[at]["line"]), [2, 3, 4]);
    assert_eq!(bad[2]["reason"], "the row is not UTF-8");
    let unknown = "{\"line\": 1, \"email\": \"a@example.com\", \"confirmed\": false}\n";
    for bad in ["{}\n", "[]\n", "x\n", unknown] {
        let refused = refused(ask_with(&app, "contacts import", json!({}), bad).await);
        assert!(refused.starts_with("a row: "), "{refused}");
    }
}

#[tokio::test]
async fn a_certificate_is_valid_or_expired() {
    let status = ask(&TestApp::new(), "status", json!({})).await.unwrap();
    for (day, shown) in [
        ("2500-01-01", "valid until 2500-01-01 00:00 UTC ("),
        ("2001-01-01", "expired at 2001-01-01 00:00 UTC"),
    ] {
        let mut status = status.clone();
        status["service"]["certificate_expires_at"] = json!(format!("{day}T00:00:00.000Z"));
        let text = in_words("status", &status).unwrap();
        assert!(text.contains(&format!("\nCertificate: {shown}")), "{text}");
    }
}

fn fill(bytes: &mut [u8], seed: u8) {
    let mut next = seed;
    for byte in bytes {
        next = next.wrapping_mul(31).wrapping_add(17);
        *byte = next;
    }
}

fn mint(seed: u8) -> ApiKey {
    ApiKey::mint(|bytes| fill(bytes, seed))
}

/// Another key with the id of `mint(seed)`.
fn forge(seed: u8) -> ApiKey {
    ApiKey::mint(|bytes| {
        fill(bytes, seed);
        bytes[20..].fill(1);
    })
}

fn record(key: &ApiKey) -> KeyRecord {
    KeyRecord {
        fingerprint: key.fingerprint(),
        id: key.id(),
        ..key_record(0, None)
    }
}

#[tokio::test]
async fn a_key_is_checked_and_revoked_by_each_of_its_names() {
    let key = mint(1);
    let id = key.id().to_string();
    let forged = forge(1);
    assert!(forged.id() == key.id() && forged != key);
    for (name, is_named) in [
        (id.clone(), true),
        (["lak_", &id].concat(), true),
        (key.expose().to_owned(), true),
        (mint(2).id().to_string(), false),
        (mint(2).expose().to_owned(), false),
        (forged.expose().to_owned(), false),
    ] {
        let app = TestApp::new();
        let issued = KeyRecord {
            expires_at: NOW.plus_ms(1000),
            ..record(&key)
        };
        app.keys.issue(issued.clone()).await.unwrap();
        let ask = async |operation| {
            let answer = ask(&app, operation, json!({"key": name})).await.unwrap();
            answer[0].clone()
        };
        let checked = ask("keys check").await;
        if !is_named {
            assert_eq!(checked["result"], "unknown");
            assert_eq!(checked["key"], json!(null));
            assert_eq!(ask("keys revoke").await, checked);
            let found = app.keys.find(&key.fingerprint()).await;
            assert_eq!(found, Ok(Some(issued)));
            continue;
        }
        assert_eq!(checked["result"], "active");
        assert_eq!(checked["key"]["id"], json!(id));
        let revoked = ask("keys revoke").await;
        assert_eq!([&revoked["result"], &revoked["id"]], ["revoked", &id]);
        assert_eq!(revoked["key"]["revoked_at"], json!(NOW.to_rfc3339()));
        let found = app.keys.find(&key.fingerprint()).await.unwrap().unwrap();
        assert_eq!(found.revoked_at, Some(NOW));
        // The first revocation counts.
        app.clock.advance_ms(1);
        let again = ask("keys revoke").await;
        assert_eq!(again["result"], "revoked before");
        assert_eq!(again["key"]["revoked_at"], json!(NOW.to_rfc3339()));
        assert_eq!(ask("keys check").await["result"], "revoked");
    }
}

#[tokio::test]
async fn an_expired_key_is_left_as_it_is() {
    let app = TestApp::new();
    let key = mint(1);
    let issued = KeyRecord {
        expires_at: NOW,
        ..record(&key)
    };
    app.keys.issue(issued.clone()).await.unwrap();
    let whole = json!({"key": [key.expose()]});
    let revoked = ask(&app, "keys revoke", whole.clone()).await.unwrap();
    assert_eq!(revoked[0]["result"], "expired before");
    assert_eq!(app.keys.find(&key.fingerprint()).await, Ok(Some(issued)));
    app.keys.fail_with(Some(failure()));
    let answer = ask(&app, "keys revoke", whole).await;
    assert!(matches!(answer, Err(OperatorError::Store(error)) if error == failure()));
    let nonsense = refused(ask(&app, "keys check", json!({"key": "no-key"})).await);
    let told = "not a key: give the 8 characters";
    assert!(nonsense.starts_with(told), "{nonsense}");
}

#[tokio::test]
async fn an_agent_is_revoked_once_and_only_while_that_matters() {
    let app = TestApp::new();
    let agent = Registration::new([1; 16], NOW);
    let id = json!({"client_id": agent.client_id()});
    for result in ["revoked", "revoked before"] {
        let answer = ask(&app, "agents revoke", id.clone()).await.unwrap();
        let expected = json!({"client_id": agent.client_id(), "result": result});
        assert_eq!(answer, expected);
    }
    // Long before the clock of the service.
    let old = Registration::new([2; 16], Timestamp::from_ms(0));
    let old = json!({"client_id": old.client_id()});
    let answer = ask(&app, "agents revoke", old).await.unwrap();
    assert_eq!(answer["result"], "expired before");
    let listed = ask(&app, "agents list-revoked", json!({})).await.unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["client_id"], json!(agent.client_id()));
    assert_eq!(app.revocations.is_revoked(&agent).await, Ok(true));
    let nobody = refused(ask(&app, "agents revoke", json!({})).await);
    assert!(nobody.starts_with("not a client ID"), "{nobody}");
}

#[tokio::test]
async fn a_network_is_blocked_listed_and_let_in_again() {
    let app = TestApp::new();
    let block =
        async |words: &str, network: &str| ask(&app, words, json!({"network": network})).await;
    for (words, network, result) in [
        ("block add", "192.0.2.0/24", "blocked"),
        ("block add", "192.0.2.0/24", "blocked before"),
        ("block add", "::ffff:192.0.2.7", "blocked"),
        ("block remove", "192.0.2.7/32", "removed"),
    ] {
        let answer = block(words, network).await.unwrap();
        assert_eq!(answer["result"], result, "{words} {network}");
    }
    let listed = ask(&app, "block list", json!({})).await.unwrap();
    let since = NOW.to_rfc3339();
    assert_eq!(listed, json!([{"network": "192.0.2.0/24", "since": since}]));
    let refused_networks = "
block add | 192.0.2.1/24 | write 192.0.2.0/24 for the network
block add | somebody | the network must be a network such as
block add | ::/0 | must not cover all addresses
block add | | give a network
block remove | | give a network
block remove | 192.0.2.1 | this exact network is not blocked
";
    for [words, network, message] in crate::rows::rows(refused_networks) {
        let refused = refused(block(words, network).await);
        assert!(refused.contains(message), "{words} {network}: {refused}");
    }
    app.blocks.fail_with(Some(failure()));
    for words in ["block add", "block remove"] {
        let answer = block(words, "192.0.2.0/24").await;
        assert!(matches!(answer, Err(OperatorError::Store(error)) if error == failure()));
    }
    let network = BlockedNetwork::parse("192.0.2.0/24").unwrap();
    app.blocks.fail_with(None);
    assert_eq!(app.blocks.remove(network).await, Ok(true));
    for host in 0..10_000 {
        let address = std::net::Ipv4Addr::from(host << 8);
        let network = BlockedNetwork::parse(&address.to_string()).unwrap();
        app.blocks.add(network, NOW).await.unwrap();
    }
    let full = refused(block("block add", "192.0.2.0/24").await);
    assert!(full.starts_with("10,000 networks are blocked"), "{full}");
}

#[tokio::test]
async fn what_no_operation_is_called_is_another_versions() {
    let answer = ask(&TestApp::new(), "contacts dance", json!({})).await;
    assert!(matches!(answer, Err(OperatorError::Unknown)));
}
