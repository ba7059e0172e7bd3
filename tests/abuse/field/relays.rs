//! Relays as they are: whoever is at fault, no mail is lost and none is sent twice.

use std::net::{Ipv6Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::relay::{GOOD, Relay, Script};
use super::{list, run};
use crate::Run;
use crate::program::{Program, command, private_dir};
use crate::storage::peak_mib;

/// Longer than any of it takes.
const PATIENCE: Duration = Duration::from_secs(30);

const NAMES: [&str; 4] = [
    "n1@example.com",
    "n2@example.com",
    "n3@example.com",
    "n4@example.com",
];

/// What becomes of the four mails while the relay is as it is.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// The relay takes all of them.
    Taken,
    /// The relay takes all but the first, which is given up.
    OneGivenUp,
    /// The account is at fault: all wait, without an attempt.
    Waiting,
}

const ROWS: [(&str, Script, Fate); 5] = [
    (
        "keywords that are blank",
        Script {
            ehlo: b"250-relay\r\n250- \r\n250-\r\n250-size\r\n250 8bitmime",
            ..GOOD
        },
        Fate::Taken,
    ),
    (
        "an unknown recipient, in Latin-1",
        Script {
            rcpt: |to| match to {
                "n1@example.com" => b"550 5.1.1 Empf\xe4nger unbekannt",
                _ => b"250 ok",
            },
            ..GOOD
        },
        Fate::OneGivenUp,
    ),
    (
        "the sender refused at each recipient",
        Script {
            rcpt: |_to| b"553 5.7.1 <news@example.org>: Sender address rejected: not logged in",
            ..GOOD
        },
        Fate::Waiting,
    ),
    (
        "a day's limit",
        Script {
            rcpt: |_to| b"550 5.4.5 Daily user sending limit exceeded",
            ..GOOD
        },
        Fate::Waiting,
    ),
    (
        "a greeting without end",
        Script {
            is_endless: true,
            ..GOOD
        },
        Fate::Waiting,
    ),
];

pub(crate) fn relays(_run: Run) -> Result<String, String> {
    for (row, script, fate) in ROWS {
        row_holds(script, fate).map_err(|failure| format!("{row}: {failure}"))?;
    }
    first_address_drops()?;
    Ok(format!("{} kinds of relays, and an address", ROWS.len()))
}

fn row_holds(script: Script, fate: Fate) -> Result<(), String> {
    let dir = private_dir();
    let relay = Relay::start(script);
    let program = start(dir.path(), &relay.address.to_string());
    let before = peak_mib(program.pid());
    for name in NAMES {
        program.sign_up(name);
    }
    let is_decided = || match fate {
        Fate::Taken => relay.taken().len() == NAMES.len(),
        Fate::OneGivenUp => {
            relay.taken().len() == NAMES.len() - 1 && states(dir.path()) == ["failed"]
        }
        Fate::Waiting => pause_reason(dir.path()).is_string(),
    };
    until(is_decided).ok_or_else(|| format!("{:?}, {:?}", relay.taken(), states(dir.path())))?;
    let grown = peak_mib(program.pid()).saturating_sub(before);
    // A debug program has many pages; the greeting is four times as long.
    if grown > 64 {
        return Err(format!("it took {grown} MiB"));
    }
    if fate == Fate::Waiting {
        let queued = list(&["queue", "list"], dir.path());
        if queued.len() != NAMES.len() || queued.iter().any(|row| row["attempts"] != 0) {
            return Err(format!("not all are waiting as before: {queued:?}"));
        }
    }
    program.stopped();
    relay.set(GOOD);
    let program = start(dir.path(), &relay.address.to_string());
    let all = if fate == Fate::OneGivenUp {
        &NAMES[1..]
    } else {
        &NAMES
    };
    until(|| relay.taken().len() >= all.len()).ok_or("what waited did not leave")?;
    program.stopped();
    if relay.taken() != all {
        return Err(format!("taken: {:?}", relay.taken()));
    }
    Ok(())
}

/// The relay's name has two addresses: the first takes no connection and says nothing.
fn first_address_drops() -> Result<(), String> {
    let relay = Relay::start(GOOD);
    let port = relay.address.port();
    // A listener whose queue is full drops what comes.
    let socket = socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::STREAM, None).unwrap();
    socket.set_only_v6(true).unwrap();
    let place = std::net::SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    if socket.bind(&place.into()).is_err() {
        // No IPv6 here, so the name has one address.
        return Ok(());
    }
    socket.listen(0).unwrap();
    let _full: TcpListener = socket.into();
    let wait = Duration::from_millis(200);
    let _queued: Vec<_> = std::iter::from_fn(|| TcpStream::connect_timeout(&place, wait).ok())
        .take(16)
        .collect();
    let dir = private_dir();
    let program = start(dir.path(), &format!("localhost:{port}"));
    program.sign_up(NAMES[0]);
    until(|| relay.taken() == NAMES[..1]).ok_or("the second address was not tried")?;
    program.stopped();
    Ok(())
}

/// A relay that thinks for longer than a minute about a mail gets it once.
pub(crate) fn slow(run: Run) -> Result<String, String> {
    let thinks = Duration::from_secs(if run.is_long { 200 } else { 65 });
    let dir = private_dir();
    let relay = Relay::start(Script { thinks, ..GOOD });
    let program = start(dir.path(), &relay.address.to_string());
    program.sign_up(NAMES[0]);
    sleep(thinks + Duration::from_secs(3));
    relay.set(GOOD);
    until(|| states(dir.path()).is_empty()).ok_or("the mail is still there")?;
    program.stopped();
    match relay.taken().len() {
        1 => Ok(format!("one copy after {} s", thinks.as_secs())),
        copies => Err(format!("{copies} copies")),
    }
}

fn start(data_dir: &Path, relay: &str) -> Program {
    let mut command = command(data_dir);
    command.args([
        "--opt-in=double",
        "--base-url=http://127.0.0.1:8080",
        "--mail-from=Example <news@example.org>",
        &format!("--smtp-url=smtp://{relay}"),
    ]);
    Program::start(&mut command)
}

fn states(data_dir: &Path) -> Vec<String> {
    let queued = list(&["queue", "list"], data_dir);
    queued
        .iter()
        .map(|row| row["state"].as_str().unwrap().to_owned())
        .collect()
}

fn pause_reason(data_dir: &Path) -> Value {
    let status = run(&["status", "--json"], data_dir).json();
    let queues = status["queues"].as_array().unwrap().iter();
    let mut mail = queues.filter(|queue| queue["channel"] == "mail");
    mail.next().unwrap()["pause_reason"].clone()
}

/// Waits until `condition` holds; `None` if it does not within [`PATIENCE`].
fn until(condition: impl Fn() -> bool) -> Option<()> {
    let began = Instant::now();
    while !condition() {
        if began.elapsed() > PATIENCE {
            return None;
        }
        sleep(Duration::from_millis(100));
    }
    Some(())
}
