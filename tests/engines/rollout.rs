//! Nodes that are killed. The drill restarts them one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use crate::client::{Call, Client, at_once};
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
    clients: tokio::task::JoinHandle<Vec<Vec<String>>>,
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
                    let mut acknowledged = Vec::new();
                    for (turn, address) in addresses.iter().cycle().enumerate().skip(number) {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        let email = format!("ada{number}-{turn}@example.com");
                        let answer = client.try_send(address, &Call::sign_up(&email)).await;
                        if answer.is_ok_and(|answer| answer.status == 200) {
                            acknowledged.push(email);
                        }
                    }
                    acknowledged
                }
            })
            .await
        });
        Self { is_over, clients }
    }

    /// Returns what was acknowledged.
    async fn end(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.clients.await.unwrap().concat()
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
    let acknowledged = load.end().await;
    assert!(acknowledged.len() > 1000, "{}", acknowledged.len());
    let kept = contacts(&postgres).await;
    let lost = acknowledged.iter().find(|email| !kept.contains(*email));
    assert_eq!(lost, None);
}
