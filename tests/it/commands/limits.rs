//! `landing-api limits`.

use std::ffi::OsStr;

use landing_api::adapters::system::SystemClock;
use landing_api::config::Invocation;
use landing_api::ports::Clock as _;
use landing_api::wiring::stores::{WindowsFor, open_stopped};

use super::{House, command, feed, run};
use crate::prelude::*;
use crate::program;

fn row(ran: Ran, policy: &str) -> Value {
    let Value::Array(rows) = ran.json() else {
        panic!("no list");
    };
    let mut rows = rows.into_iter();
    rows.find(|row| row["policy"] == policy).unwrap()
}

fn used(ran: Ran, policy: &str) -> u64 {
    row(ran, policy)["clients"][0]["used"].as_u64().unwrap()
}

const HERE: &str = "limits show --ip 127.0.0.1 --json";
const NOTE: &str = "note: no service is running: the limits are those of LANDING_LIMIT or the defaults, \
                    not those of the service's flags\n";

#[test]
fn the_busiest_are_shown_and_a_reset_admits_them_again() {
    let (dir, service) = Program::fresh(&["--limit", "newsletter-ip=2/1h"]);
    service.sign_up("ada@example.com");
    service.sign_up("bob@example.com");
    let body = json!({"email": "cid@example.com"}).to_string();
    let sign_up = || service.post("/api/v1/newsletter", &body).0;
    assert_eq!(sign_up(), 429);
    let shown = run("limits show --top 1", dir.path()).done();
    for part in [
        "newsletter-ip      2/1h      for each network\n",
        "Heaviest clients of newsletter-ip\n  Used    Left  ",
        "  all clients\n",
    ] {
        assert!(shown.out.contains(part), "{}", shown.out);
    }
    shown.check_width();
    assert!(!shown.out.contains("127.0.0.1"));
    assert_eq!(used(run(HERE, dir.path()), "newsletter-ip"), 2);
    let reset = "limits reset --yes --policy newsletter-ip --ip 127.0.0.1";
    assert_eq!(run(reset, dir.path()).out, "Windows reset  1\n");
    assert_eq!(sign_up(), 200);
    assert!(used(run(HERE, dir.path()), "default") > 3);
    let log = service.stopped();
    assert_present(&log, &["operator command=\"limits reset\" windows=1"]);
}

#[test]
fn somebody_is_named_by_a_pair_a_key_or_a_hash() {
    let (dir, service) = Program::fresh(&[]);
    let run = |words: &str| run(words, dir.path());
    service.sign_up("ada@example.com");
    let pair = "--json --ip 127.0.0.1 --email ada@example.com";
    assert_eq!(used(run(&format!("limits show {pair}")), "newsletter"), 1);
    let reset = run(&format!("limits reset --yes {pair}"));
    assert_eq!(reset.json(), json!({"windows": 1}));
    let key = service.mint();
    assert_eq!(service.health(&key), 200);
    let show = || feed("limits show --json --key -", dir.path(), &key);
    let by_key = || used(show(), "default");
    assert_eq!(by_key(), 1);
    run(&format!("limits reset --yes --key {key}")).done();
    assert_eq!(by_key(), 0);
    let busiest = row(run("limits show --json"), "keys");
    let client = busiest["clients"][0]["client"].as_str().unwrap();
    run(&format!("limits reset --yes --client {client}")).done();
    assert_eq!(used(run(HERE), "keys"), 0);
    run("limits reset --yes --all").done();
    assert_eq!(used(run(HERE), "default"), 0);
}

#[test]
fn a_stopped_directory_keeps_windows_longer_than_the_command_knows() {
    let long = ["--limit", "newsletter-ip=100/300d,agents=9/20d,keys=5/7d"];
    let (dir, service) = Program::fresh(&long);
    service.sign_up("ada@example.com");
    service.mint();
    service.stopped();
    let shown = run("limits show --ip 127.0.0.1", dir.path()).done();
    assert_eq!(shown.err, NOTE);
    // A command that takes policies for off drops nothing either.
    let mut off = command("limits show", dir.path());
    Ran::of(off.env("LANDING_LIMIT", "keys=off,newsletter-ip=1/1s")).done();
    assert_eq!(used(run(HERE, dir.path()), "keys"), 1);
    let mut off = command("limits show --email ada@example.com", dir.path());
    let shown = Ran::of(off.env("LANDING_LIMIT", "mail=off")).done().out;
    let told = "Every limit that counts this client or address is off.\n";
    assert_eq!(shown, told);
    let reset = run("limits reset --yes --policy keys", dir.path());
    assert_eq!(reset.out, "Windows reset  1\n");
    let service = Program::start(program::command(dir.path()).args(long));
    let here = |policy| used(run(HERE, dir.path()), policy);
    assert_eq!((here("newsletter-ip"), here("keys")), (1, 0));
    service.stopped();
}

#[tokio::test]
async fn a_look_at_a_stopped_directory_under_shorter_limits_forgets_nothing() {
    let house = House::stopped();
    let dir = &house.path;
    let now = SystemClock.now();
    let then = Timestamp::from_ms(now.as_ms() - 10_000);
    let open = |at| {
        let store = Box::new(SledWindowStore::new(&dir.join("windows")));
        SledRateLimiter::without_thread(store, &policies("9/1h"), at, WINDOWS_MAX)
    };
    let limiter = open(then);
    for host in 0..400 {
        assert!(is_admitted(&limiter, &[charge(PolicyName::Keys, "9/1h", host)], then).await);
    }
    drop(limiter);
    let words = ["landing-api", "limits", "show", "--data-dir"].map(OsStr::new);
    let words = words.into_iter().chain([dir.as_os_str()]);
    let Ok(Invocation::Operate { args, .. }) = Invocation::load(words) else {
        panic!("no command");
    };
    let (app, stores) = open_stopped(&args, WindowsFor::Command).await.unwrap();
    let shorter = "9/1s".parse().unwrap();
    let busiest = app.limiter.busiest(PolicyName::Keys, shorter, 5, now);
    assert_eq!(busiest.await.unwrap(), []);
    // A service would have dropped some by then.
    sleep(Duration::from_millis(400)).await;
    stores.close().unwrap();
    drop(app);
    assert_eq!(open(now).windows(), 400);
}
