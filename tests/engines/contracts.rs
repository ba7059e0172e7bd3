//! The suites of tests/it on the engines.

#[path = "../it/contracts/contact_store.rs"]
mod contact_store;
#[path = "../it/contracts/count_store.rs"]
pub(crate) mod count_store;
#[path = "../it/contracts/delivery_queue.rs"]
pub(crate) mod delivery_queue;
#[path = "../it/contracts/key_issuer.rs"]
mod key_issuer;
#[path = "../it/contracts/revocation_list.rs"]
mod revocation_list;
use landing_api::domain::contact::{Contact, ImportOutcome, SignUp};
use landing_api::domain::email::EmailAddress;
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::engine::Process;
use crate::fixtures::sign_up_of;
use crate::postgres::{open, own, unprivileged};
use crate::prelude::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_keeps_contacts() {
    let server = Postgres::start().await;
    contact_store::check(server.store().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_erasure_beside_sign_ups_leaves_a_contact_or_a_tombstone_in_postgres() {
    let (server, store) = Postgres::with_store().await;
    let contacts: Arc<dyn ContactStore> = store.clone();
    let contacts = contact_store::race_erasures(&contacts, 60).await;
    let rows = "SELECT (SELECT count(*) FROM contact) || ' ' || (SELECT count(*) FROM tombstone)";
    let expected = format!("{contacts} {}", 60 - contacts);
    assert_eq!(server.sql(rows).await, [expected]);
}

/// The import has read the tombstones when the erasure begins.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_waits_for_an_import_under_way_and_leaves_no_contact() {
    let (server, store) = Postgres::with_store().await;
    let [ada, bea] = ["ada", "bea"].map(|name| imported(name, START));
    let signs_up = server.client().await;
    signs_up
        .batch_execute(
            r#"BEGIN; INSERT INTO contact (state)
             VALUES ('{"email": "bea@example.com", "at": 1, "seen_at": 1}')"#,
        )
        .await
        .unwrap();
    let waits = async |count: &str| {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        until("others to wait", async || {
            server.sql(waiting).await == [count]
        })
        .await;
    };
    let email = ada.email.clone();
    let importing = tokio::spawn({
        let (store, rows) = (Arc::clone(&store), vec![ada, bea]);
        async move { store.import(rows, false).await }
    });
    waits("1").await;
    let erasing = tokio::spawn({
        let (store, emails) = (Arc::clone(&store), [email]);
        async move { store.forget(&emails, START).await }
    });
    waits("2").await;
    signs_up.batch_execute("ROLLBACK").await.unwrap();
    let imported = importing.await.unwrap();
    assert_eq!(imported, Ok(vec![ImportOutcome::Created; 2]));
    assert_eq!(erasing.await.unwrap().unwrap().was_known, [true]);
    let left = "SELECT email FROM contact UNION ALL SELECT 'tombstone' FROM tombstone";
    assert_eq!(server.sql(left).await, ["bea@example.com", "tombstone"]);
}

/// Otherwise an email whose outcome cannot be noted is sent again.
#[tokio::test]
async fn an_erasure_holds_up_sign_ups_and_no_other_change_of_a_contact() {
    let (server, store) = Postgres::with_store().await;
    let sign_up = |name| SignUp {
        is_to_be_confirmed: true,
        ..sign_up_of(address(name), origin(1, None), START)
    };
    store.sign_up(sign_up("ada")).await.unwrap();
    let erases = server.client().await;
    let lock = "BEGIN; LOCK TABLE tombstone IN SHARE ROW EXCLUSIVE MODE";
    erases.batch_execute(lock).await.unwrap();
    let token = sign_up("ada").leave_token;
    assert_eq!(store.confirm(&token, None, None, START).await, Ok(true));
    assert_eq!(store.leave(&token, None, START).await, Ok(true));
    let waits = tokio::time::timeout(Duration::from_millis(300), store.sign_up(sign_up("bea")));
    assert!(waits.await.is_err());
    erases.batch_execute("ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn a_change_of_a_contact_writes_no_index() {
    let (server, store) = Postgres::with_store().await;
    let row = imported("ada", START);
    store.import(vec![row], false).await.unwrap();
    let change = r#"BEGIN; UPDATE contact SET state = state || '{"seen_at": 7}';
        SELECT n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'contact'; COMMIT"#;
    assert_eq!(server.sql(change).await, ["1"]);
}

/// In the other order an import and a sign-up of the address could each wait for the other.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_the_forgotten_takes_the_tombstone_last_as_a_sign_up_does() {
    let (server, store) = Postgres::with_store().await;
    let email = EmailAddress::parse("ada@example.com").unwrap();
    let now = Timestamp::from_ms(1_764_000_000_000);
    store
        .forget(std::slice::from_ref(&email), now)
        .await
        .unwrap();
    let signs_up = server.client().await;
    signs_up
        .batch_execute(
            r#"BEGIN; SET LOCAL lock_timeout = '1s'; INSERT INTO contact (state)
             VALUES ('{"email": "ada@example.com", "at": 1, "seen_at": 1}')"#,
        )
        .await
        .unwrap();
    let imported = tokio::spawn(async move {
        let row = Contact::imported(email, now, None, None);
        store.import(vec![row], true).await
    });
    let waits = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    until("the import to wait for the contact", async || {
        !server.sql(waits).await.is_empty()
    })
    .await;
    let forgets_nothing = signs_up
        .batch_execute("DELETE FROM tombstone; COMMIT")
        .await;
    forgets_nothing.unwrap();
    assert_eq!(imported.await.unwrap(), Ok(vec![ImportOutcome::Known]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_keeps_keys_and_revocations_through_a_crash() {
    let (mut server, store) = Postgres::with_store().await;
    key_issuer::check(store.clone()).await;
    revocation_list::check(store.clone()).await;
    server.kill();
    server.restart().await;
    let reopened = open(&server.url()).await.unwrap();
    key_issuer::assert_holds(&*reopened).await;
    revocation_list::assert_holds(&*reopened).await;
}

#[tokio::test]
async fn postgres_keeps_deliveries() {
    let server = Postgres::start().await;
    delivery_queue::check(server.store().await).await;
    let reopened = open(&server.url()).await.unwrap();
    delivery_queue::assert_holds(&*reopened).await;
}

#[tokio::test]
async fn postgres_keeps_counts() {
    let server = Postgres::start().await;
    count_store::check(&*server.store().await).await;
}

/// The statements have no names, and their settings go with each of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgres_behind_a_pooler_keeps_contacts() {
    let server = Postgres::start_with(&["synchronous_commit=off"]).await;
    drop(server.store().await);
    server
        .sql(
            "CREATE TABLE seen (durable text);
             CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO seen VALUES (current_setting('synchronous_commit') || ' '
                     || current_setting('lock_timeout'));
                 RETURN NULL; END $$;
             CREATE TRIGGER see AFTER INSERT OR UPDATE ON contact
                 FOR EACH ROW EXECUTE FUNCTION see()",
        )
        .await;
    let pooler = Pooler::start(server.port()).await;
    let store = open(&url(pooler.port)).await.unwrap();
    contact_store::check(store.clone()).await;
    key_issuer::check(store).await;
    let seen = "SELECT DISTINCT durable FROM seen ORDER BY 1";
    // Imports wait for rows as long as it takes, and erasures longer than changes.
    assert_eq!(server.sql(seen).await, ["on 0", "on 500ms", "on 50ms"]);
}

/// PgBouncer in transaction mode.
struct Pooler {
    _process: Process,
    port: u16,
    _dir: TempDir,
}

impl Pooler {
    async fn start(target: u16) -> Self {
        let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
        let path = dir.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={target} user=postgres\n[pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\ndefault_pool_size = 4\n"
        );
        fs::write(&path, text).unwrap();
        own(dir.path());
        let process = Process::start(unprivileged("pgbouncer").arg(path));
        until("PgBouncer to start", async || {
            TcpStream::connect(("127.0.0.1", port)).await.is_ok()
        })
        .await;
        Self {
            _process: process,
            port,
            _dir: dir,
        }
    }
}
