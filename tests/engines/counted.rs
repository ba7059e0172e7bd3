//! Several nodes count as one: however clients spread their requests, no window holds more than its count.

use std::time::Duration;

use tokio::time::Instant;

use crate::client::{Answer, Call, Client, at_once};
use crate::nodes::{Nodes, engines};
use crate::upstream::{Script, Upstream};

const CLIENTS: usize = 64;

/// How long clients ask: for several windows.
const LENGTH: Duration = Duration::from_secs(7);

/// Has the clients send what `call` makes of their number, to each node in turn.
/// Returns the answers of each.
async fn ask(nodes: &Nodes, call: impl Fn(usize) -> Call) -> Vec<Vec<Answer>> {
    let until = Instant::now() + LENGTH;
    at_once(CLIENTS, |number, client: Client| {
        let (addresses, call) = (nodes.addresses.clone(), call(number));
        async move {
            let mut answers = Vec::new();
            for address in addresses.iter().cycle().skip(number) {
                if Instant::now() > until {
                    break;
                }
                answers.push(client.send(address, &call).await);
            }
            answers
        }
    })
    .await
}

/// What became of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Decided {
    /// How many the engine admitted.
    admitted: u32,
    /// How many a node decided alone: on a machine that is busy, the engine's answer may come too late.
    alone: u32,
    all: u32,
}

impl Decided {
    /// A node that decides alone shows another count of `policy` than the engine's.
    fn add(&mut self, answers: &[Answer], policy: &str, count: u32) {
        for answer in answers {
            assert!([200, 429].contains(&answer.status), "{answer:?}");
            self.all += 1;
            if answer.quota(policy) != count {
                self.alone += 1;
            } else if answer.status == 200 {
                self.admitted += 1;
            }
        }
    }

    /// The engine admitted exactly `count`, if those that it may have charged without an answer in time
    /// are counted.
    fn check(self, count: u32) {
        assert!(self.admitted <= count, "{self:?}");
        assert!(self.admitted + self.alone >= count, "{self:?}");
        assert!(self.alone * 20 < self.all, "{self:?}");
    }
}

/// What became of the answers, by the clients' number modulo three.
fn decided_by_third(answers: &[Vec<Answer>], policy: &str, count: u32) -> [Decided; 3] {
    let mut thirds = [Decided::default(); 3];
    for (number, answers) in answers.iter().enumerate() {
        thirds[number % 3].add(answers, policy, count);
    }
    thirds
}

fn sum(thirds: &[Decided]) -> Decided {
    Decided {
        admitted: thirds.iter().map(|third| third.admitted).sum(),
        alone: thirds.iter().map(|third| third.alone).sum(),
        all: thirds.iter().map(|third| third.all).sum(),
    }
}

/// Charges of one request are counted in several windows: of a credential and its network, of a visitor, its
/// network and everybody.
#[tokio::test(flavor = "multi_thread")]
async fn three_nodes_admit_exactly_the_counts() {
    let (_postgres, _redis, urls) = engines().await;
    let model = Upstream::start([Script::saying("A landing page.")]).await;
    let model = format!("--model-url={}", model.base_url());
    // No place becomes free while the test runs.
    let flags = [
        "--model=m",
        &model,
        "--limit=default=100/1h",
        "--limit=ip=250/1h",
        "--limit=assistant=40/1h",
        "--limit=assistant-all=90/1h",
    ];
    let nodes = Nodes::start(3, &urls, &flags);
    let client = Client::new();
    let mut keys = Vec::new();
    for address in &nodes.addresses {
        let call = Call::mint().from("192.0.2.99");
        keys.push(client.send(address, &call).await.text("api_key"));
    }
    // One network with three credentials.
    let answers = ask(&nodes, |number| Call::health().bearer(&keys[number % 3])).await;
    let by_key = decided_by_third(&answers, "ip", 250);
    sum(&by_key).check(250);
    assert!(by_key.iter().all(|key| key.admitted <= 100), "{by_key:?}");

    // Three visitors, each in many networks.
    let (mut cookies, mut first) = (Vec::new(), Decided::default());
    for address in &nodes.addresses {
        let turn = client.send(address, &Call::chat().from("192.0.2.99")).await;
        cookies.push(turn.cookie());
        first.add(&[turn], "ip", 250);
    }
    let answers = ask(&nodes, |number| {
        // No prefix has more than a quarter of them.
        let network = format!("198.{}.100.1", number % 256);
        let cookie = cookies[number % 3].clone();
        Call::chat().header("cookie", cookie).from(&network)
    })
    .await;
    let by_visitor = decided_by_third(&answers, "ip", 250);
    sum(&by_visitor).check(90 - first.admitted);
    let most = by_visitor.iter().map(|visitor| visitor.admitted).max();
    assert!(most <= Some(40), "{by_visitor:?}");
}
