//! A PostgreSQL server of this test, in a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use landing_api::adapters::cluster::postgres::{
    PostgresAddress, PostgresOpenError, PostgresSettings, PostgresStore, migrate,
};
use landing_api::adapters::outbound::Roots;
use landing_api::domain::secret::Secret;
use landing_api::metrics::Metrics;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::engine::{Process, free_port, until};

/// The server. It ends with this value.
#[derive(Debug)]
pub(crate) struct Postgres {
    process: Option<Process>,
    port: u16,
    settings: Vec<String>,
    dir: TempDir,
}

/// Ends the connections of all stores.
pub(crate) const TERMINATE: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                                    WHERE application_name = 'landing-api'";

impl Postgres {
    /// Makes a server without tables and starts it.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// The same with tables, and the store.
    pub(crate) async fn with_store() -> (Self, Arc<PostgresStore>) {
        let server = Self::start().await;
        let store = server.store().await;
        (server, store)
    }

    /// The same with settings such as `fsync=off`.
    pub(crate) async fn start_with(settings: &[&str]) -> Self {
        let mut server = Self::at(free_port(), settings);
        let data = server.data();
        run(unprivileged("initdb")
            .args(["--no-sync", "--auth=trust", "--username=postgres", "-D"])
            .arg(data));
        server.restart().await;
        server
    }

    /// Makes a standby of this server and starts it. From now on this one acknowledges nothing that the
    /// standby does not have.
    pub(crate) async fn standby_at(&self, port: u16) -> Self {
        let mut standby = Self::at(port, &[]);
        run(unprivileged("pg_basebackup")
            .args(["--host=127.0.0.1", "--username=postgres", "--no-sync"])
            .args(["--checkpoint=fast", "--write-recovery-conf", "--port"])
            .arg(self.port.to_string())
            .arg("-D")
            .arg(standby.data()));
        standby.restart().await;
        self.set_now("synchronous_standby_names", "*").await;
        let state = "SELECT sync_state FROM pg_stat_replication";
        until("the standby to be synchronous", async || {
            self.sql(state).await == ["sync"]
        })
        .await;
        // The process that does it is the one that has commits wait.
        self.sql("CHECKPOINT").await;
        standby
    }

    /// A server that has not been started, without files.
    fn at(port: u16, settings: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        own(dir.path());
        Self {
            process: None,
            port,
            settings: settings.iter().map(|it| (*it).to_owned()).collect(),
            dir,
        }
    }

    pub(crate) async fn set_now(&self, setting: &str, value: &str) {
        self.sql(&format!("ALTER SYSTEM SET {setting} = '{value}'"))
            .await;
        self.sql("SELECT pg_reload_conf()").await;
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        url(self.port)
    }

    /// Starts it, again and again until it takes connections: the processes of an earlier one may still be
    /// ending.
    pub(crate) async fn restart(&mut self) {
        until("PostgreSQL to start", async || {
            if self.process.as_mut().is_none_or(Process::has_ended) {
                self.process = Some(Process::start(&mut self.command()));
            }
            self.connect().await.is_some()
        })
        .await;
    }

    fn command(&self) -> Command {
        let mut command = unprivileged("postgres");
        command.arg("-D").arg(self.data());
        command.args(["-p", &self.port.to_string()]);
        let ours = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "shared_buffers=32MB",
            "max_connections=60",
            "log_min_messages=panic",
            // After a kill it would sync file by file.
            "recovery_init_sync_method=syncfs",
        ];
        let settings = self.settings.iter().map(String::as_str);
        for setting in ours.into_iter().chain(settings) {
            command.args(["-c", setting]);
        }
        command
    }

    pub(crate) fn set(&mut self, setting: &str) {
        self.settings.push(setting.to_owned());
    }

    /// Kills it and all of its processes.
    pub(crate) fn kill(&mut self) {
        let process = self.process.take().unwrap();
        let children = children(process.id());
        process.end(Signal::KILL);
        for child in children {
            // Fails if it has ended.
            let _ = kill_process(child, Signal::KILL);
        }
    }

    /// Sends a signal to it and all of its processes.
    pub(crate) fn signal_all(&self, signal: Signal) {
        let process = self.process.as_ref().unwrap();
        process.signal(signal);
        for child in children(process.id()) {
            // Fails if it has ended.
            let _ = kill_process(child, signal);
        }
    }

    async fn connect(&self) -> Option<Client> {
        let url = self.url();
        let connected = tokio_postgres::connect(&url, NoTls);
        let connected = tokio::time::timeout(Duration::from_secs(5), connected).await;
        let (client, connection) = connected.ok()?.ok()?;
        tokio::spawn(connection);
        Some(client)
    }

    pub(crate) async fn client(&self) -> Client {
        self.connect().await.unwrap()
    }

    /// Runs statements and returns the first column of their rows.
    pub(crate) async fn sql(&self, statements: &str) -> Vec<String> {
        let answer = self.client().await.simple_query(statements).await;
        let mut values = Vec::new();
        for message in answer.unwrap() {
            if let SimpleQueryMessage::Row(row) = message {
                values.push(row.get(0).unwrap_or_default().to_owned());
            }
        }
        values
    }

    /// Makes the tables and opens the store.
    pub(crate) async fn store(&self) -> Arc<PostgresStore> {
        migrate(&settings(&self.url())).await.unwrap();
        open(&self.url()).await.unwrap()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

pub(crate) fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
}

pub(crate) fn settings(url: &str) -> PostgresSettings {
    let secret = Secret::new([7; 32]);
    PostgresSettings {
        address: PostgresAddress::parse(url).unwrap(),
        password_file: None,
        roots: Roots::of([]),
        tombstone_keys: vec![secret.keys().tombstone],
        secret_ids: vec![secret.id()],
    }
}

/// Opens the store without waiting for the database.
pub(crate) async fn open(url: &str) -> Result<Arc<PostgresStore>, PostgresOpenError> {
    open_with(&settings(url)).await
}

pub(crate) async fn open_with(
    settings: &PostgresSettings,
) -> Result<Arc<PostgresStore>, PostgresOpenError> {
    open_counted(settings, &Arc::new(Metrics::new([]))).await
}

pub(crate) async fn open_counted(
    settings: &PostgresSettings,
    metrics: &Arc<Metrics>,
) -> Result<Arc<PostgresStore>, PostgresOpenError> {
    let metrics = Arc::clone(metrics);
    PostgresStore::connect(settings, metrics, Duration::ZERO).await
}

/// PostgreSQL refuses to run as root.
pub(crate) fn unprivileged(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=postgres",
        "--regid=postgres",
        "--clear-groups",
        program,
    ]);
    command
}

/// Hands a file or a directory to the user that PostgreSQL runs as.
pub(crate) fn own(path: &Path) {
    if rustix::process::geteuid().is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(path));
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

fn children(of: u32) -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children"));
    let listed = listed.unwrap_or_default();
    let ids = listed.split_whitespace().map(|id| id.parse().unwrap());
    ids.filter_map(Pid::from_raw).collect()
}
