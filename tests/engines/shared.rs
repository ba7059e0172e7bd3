//! What one node gives out or takes back is known to the others.

use crate::client::Answer;
use crate::nodes::SECRET;
use crate::prelude::*;

const OTHER: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

const CHAT: &str = "/api/v1/assistant/chat";

fn exchange(agent: &Answer) -> Call {
    let (id, secret) = (agent.text("client_id"), agent.text("client_secret"));
    let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
    Call::form("/oauth2/token", form)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_gives_out_another_takes() {
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(2, &urls, &[]);
    let [here, there] = [&nodes.addresses[0], &nodes.addresses[1]];
    let client = Client::new();

    let is_good = async |address: &str, credential: &str| {
        let health = Call::health().bearer(credential);
        client.status(address, &health).await == 200
    };

    assert!(is_good(there, &client.mint(here).await).await);

    let turn = client.send(here, &Call::chat()).await;
    assert_eq!(turn.body["used"], 1, "{turn:?}");
    let left = Call::get(CHAT).header("cookie", turn.cookie());
    assert_eq!(client.send(there, &left).await.body["used"], 1);
    let turn = Call::chat().header("cookie", turn.cookie());
    assert_eq!(client.send(there, &turn).await.body["used"], 2);
    assert_eq!(client.send(here, &left).await.body["used"], 2);

    let agent = client.send(here, &Call::register()).await;
    assert!(is_good(there, &agent.text("access_token")).await);
    let exchanged = client.send(there, &exchange(&agent)).await;
    assert!(is_good(here, &exchanged.text("access_token")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_admits_counts_at_the_others() {
    const COUNT: u32 = 40;
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(3, &urls, &["--limit=default=off", "--limit=ip=40/1h"]);
    let answers = at_once(8, |number, client: Client| {
        let addresses = nodes.addresses.clone();
        async move {
            let mut answers = Vec::new();
            for address in addresses.iter().cycle().skip(number).take(9) {
                let answer = client.send(address, &Call::health()).await;
                answers.push((answer.quota("ip"), answer.status));
            }
            answers
        }
    });
    let answers = answers.await.concat();
    let shared = answers.iter().filter(|(quota, _)| *quota == COUNT);
    let admitted = shared.clone().filter(|(_, status)| *status == 200).count();
    // On a machine that is busy, the engine's answer may come too late: then a node decides alone and shows its share,
    // and the engine may have charged the request.
    let alone = answers.len() - shared.count();
    let shown = format!("{admitted} and {alone} of {}", answers.len());
    assert!(admitted <= COUNT as usize, "{shown}");
    assert!(admitted + alone >= COUNT as usize, "{shown}");
    assert!(alone * 20 < answers.len(), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_node_revokes_another_soon_refuses() {
    let (_postgres, _redis, urls) = engines().await;
    let nodes = Nodes::start(2, &urls, &["--limit=default=off", "--limit=ip=off"]);
    let [here, there] = [&nodes.addresses[0], &nodes.addresses[1]];
    let client = Client::new();
    let key = client.mint(here).await;
    let agent = client.send(here, &Call::register()).await;
    let token = agent.text("access_token");
    for credential in [&key, &token] {
        let health = Call::health().bearer(credential);
        assert_eq!(client.status(there, &health).await, 200);
        assert_eq!(
            client.status(here, &Call::revocation(credential)).await,
            200
        );
        let revoked = Instant::now();
        // At once where it was revoked.
        assert_eq!(client.status(here, &health).await, 401);
        let mut last = revoked;
        until("the other node to refuse it", async || {
            let answer = client.send(there, &health).await;
            if answer.status == 200 {
                last = answer.sent;
            }
            answer.status == 401
        })
        .await;
        // As long as an answer is fresh.
        let lasted = last - revoked;
        assert!(lasted <= Duration::from_secs(5), "{lasted:?}");
    }
    assert_eq!(client.status(there, &exchange(&agent)).await, 401);
}

/// The id of the visitor whom a cookie names.
fn visitor(cookie: &str) -> &str {
    let (_name, token) = cookie.split_once("v1.").unwrap();
    // Base32 of 128 bits and of their MAC.
    &token[..25]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_secret_before_made_is_believed_until_that_is_removed() {
    let (_postgres, _redis, urls) = engines().await;
    let mut nodes = Nodes::start(2, &urls, &[]);
    let client = Client::new();
    let [here, there] = [nodes.addresses[0].clone(), nodes.addresses[1].clone()];
    let agent = client.send(&here, &Call::register()).await;
    let cookie = client.send(&here, &Call::chat()).await.cookie();
    // First every node believes the next secret, then every node uses it.
    for lines in [[SECRET, OTHER], [OTHER, SECRET]] {
        write_secret(&nodes.secret_file(), &lines);
        nodes.end(1, Signal::TERM);
        nodes.begin(1);
        let newer = client.send(&there, &Call::register()).await;
        for agent in [&agent, &newer] {
            for address in [&here, &there] {
                let health = Call::health().bearer(&agent.text("access_token"));
                assert_eq!(client.status(address, &health).await, 200);
                assert_eq!(client.status(address, &exchange(agent)).await, 200);
            }
        }
        // The visitor stays who they were.
        let turn = Call::chat().header("cookie", &cookie);
        let renewed = client.send(&there, &turn).await.cookie();
        assert_eq!(visitor(&renewed), visitor(&cookie));
        nodes.end(0, Signal::TERM);
        nodes.begin(0);
    }
    let newer = client.send(&there, &Call::register()).await;
    let migrated = nodes.migrate();
    assert!(migrated.contains(r#""secret_replaced":true"#), "{migrated}");
    write_secret(&nodes.secret_file(), &[OTHER]);
    nodes.end(1, Signal::TERM);
    nodes.begin(1);
    for (agent, status) in [(&agent, 401), (&newer, 200)] {
        let health = Call::health().bearer(&agent.text("access_token"));
        assert_eq!(client.status(&there, &health).await, status);
    }
}
