//! Redis and Valkey as processes of this test.

use std::process::Command;

use landing_api::adapters::cluster::redis::{RedisAddress, RedisSettings};
use landing_api::adapters::outbound::Roots;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::engine::{Process, free_port, until};

/// Where Valkey's server is, if it is here.
const VALKEY_SERVER: &str = "VALKEY_SERVER";

/// A server, empty at its start.
pub(crate) struct Redis {
    program: String,
    pub(crate) port: u16,
    arguments: Vec<String>,
    dir: TempDir,
    process: Option<Process>,
}

impl Redis {
    pub(crate) async fn start() -> Self {
        Self::start_with("redis-server", &[]).await
    }

    /// Starts Valkey, if it is here.
    pub(crate) async fn start_valkey() -> Option<Self> {
        #[allow(clippy::disallowed_methods, reason = "the environment of the test")]
        let Ok(program) = std::env::var(VALKEY_SERVER) else {
            #[allow(clippy::print_stdout, reason = "for whoever runs the test")]
            {
                println!("{VALKEY_SERVER} is not set: without Valkey");
            }
            return None;
        };
        Some(Self::start_with(&program, &[]).await)
    }

    /// Starts `program` with more arguments.
    pub(crate) async fn start_with(program: &str, arguments: &[&str]) -> Self {
        let mut redis = Self {
            program: program.to_owned(),
            port: free_port(),
            arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
            dir: tempfile::tempdir().unwrap(),
            process: None,
        };
        redis.start_again().await;
        redis
    }

    /// Starts the server again, after [`Redis::kill`]. It has forgotten everything.
    pub(crate) async fn start_again(&mut self) {
        let mut command = Command::new(&self.program);
        command.current_dir(self.dir.path());
        command.args(["--port", &self.port.to_string(), "--save", ""]);
        command.args(["--bind", "127.0.0.1"]).args(&self.arguments);
        self.process = Some(Process::start(&mut command));
        until("redis", async || self.cli(&["ping"]) == "PONG").await;
    }

    /// Ends the server without notice.
    pub(crate) fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.end(Signal::KILL);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.as_ref().unwrap().signal(signal);
    }

    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port.to_string()]).args(arguments);
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        settings(&format!("redis://127.0.0.1:{}", self.port))
    }
}

pub(crate) fn settings(url: &str) -> RedisSettings {
    RedisSettings {
        address: RedisAddress::parse(url).unwrap(),
        metrics: None,
        password_file: None,
        roots: Roots::of([]),
    }
}
