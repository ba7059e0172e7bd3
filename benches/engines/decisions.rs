//! What a decision costs Redis.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{Client, Pipeline, Script, cmd, pipe};

const CONNECTIONS: usize = 64;
const DEPTH: usize = 16;
/// How often each connection sends, in each round.
const SENDINGS: usize = 100;
const ROUNDS: usize = 4;
const IDENTITIES: u64 = 1_000_000;

/// The log of instants in a sorted set, as most recipes have it: exact, and large.
const SORTED_SETS: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local counts = {}
for i = 1, #KEYS do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], 0, now - ARGV[2 * i] * 1000)
  counts[i] = redis.call('ZCARD', KEYS[i])
  if counts[i] >= tonumber(ARGV[2 * i - 1]) then return counts end
end
for i = 1, #KEYS do
  redis.call('ZADD', KEYS[i], now, now)
  redis.call('PEXPIRE', KEYS[i], ARGV[2 * i])
end
return counts";

/// Two counters that are weighted by the time: small, and admits up to twice the limit.
const COUNTERS: &str = "
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local counts, names = {}, {}
for i = 1, #KEYS do
  local window = tonumber(ARGV[2 * i])
  local current = math.floor(now / window)
  names[i] = KEYS[i] .. ':' .. current
  local before = tonumber(redis.call('GET', KEYS[i] .. ':' .. (current - 1)) or 0)
  local count = tonumber(redis.call('GET', names[i]) or 0)
  counts[i] = math.floor(before * (1 - (now % window) / window)) + count
  if counts[i] >= tonumber(ARGV[2 * i - 1]) then return counts end
end
for i = 1, #KEYS do
  if redis.call('INCR', names[i]) == 1 then
    redis.call('PEXPIRE', names[i], ARGV[2 * i] * 2)
  end
end
return counts";

/// The server. It ends with this value.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = port.local_addr().unwrap().port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", ""]);
        let process = command.stdout(Stdio::null()).spawn().unwrap();
        Self { process, port }
    }

    async fn connect(&self) -> MultiplexedConnection {
        let client = Client::open(format!("redis://127.0.0.1:{}", self.port)).unwrap();
        loop {
            match client.get_multiplexed_async_connection().await {
                Ok(connection) => return connection,
                Err(_not_yet) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Nanoseconds that its main thread has run.
    fn time_ns(&self) -> u64 {
        let path = format!("/proc/{}/schedstat", self.process.id());
        let text = fs::read_to_string(path).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What is measured.
struct Kind {
    name: &'static str,
    /// None for `SET`.
    script: Option<(Script, &'static [&'static str])>,
    /// Of the server, so far.
    spent_ns: u64,
}

/// The same numbers each time: a linear congruential generator.
struct Identities(u64);

impl Identities {
    fn next(&mut self) -> u64 {
        let Self(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (*state >> 33) % IDENTITIES
    }
}

impl Kind {
    fn new(name: &'static str, script: Option<(&str, &'static [&'static str])>) -> Self {
        Self {
            name,
            script: script.map(|(code, arguments)| (Script::new(code), arguments)),
            spent_ns: 0,
        }
    }

    fn commands(&self, identities: &mut Identities) -> Pipeline {
        let mut commands = pipe();
        for _ in 0..DEPTH {
            let identity = identities.next();
            match &self.script {
                None => commands
                    .cmd("SET")
                    .arg(format!("k:{identity}"))
                    .arg("12345678"),
                Some((script, arguments)) => {
                    let call = commands.cmd("EVALSHA").arg(script.get_hash()).arg(2);
                    for policy in 0..2 {
                        call.arg(format!("lw1:{policy:02x}{identity:030x}"));
                    }
                    call.arg(arguments)
                }
            };
        }
        commands
    }

    async fn round(&mut self, server: &Server, connections: &[MultiplexedConnection], seed: u64) {
        let mut first = connections.first().unwrap().clone();
        let () = cmd("FLUSHALL").query_async(&mut first).await.unwrap();
        if let Some((script, _)) = &self.script {
            script
                .prepare_invoke()
                .load_async(&mut first)
                .await
                .unwrap();
        }
        let before = server.time_ns();
        let sending = connections
            .iter()
            .zip(0_u64..)
            .map(async |(connection, number)| {
                let mut connection = connection.clone();
                let mut identities = Identities(seed.wrapping_mul(1000) + number);
                for _ in 0..SENDINGS {
                    let commands = self.commands(&mut identities);
                    connection
                        .send_packed_commands(&commands, 0, DEPTH)
                        .await
                        .unwrap();
                }
            });
        join_all(sending).await;
        self.spent_ns += server.time_ns() - before;
    }

    fn each_us(&self) -> f64 {
        self.spent_ns as f64 / (ROUNDS * CONNECTIONS * DEPTH * SENDINGS) as f64 / 1000.0
    }
}

/// The time that Redis's one thread takes for a decision at the door (`default` and `ip`, 600/60s and
/// 1800/60s), beside what one would use instead. 64 connections send 16 commands at a time, for a million
/// identities at random.
pub(crate) async fn compare() {
    const DOOR: &[&str] = &["600", "60000", "1800", "60000"];
    const ASKED: &[&str] = &["charge", "", "600", "60000", "1800", "60000"];
    let window = include_str!("../../src/adapters/cluster/redis/window.lua");
    let server = Server::start();
    let connections = join_all((0..CONNECTIONS).map(|_| server.connect())).await;
    let mut kinds = [
        Kind::new("exact windows, as here", Some((window, ASKED))),
        Kind::new("SET", None),
        Kind::new("sorted sets", Some((SORTED_SETS, DOOR))),
        Kind::new("two weighted counters", Some((COUNTERS, DOOR))),
    ];
    for round in 0..ROUNDS {
        for kind in &mut kinds {
            kind.round(&server, &connections, round as u64).await;
        }
    }
    println!("Redis, a decision at the door      CPU us   exact windows are");
    let [here, ..] = &kinds;
    for kind in &kinds {
        let ratio = here.each_us() / kind.each_us();
        println!(
            "{:<32} {:>8.2}   {ratio:>6.2} times that",
            kind.name,
            kind.each_us()
        );
    }
}
