//! Redis and Valkey as processes of this test, alone and as a cluster.

use std::process::Command;
use std::time::Duration;

use landing_api::adapters::outbound::Roots;
use landing_api::adapters::redis::{RedisAddress, RedisSettings};
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
    /// Starts `redis-server`.
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

    /// Sends the server a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.process.as_ref().unwrap().signal(signal);
    }

    /// What `redis-cli` prints for a command.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        cli(self.port, arguments)
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        settings(&format!("redis://127.0.0.1:{}", self.port))
    }
}

/// What `redis-cli` prints for a command to the server at `port`.
pub(crate) fn cli(port: u16, arguments: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &port.to_string()]).args(arguments);
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The settings for a URL.
pub(crate) fn settings(url: &str) -> RedisSettings {
    RedisSettings {
        address: RedisAddress::parse(url).unwrap(),
        password_file: None,
        roots: Roots::of([]),
    }
}

/// Three primaries with a replica each.
pub(crate) struct RedisCluster {
    pub(crate) nodes: Vec<Redis>,
}

/// How long a primary may be silent before its replica takes over.
const NODE_TIMEOUT: Duration = Duration::from_millis(2000);

impl RedisCluster {
    pub(crate) async fn start() -> Self {
        let timeout = NODE_TIMEOUT.as_millis().to_string();
        let mut nodes = Vec::new();
        for _ in 0..6 {
            let bus = free_port().to_string();
            let arguments = [
                ["--cluster-enabled", "yes"],
                ["--cluster-port", &bus],
                ["--cluster-node-timeout", &timeout],
                ["--cluster-require-full-coverage", "no"],
                ["--repl-diskless-sync-delay", "0"],
            ];
            nodes.push(Redis::start_with("redis-server", arguments.as_flattened()).await);
        }
        let cluster = Self { nodes };
        let mut create = Command::new("redis-cli");
        create
            .args(["--cluster", "create"])
            .args(cluster.addresses());
        create.args(["--cluster-replicas", "1", "--cluster-yes"]);
        let output = create.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        cluster.until_ok().await;
        cluster
    }

    /// Waits until all slots have a primary with a replica, and every server knows.
    pub(crate) async fn until_ok(&self) {
        until("the cluster", async || {
            self.running().all(|node| {
                let (info, role) = (node.cli(&["cluster", "info"]), node.cli(&["role"]));
                let is_replicated = match role.starts_with("master") {
                    true => node.cli(&["info", "replication"]).contains("state=online"),
                    false => role.contains("connected"),
                };
                is_replicated
                    && info.contains("cluster_state:ok")
                    && info.contains("cluster_slots_ok:16384")
                    && info.contains("cluster_known_nodes:6")
            })
        })
        .await;
    }

    fn running(&self) -> impl Iterator<Item = &Redis> {
        self.nodes.iter().filter(|node| node.process.is_some())
    }

    pub(crate) fn settings(&self) -> RedisSettings {
        settings(&self.url())
    }

    pub(crate) fn url(&self) -> String {
        format!("redis-cluster://{}", self.addresses().join(","))
    }

    fn addresses(&self) -> Vec<String> {
        let nodes = self.nodes.iter();
        nodes
            .map(|node| format!("127.0.0.1:{}", node.port))
            .collect()
    }

    /// Moves slots from one primary to another.
    pub(crate) fn move_slots(&mut self, count: u32) {
        let ids: Vec<_> = self
            .nodes
            .iter()
            .filter(|node| node.cli(&["role"]).starts_with("master"))
            .map(|node| node.cli(&["cluster", "myid"]))
            .collect();
        let mut reshard = Command::new("redis-cli");
        let any = format!("127.0.0.1:{}", self.nodes[0].port);
        reshard.args(["--cluster", "reshard", &any, "--cluster-yes"]);
        reshard.args(["--cluster-from", &ids[0], "--cluster-to", &ids[1]]);
        reshard.args(["--cluster-slots", &count.to_string()]);
        let output = reshard.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// The first server that is a primary.
    pub(crate) fn primary(&mut self) -> &mut Redis {
        let is_primary =
            |node: &&mut Redis| node.process.is_some() && node.cli(&["role"]).starts_with("master");
        self.nodes.iter_mut().find(is_primary).unwrap()
    }
}
