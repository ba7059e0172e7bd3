//! Nodes come and go: killed, restarted one after the other, and in place of one machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::client::{Call, Client, at_once};
use crate::haproxy::HaProxy;
use crate::nodes::{Nodes, contacts, engines};

/// No limit but those of the tests of limits.
const UNLIMITED: [&str; 5] = [
    "--limit=default=off",
    "--limit=ip=off",
    "--limit=newsletter=off",
    "--limit=newsletter-ip=off",
    "--limit=newsletter-all=off",
];

/// Clients that sign new addresses up until they are stopped.
struct SigningUp {
    is_over: Arc<AtomicBool>,
    clients: tokio::task::JoinHandle<Vec<(Vec<String>, Vec<String>)>>,
}

impl SigningUp {
    /// Each asks all of `addresses` in turn.
    fn begin(count: usize, addresses: Vec<String>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let clients = tokio::spawn(async move {
            at_once(count, |number, client: Client| {
                let (addresses, over) = (addresses.clone(), over.clone());
                async move {
                    let (mut acknowledged, mut faults) = (Vec::new(), Vec::new());
                    for (turn, address) in addresses.iter().cycle().enumerate().skip(number) {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let email = format!("ada{number}-{turn}@example.com");
                        match client.try_send(address, &Call::sign_up(&email)).await {
                            Ok(answer) if answer.status == 200 => acknowledged.push(email),
                            Ok(answer) => faults.push(format!("{answer:?}")),
                            Err(error) => faults.push(error),
                        }
                    }
                    (acknowledged, faults)
                }
            })
            .await
        });
        Self { is_over, clients }
    }

    /// Returns what was acknowledged, and what went wrong.
    async fn end(self) -> (Vec<String>, Vec<String>) {
        self.is_over.store(true, Ordering::Relaxed);
        let (acknowledged, faults): (Vec<_>, Vec<_>) =
            self.clients.await.unwrap().into_iter().unzip();
        (acknowledged.concat(), faults.concat())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_killed_nodes_lose_no_acknowledged_contact() {
    const NODES: usize = 3;
    let (postgres, _redis, urls) = engines().await;
    let mut nodes = Nodes::start(NODES, &urls, &UNLIMITED);
    let load = SigningUp::begin(8, nodes.addresses.clone());
    for kill in 0..100 {
        nodes.end(kill % NODES, Signal::KILL);
        nodes.begin(kill % NODES);
    }
    let (acknowledged, _faults) = load.end().await;
    assert!(acknowledged.len() > 1000, "{}", acknowledged.len());
    let kept = contacts(&postgres).await;
    let lost = acknowledged.iter().find(|email| !kept.contains(*email));
    assert_eq!(lost, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_behind_haproxy_loses_no_request() {
    const NODES: usize = 3;
    let (postgres, _redis, urls) = engines().await;
    let flags = [&UNLIMITED[..], &["--drain-notice=2s"]].concat();
    let mut nodes = Nodes::start(NODES, &urls, &flags);
    let haproxy = HaProxy::of_nodes(&nodes.addresses).await;
    haproxy.has_all(NODES).await;
    let load = SigningUp::begin(32, vec![haproxy.address.clone()]);
    for node in 0..NODES {
        assert_eq!(nodes.end(node, Signal::TERM), Some(0));
        nodes.begin(node);
        haproxy.has_all(NODES).await;
    }
    let (acknowledged, faults) = load.end().await;
    assert_eq!(faults, Vec::<String>::new());
    assert!(acknowledged.len() > 1000, "{}", acknowledged.len());
    let kept = contacts(&postgres).await;
    assert!(acknowledged.iter().all(|email| kept.contains(email)));
    assert_eq!(kept.len(), acknowledged.len());
}
