//! Several processes of the service over the same engines.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;
use tokio::task::block_in_place;

use crate::engine::free_port;
use crate::postgres::Postgres;
use crate::program::{Program, Ran, landing_api};
use crate::redis::Redis;

/// Where the engines are, as the flags have it.
#[derive(Clone, Debug)]
pub(crate) struct Urls {
    pub(crate) store: String,
    pub(crate) limits: String,
}

impl Urls {
    pub(crate) fn of(postgres: &Postgres, redis: &Redis) -> Self {
        Self {
            store: postgres.url(),
            limits: format!("redis://127.0.0.1:{}", redis.port),
        }
    }
}

pub(crate) async fn engines() -> (Postgres, Redis, Urls) {
    let (postgres, redis) = (Postgres::start().await, Redis::start().await);
    let urls = Urls::of(&postgres, &redis);
    (postgres, redis, urls)
}

/// The addresses in the record.
pub(crate) async fn contacts(postgres: &Postgres) -> HashSet<String> {
    let contacts = postgres.sql("SELECT email FROM contact").await;
    contacts.into_iter().collect()
}

/// The nodes, each with a port and a log of its own. They end with this value.
pub(crate) struct Nodes {
    dir: TempDir,
    flags: Vec<String>,
    /// Where each listens, as `IP:PORT`, whether it runs or not.
    pub(crate) addresses: Vec<String>,
    programs: Vec<Option<Program>>,
}

/// A secret as `--secret-file` wants it.
pub(crate) fn write_secret(path: &Path, lines: &[&str]) {
    fs::write(path, lines.join("\n") + "\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

impl Nodes {
    /// Makes the tables, and starts `count` nodes with `flags` beside those that name the engines.
    pub(crate) fn start(count: usize, urls: &Urls, flags: &[&str]) -> Self {
        let mut nodes = Self::prepare(count, urls, flags);
        nodes.migrate();
        for number in 0..count {
            nodes.begin(number);
        }
        nodes
    }

    /// The same, but nothing is started yet.
    pub(crate) fn prepare(count: usize, urls: &Urls, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        write_secret(&secret, &[SECRET]);
        let (store, limits, secret) = (&urls.store, &urls.limits, secret.display());
        let common = format!(
            "--store {store} --limits {limits} --secret-file {secret} --nodes {count} --trusted-proxy 127.0.0.1"
        );
        let flags = common.split(' ').chain(flags.iter().copied());
        let address = |_| format!("127.0.0.1:{}", free_port());
        Self {
            dir,
            flags: flags.map(str::to_owned).collect(),
            addresses: (0..count).map(address).collect(),
            programs: (0..count).map(|_| None).collect(),
        }
    }

    pub(crate) fn secret_file(&self) -> PathBuf {
        self.dir.path().join("secret")
    }

    /// `landing-api WORDS --store URL --secret-file FILE`.
    pub(crate) fn operator(&self, words: &[&str]) -> Command {
        let mut command = landing_api(words);
        command.args(["--store", &self.flags[1], "--secret-file"]);
        command.arg(self.secret_file());
        command
    }

    /// Makes the tables, or has them know the secret of now. Returns what was done, as JSON.
    pub(crate) fn migrate(&self) -> String {
        let mut migrate = self.operator(&["migrate", "--json"]);
        block_in_place(|| Ran::of(&mut migrate).done().out)
    }

    pub(crate) fn command(&self, number: usize) -> Command {
        let mut command = landing_api(&["--listen", &self.addresses[number]]);
        command.args(&self.flags);
        command
    }

    /// Starts a node that does not run. It goes on in the log it had.
    pub(crate) fn begin(&mut self, number: usize) {
        assert!(self.programs[number].is_none(), "it runs");
        let log = File::options()
            .append(true)
            .create(true)
            .open(self.log_file(number));
        let program = block_in_place(|| Program::start(self.command(number).stderr(log.unwrap())));
        self.programs[number] = Some(program);
    }

    /// Sends a signal to a node, and waits for its end. Returns its exit status.
    pub(crate) fn end(&mut self, number: usize, signal: Signal) -> Option<i32> {
        block_in_place(|| self.programs[number].take().unwrap().status_after(signal))
    }

    /// Takes a node out, which then ends with what is returned.
    pub(crate) fn take(&mut self, number: usize) -> Program {
        self.programs[number].take().unwrap()
    }

    fn log_file(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("log{number}"))
    }

    pub(crate) fn log(&self, number: usize) -> String {
        fs::read_to_string(self.log_file(number)).unwrap_or_default()
    }
}

/// The secret of these tests.
pub(crate) const SECRET: &str = "7b0f6f1d3c2a49588e6d5c4b3a29181f0e1d2c3b4a5968778695a4b3c2d1e0ff";
