//! The service over both engines, beside the service over its data directory and beside the engines alone.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::client::{Call, Client, at_once};
use crate::engine::until;
use crate::nodes::{Nodes, Urls, contacts};
use crate::postgres::Postgres;
use crate::program::{landing_api, run, text};
use crate::redis::Redis;
use crate::support::{
    Clients, Server, directory, health, medians, ratio, service_command, sign_up,
};

/// Keep-alive connections that ask at once.
const CONNECTIONS: usize = 64;

/// Addresses that are signed up again and again.
const KNOWN: u64 = 10_000;

/// Contacts that are moved.
const MOVED: usize = 1_000_000;

/// Of every policy: each counts, and none refuses.
const COUNT: u32 = 1_000_000_000;
const COUNTING: [&str; 5] = [
    "--limit=default=1000000000/60s",
    "--limit=ip=1000000000/60s",
    "--limit=newsletter=1000000000/60s",
    "--limit=newsletter-ip=1000000000/60s",
    "--limit=newsletter-all=1000000000/60s",
];

/// Both engines, and a node of the service over them.
struct Setup {
    postgres: Postgres,
    redis: Redis,
    nodes: Nodes,
}

impl Setup {
    async fn start(flags: &[&str]) -> Self {
        let setup = Self::without_tables(flags).await;
        setup.nodes.migrate();
        setup
    }

    async fn without_tables(flags: &[&str]) -> Self {
        // Those of pgbench, and the node's.
        let postgres = Postgres::start_with(&["max_connections=100"]).await;
        let redis = Redis::start().await;
        let urls = Urls::of(&postgres, &redis);
        // One of two, so that it shows half of each limit while it decides alone.
        let nodes = Nodes::prepare(2, &urls, &[flags, &["--log-level=warn"]].concat());
        Self {
            postgres,
            redis,
            nodes,
        }
    }

    fn node(&self) -> Server {
        let mut command = self.nodes.command(0);
        command.stderr(Stdio::null());
        Server::start(command)
    }
}

/// Prints what was measured beside what it may be.
fn row(what: &str, measured: f64, bound: &str) {
    println!("{what:<64} {measured:>8.2}   {bound}");
}

pub(crate) async fn compare(rounds: u64, length: Duration) {
    println!("\n{:<64} {:>8}   bound", "the service", "");
    requests(rounds, length).await;
    sign_ups(rounds, length).await;
    window().await;
    hung(length).await;
    record_back().await;
    moved().await;
}

/// Requests that ask Redis once and twice, in times of the same over windows in memory.
async fn requests(rounds: u64, length: Duration) {
    const QUOTA: &str = "GET /api/v1/assistant/chat HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let setup = Setup::start(&COUNTING).await;
    let data_dir = directory();
    let embedded = Server::start(service_command(data_dir.path(), "warn"));
    let node = setup.node();
    let clients = Clients::on_all_cores(CONNECTIONS);
    let of_health: fn(u64) -> String = |_| health();
    let of_quota: fn(u64) -> String = |_| QUOTA.to_owned();
    for (what, request, bound) in [
        ("health", of_health, "at most 2.0"),
        ("chat quota", of_quota, "at most 2.1"),
    ] {
        let (mut of_node, mut of_embedded) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            of_embedded.push(embedded.measure(clients, length, request).await);
            of_node.push(node.measure(clients, length, request).await);
        }
        medians(&of_embedded).print("embedded");
        medians(&of_node).print("--limits redis");
        row(
            &format!("service CPU a {what} request, in times of embedded"),
            ratio(&of_node, &of_embedded).cpu_us,
            bound,
        );
    }
}

/// Sign-ups over both engines, in times of what pgbench does with the table alone.
async fn sign_ups(rounds: u64, length: Duration) {
    let setup = Setup::start(&COUNTING).await;
    let node = setup.node();
    let clients = Clients::on_one_thread(CONNECTIONS);
    let known = |number| sign_up(1_000_000_000 + number % KNOWN);
    // The first time they are new.
    node.ask(clients, move |number| {
        (number < KNOWN).then(|| known(number))
    })
    .await;
    let (mut of_new, mut of_known, mut alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        alone.push(pgbench(&setup.postgres, length));
        of_new.push(node.measure(clients, length, sign_up).await);
        of_known.push(node.measure(clients, length, known).await);
    }
    alone.sort_by(f64::total_cmp);
    let alone = alone[alone.len() / 2];
    println!("{:<16}  {alone:>38.0} rows/s", "pgbench -c 64");
    medians(&of_new).print("new address");
    medians(&of_known).print("known address");
    let of_alone = medians(&of_new).per_second / alone;
    row(
        "sign-ups, in times of pgbench -c 64",
        of_alone,
        "at least 0.7",
    );
    let known = ratio(&of_known, &of_new).per_second;
    row(
        "sign-ups of a known address, in times of a new one",
        known,
        "0.9 to 1.15",
    );
}

