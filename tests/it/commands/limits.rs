//! `landing-api limits`.

use std::ffi::OsStr;
use std::time::Duration;

use landing_api::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
use landing_api::adapters::system::SystemClock;
use landing_api::config::Invocation;
use landing_api::domain::policy::PolicyName;
use landing_api::domain::time::Timestamp;
use landing_api::ports::Clock as _;
use landing_api::wiring::stores::open_stopped;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Ran, feed, private_dir, run};
use crate::fixtures::{charge, is_admitted, policies};
use crate::program::{Program, command};

/// The used part of `policy` in the answer of `limits show --ip`.
fn used(ran: &Ran, policy: &str) -> u64 {
    let rows = ran.json();
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["policy"] == policy);
    row.unwrap()["clients"][0]["used"].as_u64().unwrap()
}

const HERE: [&str; 5] = ["limits", "show", "--ip", "127.0.0.1", "--json"];
const NOTE: &str = "note: no service runs: the limits are those of LANDING_LIMIT, or the defaults, and \
                    not those of the service's flags\n";

#[test]
fn the_busiest_are_shown_and_a_reset_admits_them_again() {
    let dir = private_dir();
    let service = Program::start(command(dir.path()).args(["--limit", "newsletter-ip=2/1h"]));
    service.sign_up("ada@example.com");
    service.sign_up("bob@example.com");
    let body = json!({"email": "cid@example.com"}).to_string();
    let sign_up = || service.send("POST", "/api/v1/newsletter", "", &body).0;
    assert_eq!(sign_up(), 429);
    let shown = run(&["limits", "show", "--top", "1"], dir.path());
    assert_eq!(shown.status, Some(0), "{shown:?}");
    assert!(
        shown
            .out
            .contains("newsletter-ip      2/1h      for each network\n"),
        "{}",
        shown.out
    );
    assert!(
        shown.out.contains("Busiest of newsletter-ip\nUsed  Left  "),
        "{}",
        shown.out
    );
    shown.check_width();
    assert!(!shown.out.contains("127.0.0.1"));
    assert_eq!(used(&run(&HERE, dir.path()), "newsletter-ip"), 2);
    let reset = [
        "limits",
        "reset",
        "--policy",
        "newsletter-ip",
        "--ip",
        "127.0.0.1",
    ];
    assert_eq!(run(&reset, dir.path()).out, "Windows forgotten  1\n");
    assert_eq!(sign_up(), 200);
    assert!(used(&run(&HERE, dir.path()), "default") > 3);
    let (_, log) = service.stop(Signal::TERM);
    assert!(
        log.contains("operator command=\"limits reset\" windows=1"),
        "{log}"
    );
}

#[test]
fn somebody_is_named_by_a_pair_a_key_or_a_hash() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    service.sign_up("ada@example.com");
    let pair = ["--ip", "127.0.0.1", "--email", "ada@example.com"];
    let of_pair = run(
        &[&["limits", "show", "--json"], &pair[..]].concat(),
        dir.path(),
    );
    assert_eq!(used(&of_pair, "newsletter"), 1);
    let reset = run(
        &[&["limits", "reset", "--json"], &pair[..]].concat(),
        dir.path(),
    );
    assert_eq!(reset.json(), json!({"windows": 1}));
    let key = service.mint();
    assert_eq!(service.health(&key), 200);
    let words = ["limits", "show", "--json", "--key", "-"];
    assert_eq!(
        used(&feed(&words, dir.path(), key.as_bytes()), "default"),
        1
    );
    assert_eq!(
        run(&["limits", "reset", "--key", &key], dir.path()).status,
        Some(0)
    );
    assert_eq!(
        used(&feed(&words, dir.path(), key.as_bytes()), "default"),
        0
    );
    let shown = run(&["limits", "show", "--json"], dir.path()).json();
    let busiest = shown
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["policy"] == "keys")
        .unwrap();
    let client = busiest["clients"][0]["client"].as_str().unwrap();
    assert_eq!(
        run(&["limits", "reset", "--client", client], dir.path()).status,
        Some(0)
    );
    assert_eq!(used(&run(&HERE, dir.path()), "keys"), 0);
    assert_eq!(
        run(&["limits", "reset", "--all"], dir.path()).status,
        Some(0)
    );
    assert_eq!(used(&run(&HERE, dir.path()), "default"), 0);
}

