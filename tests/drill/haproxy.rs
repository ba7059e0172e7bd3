//! HAProxy in front of the nodes, and in front of the limits' engine.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::Command;

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::client::{Call, Client};
use crate::engine::{Process, free_port, until};

const DEFAULTS: &str = "
global
    maxconn 4000
defaults
    mode http
    maxconn 2000
    timeout connect 1s
    timeout client 30s
    timeout server 30s
    timeout check 1s
    # Only what no node has seen is sent again, and to another node.
    retry-on conn-failure
    retries 3
    option redispatch 1
";

/// The service's nodes behind one address: whoever says 200 to `GET /livez` gets requests.
const NODES: &str = "
listen nodes
    bind 127.0.0.1:PORT
    balance roundrobin
    option forwardfor
    option httpchk GET /livez
    http-check expect status 200
    http-response set-header X-Node %s
    default-server check inter 200ms fall 1 rise 1
";

/// The one of several Redis servers that is the primary: an address that moves.
const PRIMARY: &str = r#"
listen limits
    mode tcp
    bind 127.0.0.1:PORT
    timeout client 1h
    timeout server 1h
    option tcp-check
    tcp-check connect
    # Without the end of the connection HAProxy would wait for what a replica never says.
    tcp-check send "info replication\r\nquit\r\n"
    tcp-check expect string role:master
    default-server check inter 200ms fall 1 rise 1 on-marked-down shutdown-sessions
"#;

pub(crate) struct HaProxy {
    /// Where it listens, as `IP:PORT`.
    pub(crate) address: String,
    _process: Process,
    _dir: TempDir,
}

impl HaProxy {
    pub(crate) async fn of_nodes(addresses: &[String]) -> Self {
        Self::start(NODES, addresses).await
    }

    pub(crate) async fn of_primary(addresses: &[String]) -> Self {
        Self::start(PRIMARY, addresses).await
    }

    async fn start(section: &str, addresses: &[String]) -> Self {
        let port = free_port();
        let mut config = DEFAULTS.to_owned() + &section.replace("PORT", &port.to_string());
        for (number, address) in addresses.iter().enumerate() {
            writeln!(config, "    server s{number} {address}").unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("haproxy.cfg");
        std::fs::write(&file, config).unwrap();
        let process = Process::start(Command::new("haproxy").arg("-db").arg("-f").arg(file));
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        until("HAProxy", async || {
            TcpStream::connect(address).await.is_ok()
        })
        .await;
        Self {
            address: address.to_string(),
            _process: process,
            _dir: dir,
        }
    }

    /// Waits until so many nodes get requests.
    pub(crate) async fn has_all(&self, nodes: usize) {
        let client = Client::new();
        until("all nodes", async || {
            let mut seen = HashSet::new();
            for _ in 0..2 * nodes {
                let answer = client.send(&self.address, &Call::get("/livez")).await;
                seen.extend(answer.headers.get("x-node").cloned());
            }
            seen.len() == nodes
        })
        .await;
    }
}
