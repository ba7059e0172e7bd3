//! Whoever has many addresses, or says so, gets no more by it.

use std::fs;
use std::net::Ipv6Addr;

use super::bodies::home;
use super::harness::{PROXY, Pace, Trial, Verdict};
use super::honest::Visits;
use super::wire::{HEALTH, forwarded_for, sign_up};
use crate::Run;

/// Sign-ups from the 65,536 /64s of a /48.
pub(super) async fn sign_ups(run: Run) -> Verdict {
    /// What `newsletter-ip` grants.
    const OF_A_HOME: usize = 120;
    const OF_ALL: usize = 500;
    /// A quarter of it.
    const OF_A_PREFIX: usize = 125;
    let ceiling = format!("--limit=newsletter-all={OF_ALL}/1h");
    let trial = Trial::begin_with(&[&ceiling], Visits::Reads).await;
    let mut wire = trial.connect(PROXY).await;
    let mut pace = Pace::of(500);
    let (mut of_a_home, mut of_prefix) = (0, 0);
    for number in 0..run.of(2000, 30_000) {
        pace.step().await;
        let is_home = number < 2 * OF_A_HOME;
        let network = u16::try_from(number * 257 % 65_536).unwrap();
        let (client, policy) = match is_home {
            true => (home(number), "newsletter-ip"),
            false => {
                let client = Ipv6Addr::new(0x2001, 0xdb8, 0xa77b, network, 0, 0, 0, 1);
                (client, "newsletter-prefix")
            }
        };
        let email = format!("junk{number}@example.com");
        let answer = wire.ask(sign_up(&forwarded_for(client), &email)).await;
        let answer = answer.unwrap();
        match answer.status {
            200 => {
                of_prefix += usize::from(!is_home);
                of_a_home += usize::from(is_home);
            }
            429 => assert!(answer.body.contains(policy), "{}", answer.body),
            _ => panic!("{}", answer.body),
        }
    }
    assert_eq!((of_a_home, of_prefix), (OF_A_HOME, OF_A_PREFIX));
    let ledger = fs::read_to_string(trial.directory().join("ledger.jsonl")).unwrap();
    let stored = ledger.lines().filter(|line| line.contains("junk")).count();
    assert_eq!(stored, OF_A_HOME + OF_A_PREFIX);
    drop(wire);
    trial.end().await
}

/// Clients behind the proxy who forge what it forwards: they take nothing from its own health checks.
pub(super) async fn forged_forwarding(run: Run) -> Verdict {
    const FORGED: [&str; 5] = [
        "X-Forwarded-For: unknown\r\n",
        "X-Forwarded-For: 192.0.2.1, for=192.0.2.2\r\n",
        "X-Forwarded-For: ,\r\n",
        "Forwarded: for=192.0.2.1;proto=https\r\n",
        "X-Real-IP: 127.0.0.1\r\n",
    ];
    let trial = Trial::begin(&[]).await;
    let mut wire = trial.connect(PROXY).await;
    let mut pace = Pace::of(500);
    let mut refused = 0;
    for number in 0..run.of(2000, 30_000) {
        pace.step().await;
        let header = FORGED[number % 5];
        let forged = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
        refused += usize::from(wire.ask(forged).await.unwrap().status == 429);
        // Five a second at most: the proxy has limits of its own.
        if number % 100 == 0 {
            let probe = trial.connect(PROXY).await.ask(HEALTH).await.unwrap();
            assert_eq!(probe.status, 200, "the proxy's probe: {}", probe.body);
        }
    }
    assert!(refused > 0, "forgeries count as one client of their own");
    drop(wire);
    trial.end().await
}
