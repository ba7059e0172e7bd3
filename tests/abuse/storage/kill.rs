//! The real program, killed at any time under load: what it acknowledged is there at the next start.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::Run;
use crate::program::{Program, command};
use crate::random::Random;

use super::directory;

/// Clients that sign up at once.
const CLIENTS: usize = 4;

/// Kills in one data directory: a start reads all of it.
const KILLS: usize = 50;

pub(crate) fn kill(run: Run) -> Result<String, String> {
    let kills = if run.is_long { 300 } else { 5 };
    let mut random = Random::new(run.seed, "kill", 0);
    let mut acknowledged = 0;
    for first in (0..kills).step_by(KILLS) {
        acknowledged += kill_often(KILLS.min(kills - first), &mut random)?;
    }
    Ok(format!(
        "{kills} kills under load, {acknowledged} sign-ups acknowledged"
    ))
}

/// Hands out how many sign-ups were acknowledged.
fn kill_often(kills: usize, random: &mut Random) -> Result<usize, String> {
    let root = directory();
    let data_dir = root.path().join("data");
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..kills {
        if random.once_in(4) {
            kill_in_the_start(&data_dir, random);
        }
        let program = start(&data_dir);
        let before = acknowledged.len();
        // All of the last round, and some of those before.
        let again: Vec<String> = (0..before.min(50))
            .map(|_| random.pick(&acknowledged).clone())
            .collect();
        check(&program.address, &again, round)?;
        let delay = Duration::from_micros(random.next() % 400_000);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let address = program.address.clone();
                thread::spawn(move || load(&address, &format!("n{round}-{client}")))
            })
            .collect();
        thread::sleep(delay);
        program.status_after(Signal::KILL);
        for client in clients {
            acknowledged.extend(client.join().unwrap());
        }
        let program = start(&data_dir);
        check(&program.address, &acknowledged[before..], round)?;
        program.status_after(Signal::KILL);
    }
    let program = start(&data_dir);
    check(&program.address, &acknowledged, kills)?;
    let status = program.status_after(Signal::TERM);
    if status != Some(0) {
        return Err(format!("the last stop ended with {status:?}"));
    }
    Ok(acknowledged.len())
}

fn start(data_dir: &Path) -> Program {
    let mut command = command(data_dir);
    command.args(["--log-level", "error"]);
    for policy in "default ip newsletter newsletter-ip newsletter-all".split(' ') {
        command.args(["--limit", &format!("{policy}=off")]);
    }
    Program::start(command.stderr(Stdio::null()))
}

fn kill_in_the_start(data_dir: &Path, random: &mut Random) {
    let mut child = command(data_dir).stderr(Stdio::null()).spawn().unwrap();
    thread::sleep(Duration::from_micros(random.next() % 60_000));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Signs new addresses up until the program is gone. Hands out those that were acknowledged.
fn load(address: &str, prefix: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut stream) = TcpStream::connect(address) else {
        return acknowledged;
    };
    loop {
        let name = format!("{prefix}-{}@example.com", acknowledged.len());
        match sign_up(&mut stream, &name) {
            Ok(_) => acknowledged.push(name),
            Err(_) => return acknowledged,
        }
    }
}

/// Each of `names` has been signed up before.
fn check(address: &str, names: &[String], round: usize) -> Result<(), String> {
    let check = |names: &[String]| {
        let mut stream = TcpStream::connect(address).unwrap();
        let is_missing = |name: &&String| !sign_up(&mut stream, name).unwrap();
        names.iter().find(is_missing).cloned()
    };
    thread::scope(|scope| {
        let clients: Vec<_> = names
            .chunks(names.len().div_ceil(CLIENTS).max(1))
            .map(|names| scope.spawn(move || check(names)))
            .collect();
        let mut clients = clients.into_iter();
        match clients.find_map(|client| client.join().unwrap()) {
            Some(name) => Err(format!("{name} was acknowledged: gone after kill {round}")),
            None => Ok(()),
        }
    })
}

/// Signs `name` up and tells whether it was there before.
fn sign_up(stream: &mut TcpStream, name: &str) -> io::Result<bool> {
    let body = format!("{{\"email\":\"{name}\"}}");
    let length = body.len();
    let request = format!(
        "POST /api/v1/newsletter HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&bytes[..count]);
    }
    let text = String::from_utf8(answer).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    Ok(text.ends_with("\"alreadyExists\":true}"))
}
