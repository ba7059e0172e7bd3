//! The real program, killed at any time under load: what it acknowledged is there at the next start.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Run;
use crate::attack::wire::{Wire, sign_up};
use crate::fuzz::runtime;
use crate::program::{Program, command};
use crate::random::Random;

use super::directory;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Clients that sign up at once.
const CLIENTS: usize = 4;

/// Kills in one data directory: a start reads all of it.
const KILLS: usize = 50;

pub(crate) fn kill(run: Run) -> Result<String, String> {
    let kills = run.of(2, 300);
    let mut random = Random::new(run.seed, "kill", 0);
    let mut acknowledged = 0;
    for first in (0..kills).step_by(KILLS) {
        acknowledged += runtime().block_on(kill_often(KILLS.min(kills - first), &mut random))?;
    }
    Ok(format!(
        "{kills} kills under load, {acknowledged} sign-ups acknowledged"
    ))
}

/// Hands out how many sign-ups were acknowledged.
async fn kill_often(kills: usize, random: &mut Random) -> Result<usize, String> {
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
        check(&program, &again, round).await?;
        let address = program.address.clone();
        let client = |client| load(address.clone(), format!("n{round}-{client}"));
        let clients: JoinSet<_> = (0..CLIENTS).map(client).collect();
        sleep(Duration::from_micros(random.next() % 400_000)).await;
        program.status_after(Signal::KILL);
        acknowledged.extend(clients.join_all().await.concat());
        let program = start(&data_dir);
        check(&program, &acknowledged[before..], round).await?;
        program.status_after(Signal::KILL);
    }
    let program = start(&data_dir);
    check(&program, &acknowledged, kills).await?;
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
async fn load(address: String, prefix: String) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut wire) = Wire::connect(HERE, address.parse().unwrap()).await else {
        return acknowledged;
    };
    loop {
        let name = format!("{prefix}-{}@example.com", acknowledged.len());
        match is_known(&mut wire, &name).await {
            Ok(_) => acknowledged.push(name),
            Err(_) => return acknowledged,
        }
    }
}

/// Each of `names` has been signed up before.
async fn check(program: &Program, names: &[String], round: usize) -> Result<(), String> {
    let address = program.address.parse().unwrap();
    let missing = names
        .chunks(names.len().div_ceil(CLIENTS).max(1))
        .map(async |names| {
            let mut wire = Wire::connect(HERE, address).await.unwrap();
            for name in names {
                if !is_known(&mut wire, name).await.unwrap() {
                    return Some(name);
                }
            }
            None
        });
    match join_all(missing).await.into_iter().flatten().next() {
        Some(name) => Err(format!("{name} was acknowledged: gone after kill {round}")),
        None => Ok(()),
    }
}

/// Signs `name` up and tells whether it was there before.
async fn is_known(wire: &mut Wire, name: &str) -> io::Result<bool> {
    let answer = wire.ask(sign_up("", name)).await?;
    assert_eq!(answer.status, 200, "{}", answer.body);
    Ok(answer.body.ends_with("\"alreadyExists\":true}"))
}