#[test]
fn a_stopped_directory_keeps_windows_longer_than_the_command_knows() {
    let dir = private_dir();
    let long = ["--limit", "newsletter-ip=100/300d,agents=9/20d,keys=5/7d"];
    let service = Program::start(command(dir.path()).args(long));
    service.sign_up("ada@example.com");
    service.mint();
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
    let shown = run(&["limits", "show", "--ip", "127.0.0.1"], dir.path());
    assert_eq!((shown.status, &*shown.err), (Some(0), NOTE));
    // A command that takes policies for off drops nothing either.
    let mut off = super::command(&["limits", "show"], dir.path());
    let off = off.env("LANDING_LIMIT", "keys=off,newsletter-ip=1/1s");
    assert_eq!(Ran::from(off.output().unwrap()).status, Some(0));
    assert_eq!(used(&run(&HERE, dir.path()), "keys"), 1);
    let reset = run(&["limits", "reset", "--policy", "keys"], dir.path());
    assert_eq!(reset.out, "Windows forgotten  1\n");
    let service = Program::start(command(dir.path()).args(long));
    let here = run(&HERE, dir.path());
    assert_eq!((used(&here, "newsletter-ip"), used(&here, "keys")), (1, 0));
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
}

#[tokio::test]
async fn a_look_at_a_stopped_directory_under_shorter_limits_forgets_nothing() {
    let dir = private_dir();
    drop(Program::start(&mut command(dir.path())));
    let now = SystemClock.now();
    let then = Timestamp::from_ms(now.as_ms() - 10_000);
    let open = |at| {
        let store = Box::new(SledWindowStore::new(&dir.path().join("windows")));
        SledRateLimiter::without_thread(store, &policies("9/1h"), at, WINDOWS_MAX)
    };
    let limiter = open(then);
    for host in 0..400 {
        let charge = charge(PolicyName::Keys, "9/1h", host);
        assert!(is_admitted(&limiter, &[charge], then).await);
    }
    drop(limiter);
    let words = ["landing-api", "limits", "show", "--data-dir"].map(OsStr::new);
    let words = words.into_iter().chain([dir.path().as_os_str()]);
    let Ok(Invocation::Operate { args, .. }) = Invocation::load(words) else {
        panic!("no command");
    };
    let (app, stores) = open_stopped(&args.unwrap(), true).await.unwrap();
    let shorter = "9/1s".parse().unwrap();
    let busiest = app.limiter.busiest(PolicyName::Keys, shorter, 5, now);
    assert_eq!(busiest.await.unwrap(), []);
    // A service would have dropped some by then.
    sleep(Duration::from_millis(400)).await;
    stores.close().unwrap();
    drop(app);
    assert_eq!(open(now).windows(), 400);
}

#[test]
fn wrong_input_is_refused() {
    let dir = private_dir();
    drop(Program::start(&mut command(dir.path())));
    for (words, message) in [
        (&["limits", "reset"][..], "--all"),
        (
            &["limits", "reset", "--policy", "newsleter"],
            "must be one of default, ip",
        ),
        (
            &["limits", "reset", "--all", "--ip", "127.0.0.1"],
            "cannot be used with",
        ),
        (&["limits", "reset", "--client", "xyz"], "must be a hash"),
        (
            &["limits", "reset", "--key", "Yo3IxbA7"],
            "the id of a key is not enough",
        ),
        (&["limits", "show", "--ip", "localhost"], "--ip"),
        (&["limits", "show", "--email", "ada@example.com"], "--ip"),
        (
            &["limits", "show", "--ip", "::1", "--email", "ada"],
            "must be an e-mail address",
        ),
        (&["limits", "show", "--top", "1001"], "0..=1000"),
        (
            &["limits", "show", "--key", "x", "--ip", "::1"],
            "cannot be used with",
        ),
    ] {
        let refused = run(words, dir.path());
        assert_eq!(refused.status, Some(2), "{refused:?}");
        assert!(refused.err.contains(message), "{words:?} {refused:?}");
    }
    let shown = run(&["limits", "show", "--json", "--top", "0"], dir.path()).json();
    let clients = |row: &Value| row["clients"].as_array().unwrap().len();
    assert_eq!(
        shown.as_array().unwrap().iter().map(clients).sum::<usize>(),
        0
    );
}