/// Single rows a second that 64 clients of pgbench add to a table like that of the contacts.
fn pgbench(postgres: &Postgres, length: Duration) -> f64 {
    const TABLE: &str = "SET client_min_messages = warning; CREATE TABLE IF NOT EXISTS alone (email text COLLATE \"C\" PRIMARY KEY, id uuid NOT \
        NULL, origin bytea NOT NULL, subscribed_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL)";
    const UPSERT: &str = "\\set n random(1, 1000000000)\n\
        INSERT INTO alone VALUES ('visitor' || :client_id || '-' || :n || '@example.com', \
        gen_random_uuid(), '\\x00112233445566778899aabbccddeeff', now(), now()) ON CONFLICT (email) DO \
        UPDATE SET last_seen_at = GREATEST(alone.last_seen_at, excluded.last_seen_at) RETURNING id;\n";
    let made = run(Command::new("psql")
        .arg(postgres.url())
        .args(["-q", "-c", TABLE]));
    assert!(made.status.success());
    let directory = directory();
    let script = directory.path().join("upsert.sql");
    std::fs::write(&script, UPSERT).unwrap();
    let mut command = Command::new("pgbench");
    command.args(["-n", "-M", "prepared", "-c", "64", "-j", "1", "-T"]);
    command
        .arg(length.as_secs().max(1).to_string())
        .arg("-f")
        .arg(script);
    let ran = run(command
        .arg(postgres.url())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped()));
    let printed = text(&ran.stdout);
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate = rate.unwrap_or_else(|| panic!("{printed}{}", text(&ran.stderr)));
    rate.split(' ').next().unwrap().parse().unwrap()
}

/// How many of one identity's requests a window of 10,000 admits.
async fn window() {
    const COUNT: u32 = 10_000;
    let flags = ["--limit=default=off", "--limit=ip=10000/10m"];
    let setup = Setup::start(&flags).await;
    let node = setup.node();
    let address = node.address.to_string();
    let answers = at_once(CONNECTIONS, |_, client: Client| {
        let address = address.clone();
        async move {
            let mut admitted = 0_u32;
            for _ in 0..400 {
                let answer = client.send(&address, &Call::health()).await;
                admitted += u32::from(answer.status == 200);
            }
            admitted
        }
    });
    let admitted: u32 = answers.await.into_iter().sum();
    let fullest = f64::from(admitted) / f64::from(COUNT);
    row("fullest window, in times of its count", fullest, "1.00");
}

/// What a Redis that hangs costs, and how soon it decides again.
async fn hung(length: Duration) {
    let setup = Setup::start(&COUNTING).await;
    let node = setup.node();
    let clients = Clients::on_all_cores(CONNECTIONS);
    let healthy = node.measure(clients, length, |_| health()).await;
    setup.redis.signal(Signal::STOP);
    // The second in which it is noticed.
    node.measure(clients, Duration::from_secs(1), |_| health())
        .await;
    let hung = node.measure(clients, length, |_| health()).await;
    healthy.print("healthy");
    hung.print("Redis hung");
    let p99 = hung.p99_us / healthy.p99_us;
    row("Redis hung: p99, in times of healthy", p99, "at most 1.5");
    setup.redis.signal(Signal::CONT);
    let address = node.address.to_string();
    let seconds = seconds_until(async |client| {
        let answer = client.send(&address, &Call::health()).await;
        answer.quota("ip") == COUNT
    });
    row(
        "Redis back: seconds until it decides",
        seconds.await,
        "at most 1.5",
    );
}

/// How long it takes until `is_there`.
async fn seconds_until(is_there: impl AsyncFn(&Client) -> bool) -> f64 {
    let (client, begun) = (Client::new(), Instant::now());
    until("it", async || is_there(&client).await).await;
    begun.elapsed().as_secs_f64()
}

/// How soon a sign-up is taken once the record takes writes again.
async fn record_back() {
    let mut setup = Setup::start(&COUNTING).await;
    let node = setup.node();
    let address = node.address.to_string();
    let sign_up = Call::sign_up("ada@example.com");
    let client = Client::new();
    setup.postgres.kill();
    assert_eq!(client.send(&address, &sign_up).await.status, 503);
    setup.postgres.restart().await;
    let seconds = seconds_until(async |client| client.send(&address, &sign_up).await.status == 200);
    row(
        "record back: seconds until a sign-up is taken",
        seconds.await,
        "at most 2",
    );
}

/// A data directory with a million contacts, moved.
async fn moved() {
    let setup = Setup::without_tables(&COUNTING).await;
    let dir = directory();
    let data_dir = dir.path().join("data");
    Server::start(service_command(&data_dir, "warn")).stop();
    let list = dir.path().join("contacts.csv");
    let mut csv = BufWriter::new(File::create(&list).unwrap());
    writeln!(csv, "email").unwrap();
    for number in 0..MOVED {
        writeln!(csv, "visitor{number}@example.com").unwrap();
    }
    csv.into_inner().unwrap().sync_all().unwrap();
    let mut import = landing_api(&["contacts", "import", "--data-dir"]);
    let import = run(import.arg(&data_dir).arg(&list));
    assert!(import.status.success(), "{}", text(&import.stderr));
    std::fs::copy(data_dir.join("secret"), setup.nodes.secret_file()).unwrap();
    setup.nodes.migrate();
    let mut command = setup.nodes.operator(&["move", "--yes"]);
    let begun = Instant::now();
    let ran = run(command.arg("--data-dir").arg(&data_dir));
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let seconds = begun.elapsed().as_secs_f64();
    let kept = contacts(&setup.postgres).await.len();
    assert_eq!(kept, MOVED, "the counts are equal");
    row("a million contacts moved: seconds", seconds, "counts equal");
}
