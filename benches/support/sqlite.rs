//! SQLite as a keeper of sign-ups (WAL, synchronous FULL, a row a commit, a unique index on the address), called
//! directly or behind bare hyper that does nothing else.
#![allow(dead_code, reason = "no bench needs all of it")]

use std::convert::Infallible;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use landing_api::domain::time::Timestamp;
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::support::{Server, json, serve_bare};

/// The hash of the network that sign-ups come from, and when, where no service says so.
pub(crate) const NETWORK: [u8; 8] = [7; 8];
pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

/// Set for the child that is SQLite behind bare hyper: where it keeps its database.
const DIRECTORY: &str = "BENCH_SQLITE_DIR";

/// One connection behind a lock, used in place: nothing is handed to another thread, and SQLite
/// has one writer at a time in any case.
#[derive(Clone)]
pub(crate) struct Sqlite(Arc<Mutex<Connection>>);

impl Sqlite {
    pub(crate) fn open(directory: &Path) -> Self {
        let connection = Connection::open(directory.join("contacts.sqlite")).unwrap();
        let mode: String = connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .unwrap();
        assert_eq!(mode, "wal");
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL;
                 CREATE TABLE IF NOT EXISTS contacts (
                     email TEXT NOT NULL UNIQUE,
                     network BLOB NOT NULL,
                     subscribed_at INTEGER NOT NULL
                 );",
            )
            .unwrap();
        Self(Arc::new(Mutex::new(connection)))
    }

    /// Whether the address is new.
    pub(crate) fn keep(&self, email: &str) -> bool {
        let connection = self.0.lock().unwrap();
        insert(&connection, email) == 1
    }

    /// Adds all of them at once.
    pub(crate) fn fill(&self, emails: impl Iterator<Item = String>) {
        let mut connection = self.0.lock().unwrap();
        let all = connection.transaction().unwrap();
        for email in emails {
            insert(&all, &email);
        }
        all.commit().unwrap();
    }
}

fn insert(connection: &Connection, email: &str) -> usize {
    let mut insert = connection
        .prepare_cached("INSERT INTO contacts VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")
        .unwrap();
    let at = i64::try_from(NOW.as_ms()).unwrap();
    insert.execute((email, NETWORK, at)).unwrap()
}

/// Starts it behind bare hyper, as a process of this program, which has to call [`serve_if_asked`].
pub(crate) fn start(directory: &Path) -> Server {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(DIRECTORY, directory);
    Server::start(command)
}

/// Serves for as long as the process lives if it is the child.
pub(crate) fn serve_if_asked() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        let sqlite = Sqlite::open(Path::new(&directory));
        let serving = serve_bare(None, move |request| answer(sqlite.clone(), request));
        Runtime::new().unwrap().block_on(serving);
    }
}

async fn answer(
    sqlite: Sqlite,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let is_new = sqlite.keep(body["email"].as_str().unwrap());
    let body = serde_json::json!({ "ok": true, "mode": "contact", "alreadyExists": !is_new });
    Ok(json(serde_json::to_vec(&body).unwrap().into()))
}
