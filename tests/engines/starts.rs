//! What the store is opened with and on: migrations, refusals, passwords and TLS.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use landing_api::adapters::cluster::postgres::{
    Migration, PostgresAddress, PostgresOpenError, PostgresSettings, migrate,
};
use landing_api::adapters::outbound::Roots;
use landing_api::domain::secret::Secret;

use crate::engine::password_file;
use crate::limits_access::issue;
use crate::postgres::{open, open_with, own, settings};
use crate::prelude::*;

const NO_TABLES: &str = "the database has no tables yet";
const FOREIGN_SECRET: &str = "this is not the secret of the database";
const FSYNC_OFF: &str = "the server runs with fsync=off";
const READ_ONLY: &str = "the database is not writable";

/// Fails unless the store does not open, for this reason in the operator's words.
async fn check_refused(settings: &PostgresSettings, reason: &str) {
    check_reason(open_with(settings).await.err().unwrap(), reason);
}

fn check_reason(refused: PostgresOpenError, reason: &str) {
    let text = refused.to_string();
    assert!(text.contains(reason), "{text}");
    for secret in ["\n", "hunter2", "127.0.0.1"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[tokio::test]
async fn tables_are_made_once_and_those_of_another_version_are_told() {
    let server = Postgres::start().await;
    let settings = settings(&server.url());
    check_refused(&settings, NO_TABLES).await;
    let migrations = [migrate(&settings), migrate(&settings), migrate(&settings)];
    let migrations = futures_util::future::join_all(migrations).await;
    let made = Migration {
        before: None,
        after: 7,
        secret_replaced: false,
    };
    let found = Migration {
        before: Some(7),
        ..made
    };
    let mut migrations: Vec<_> = migrations.into_iter().map(Result::unwrap).collect();
    migrations.sort_by_key(|it| it.before);
    assert_eq!(migrations, [made, found, found]);
    drop(open_with(&settings).await.unwrap());

    for other in [6, 8] {
        let set = format!("UPDATE landing_meta SET schema = {other}");
        server.sql(&set).await;
        let versions = format!("version ({other}, this one needs 7)");
        for words in [&versions, "a new database"] {
            check_refused(&settings, words).await;
            check_reason(migrate(&settings).await.unwrap_err(), words);
        }
    }
}

#[tokio::test]
async fn a_table_of_another_program_is_left_alone() {
    let server = Postgres::start().await;
    server.sql("CREATE TABLE contact (name text)").await;
    let refused = migrate(&settings(&server.url())).await;
    check_reason(refused.unwrap_err(), "belongs to another program");
    let made = "SELECT to_regclass('landing_meta') IS NULL";
    assert_eq!(server.sql(made).await, ["t"]);
}

#[tokio::test]
async fn a_foreign_secret_is_refused_and_an_earlier_one_replaced() {
    let (server, _) = Postgres::with_store().await;
    let earlier = settings(&server.url());
    let (new, other) = (Secret::new([8; 32]), Secret::new([9; 32]));
    let mut current = earlier.clone();
    current.secret_ids = vec![new.id()];
    current.tombstone_keys = vec![new.keys().tombstone];
    check_refused(&current, FOREIGN_SECRET).await;
    check_reason(migrate(&current).await.unwrap_err(), FOREIGN_SECRET);

    // What was forgotten under the earlier one stays so.
    let store = open_with(&earlier).await.unwrap();
    store.forget(&[address("ada")], START).await.unwrap();
    current.secret_ids.push(earlier.secret_ids[0].clone());
    current
        .tombstone_keys
        .extend(earlier.tombstone_keys.clone());
    for secret_replaced in [true, false] {
        drop(open_with(&current).await.unwrap());
        let migration = migrate(&current).await.unwrap();
        assert_eq!(migration.secret_replaced, secret_replaced);
    }
    check_refused(&earlier, FOREIGN_SECRET).await;
    let store = open_with(&current).await.unwrap();
    let row = imported("ada", START);
    let outcomes = store.import(vec![row.clone()], false).await.unwrap();
    assert_eq!(format!("{outcomes:?}"), "[Forgotten]");
    assert_eq!(sign_up(&store, "ada").await, Ok(Subscription::Created));
    assert_eq!(server.sql("SELECT count(*) FROM tombstone").await, ["0"]);
    current.secret_ids = vec![other.id(), new.id()];
    drop(open_with(&current).await.unwrap());
}

#[tokio::test]
async fn a_server_that_does_not_flush_is_refused() {
    let server = Postgres::start_with(&["fsync=off"]).await;
    let settings = settings(&server.url());
    check_reason(migrate(&settings).await.unwrap_err(), FSYNC_OFF);
    check_refused(&settings, FSYNC_OFF).await;
}

#[tokio::test]
async fn a_primary_that_takes_no_writes_is_refused_and_the_other_host_is_taken() {
    let (server, _) = Postgres::with_store().await;
    let other = Postgres::start_with(&["default_transaction_read_only=on"]).await;
    check_refused(&settings(&other.url()), READ_ONLY).await;
    let (one, two) = (other.port(), server.port());
    for (one, two) in [(one, two), (two, one), (two, free_port())] {
        let hosts = format!("127.0.0.1:{one},127.0.0.1:{two}");
        let url = format!("postgres://postgres@{hosts}/postgres?sslmode=disable");
        drop(open(&url).await.unwrap());
    }
}

#[tokio::test]
async fn a_silent_host_holds_an_attempt_up_for_three_seconds() {
    let server = Postgres::start().await;
    let relay = Relay::start(server.port()).await;
    relay.set(Flow::Stall);
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", relay.port(), free_port());
    let url = format!("postgres://postgres@{hosts}/postgres?sslmode=disable");
    let begun = Instant::now();
    check_refused(&settings(&url), "cannot be reached").await;
    let seconds = begun.elapsed().as_secs_f32();
    assert!((3.0..4.5).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn who_is_not_let_in_is_told_at_once() {
    let (server, _) = Postgres::with_store().await;
    server.sql("ALTER ROLE postgres PASSWORD 'hunter2'").await;
    let other = server.url().replace("/postgres?", "/other?");
    check_refused(&settings(&other), "the server has no such database").await;
    let hba = "host all all all scram-sha-256\n";
    fs::write(server.data().join("pg_hba.conf"), hba).unwrap();
    server.sql("SELECT pg_reload_conf()").await;
    let dir = tempfile::tempdir().unwrap();
    let with = |password| Some(password_file(dir.path(), password));
    for password_file in [None, with("other")] {
        let mut settings = settings(&server.url());
        settings.password_file = password_file;
        check_refused(&settings, "rejects the user or the password").await;
    }
    let mut settings = settings(&server.url());
    settings.password_file = with("hunter2");
    drop(open_with(&settings).await.unwrap());
    let with_password = server.url().replace("postgres@", "postgres:hunter2@");
    drop(open(&with_password).await.unwrap());
    settings.address = PostgresAddress::parse(&with_password).unwrap();
    check_refused(&settings, "the password is in the URL and in a file").await;
    settings.address = PostgresAddress::parse(&url(free_port())).unwrap();
    check_refused(&settings, "cannot be reached").await;
}

#[tokio::test]
async fn a_password_is_read_at_each_log_in() {
    let (server, _) = Postgres::with_store().await;
    let role = "CREATE ROLE site SUPERUSER LOGIN PASSWORD 'one'";
    server.sql(role).await;
    let hba = "host all site all scram-sha-256\nhost all all all trust\n";
    fs::write(server.data().join("pg_hba.conf"), hba).unwrap();
    server.sql("SELECT pg_reload_conf()").await;
    let dir = tempfile::tempdir().unwrap();
    let settings = PostgresSettings {
        password_file: Some(password_file(dir.path(), "one")),
        ..settings(&server.url().replace("postgres@", "site@"))
    };
    let store = open_with(&settings).await.unwrap();
    server.sql("ALTER ROLE site PASSWORD 'two'").await;
    password_file(dir.path(), "two");
    server.sql(TERMINATE).await;
    until("a log-in with the other password", async || {
        sign_up(&store, "ada").await.is_ok()
    })
    .await;
    fs::remove_file(dir.path().join("password")).unwrap();
    check_refused(&settings, "password: No such file").await;
}

/// Restarts a server with TLS for `localhost`. Returns the authority, which is also a file among its data.
pub(crate) async fn turn_tls_on(server: &mut Postgres) -> Roots {
    let data = server.data();
    let roots = issue(&data);
    for (made, name) in [("certificate", "server.crt"), ("key", "server.key")] {
        let path = data.join(name);
        fs::rename(data.join(made), &path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        own(&path);
    }
    server.kill();
    server.set("ssl=on");
    server.restart().await;
    roots
}

#[tokio::test]
async fn certificates_are_always_verified() {
    let (mut server, _) = Postgres::with_store().await;
    let at = |host: &str, parameters: &str| {
        let port = server.port();
        format!("postgres://postgres@{host}:{port}/postgres?{parameters}")
    };
    let local = at("localhost", "sslmode=require");
    let other = at("127.0.0.1", "sslmode=verify-full");
    let preferred = at("localhost", "sslmode=prefer");
    // Without TLS at the server.
    check_refused(&settings(&local), "no TLS with the database").await;
    drop(open(&preferred).await.unwrap());

    let mut trusting = settings(&local);
    trusting.roots = turn_tls_on(&mut server).await;
    drop(open_with(&trusting).await.unwrap());
    // On one machine it is not needed.
    drop(open(&preferred).await.unwrap());
    for url in [&local, &other] {
        // Another authority, or another name.
        let mut settings = settings(url);
        if *url == other {
            settings.roots = trusting.roots.clone();
        }
        let refused = open_with(&settings).await.err().unwrap().to_string();
        assert!(refused.contains("no TLS with the database"), "{refused}");
    }
}
