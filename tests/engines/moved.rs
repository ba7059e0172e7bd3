//! From one machine to several nodes.

use std::collections::HashSet;
use std::path::Path;

use crate::engine::Process;
use crate::nodes::contacts;
use crate::prelude::*;
use crate::program::{closed_address, command, private_dir};

const CHAT: &str = "/api/v1/assistant/chat";

/// As the nodes have it.
const PROXY: &str = "--trusted-proxy=127.0.0.1";

/// More than a page of a listing of the ledger holds.
const CONTACTS: usize = 1200;

fn run_move(nodes: &Nodes, data_dir: &Path) -> Result<String, String> {
    let mut words = nodes.operator(&["move", "--yes"]);
    let ran = Ran::of(words.arg("--data-dir").arg(data_dir));
    match ran.status {
        Some(0) => Ok(ran.out),
        _ => Err(ran.err),
    }
}

fn email(number: usize) -> String {
    format!("ada{number}@example.com")
}

struct GivenOut {
    /// Those of a kind: one that is good, and one that was revoked.
    keys: [String; 2],
    tokens: [String; 2],
    cookie: String,
}

/// Has clients use a service.
async fn used(address: &str) -> GivenOut {
    at_once(16, |first, client: Client| {
        let address = address.to_owned();
        async move {
            for number in (first..CONTACTS).step_by(16) {
                let sign_up = Call::sign_up(&email(number));
                assert_eq!(client.status(&address, &sign_up).await, 200);
            }
        }
    })
    .await;
    let client = Client::new();
    let key = async || client.mint(address).await;
    let agent = async || client.send(address, &Call::register()).await;
    let token = async || agent().await.text("access_token");
    let given_out = GivenOut {
        keys: [key().await, key().await],
        tokens: [token().await, token().await],
        cookie: client.send(address, &Call::chat()).await.cookie(),
    };
    for revoked in [&given_out.keys[1], &given_out.tokens[1]] {
        let revoke = Call::revocation(revoked);
        assert_eq!(client.status(address, &revoke).await, 200);
    }
    given_out
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_moves_to_several_nodes_and_loses_nothing() {
    let (postgres, _redis, urls) = engines().await;
    let dir = private_dir();
    let unlimited = ["default", "ip", "newsletter-ip", "newsletter-all"];
    let unlimited = unlimited.map(|policy| format!("--limit={policy}=off"));
    let unlimited = unlimited.each_ref().map(String::as_str);
    // Nobody answers there.
    let webhook = format!("--newsletter-webhook=http://{}/", closed_address());
    let mut service = command(dir.path());
    let program = Program::start(service.args(unlimited).args([PROXY, &webhook]));
    let given_out = used(&program.address).await;
    let mut forget = landing_api(&["contacts", "forget", &email(0), "--yes", "--data-dir"]);
    Ran::of(forget.arg(dir.path())).done();

    let mut nodes = Nodes::prepare(2, &urls, &unlimited);
    fs::copy(dir.path().join("secret"), nodes.secret_file()).unwrap();
    nodes.migrate();
    run_move(&nodes, dir.path()).expect_err("a service that runs has more to come");
    program.stopped();
    run_move(&nodes, dir.path()).unwrap();

    let expected: HashSet<_> = (1..CONTACTS).map(email).collect();
    assert_eq!(contacts(&postgres).await, expected);
    // What the program is told is held: one for each contact, and that one was erased.
    let deliveries = "SELECT count(*)::text FROM delivery";
    assert_eq!(postgres.sql(deliveries).await, [CONTACTS.to_string()]);
    let held = postgres.sql("SELECT channel FROM held_channel ORDER BY channel");
    assert_eq!(held.await, ["mail", "webhook"]);
    nodes.begin(0);
    nodes.begin(1);
    let (client, cookie) = (Client::new(), given_out.cookie);
    for address in &nodes.addresses {
        for (credential, status) in [
            (&given_out.keys[0], 200),
            (&given_out.tokens[0], 200),
            (&given_out.keys[1], 401),
            (&given_out.tokens[1], 401),
        ] {
            let health = Call::health().bearer(credential);
            assert_eq!(client.status(address, &health).await, status);
        }
        // The client is known by its cookie and its signature; what it used up is not moved.
        let again = client.send(address, &Call::sign_up(&email(1))).await;
        assert_eq!(again.body["alreadyExists"], true, "{again:?}");
    }
    // It would bring back what the nodes have erased since.
    let again = run_move(&nodes, dir.path()).unwrap_err();
    assert!(again.contains("needs an empty one"), "{again}");
    let turn = Call::chat().header("cookie", &cookie);
    let turn = client.send(&nodes.addresses[0], &turn).await;
    assert_eq!(turn.cookie(), cookie);
    let left = Call::get(CHAT).header("cookie", &cookie);
    let left = client.send(&nodes.addresses[1], &left).await;
    assert_eq!(left.body["used"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_secret_moves_nothing() {
    let (postgres, _redis, urls) = engines().await;
    let (dir, program) = Program::fresh(&[]);
    program.sign_up("ada@example.com");
    program.stopped();
    let nodes = Nodes::prepare(1, &urls, &[]);
    nodes.migrate();
    let refused = run_move(&nodes, dir.path()).unwrap_err();
    assert!(refused.contains("--secret-file"), "{refused}");
    assert_eq!(contacts(&postgres).await, HashSet::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_killed_leaves_nothing_and_may_be_made_again() {
    let (postgres, _redis, urls) = engines().await;
    let (dir, program) = Program::fresh(&[]);
    for name in ["ada", "bea", "cleo"] {
        program.sign_up(&format!("{name}@example.com"));
    }
    program.stopped();
    let mut forget = landing_api(&["contacts", "forget", "ada@example.com", "--yes"]);
    Ran::of(forget.arg("--data-dir").arg(dir.path())).done();
    let nodes = Nodes::prepare(1, &urls, &[]);
    fs::copy(dir.path().join("secret"), nodes.secret_file()).unwrap();
    nodes.migrate();

    // Contacts are copied first, and tombstones wait for this.
    let other = postgres.client().await;
    let lock = "BEGIN; LOCK TABLE tombstone IN SHARE MODE";
    other.batch_execute(lock).await.unwrap();
    let mut words = nodes.operator(&["move", "--yes"]);
    let moving = Process::start(words.arg("--data-dir").arg(dir.path()));
    let waiting = "SELECT pid FROM pg_stat_activity \
                   WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO tombstone%'";
    until("tombstones to be copied", async || {
        !postgres.sql(waiting).await.is_empty()
    })
    .await;
    moving.end(Signal::KILL);
    other.batch_execute("ROLLBACK").await.unwrap();
    let rows = "SELECT (SELECT count(*) FROM contact) + (SELECT count(*) FROM tombstone)";
    assert_eq!(postgres.sql(rows).await, ["0"]);
    run_move(&nodes, dir.path()).unwrap();
    assert_eq!(postgres.sql(rows).await, ["3"]);
    let again = run_move(&nodes, dir.path()).unwrap_err();
    assert!(again.contains("needs an empty one"), "{again}");
    assert_eq!(postgres.sql(rows).await, ["3"]);
}
