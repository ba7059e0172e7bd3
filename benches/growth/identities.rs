//! A million identities, each an address that a proxy names: what they take while their windows
//! live, and what is left when they have expired.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{disk, memory, mib};
use crate::row;
use crate::support::{Clients, Server, directory, service_command};

/// As many windows as the limiter keeps for single identities, so each has one.
const IDENTITIES: u64 = 1_000_000;
const WINDOW: Duration = Duration::from_secs(75);
const CONNECTIONS: usize = 64;

/// The writer's way to the store, and a sweep of the whole table, take less.
const SETTLING: Duration = Duration::from_secs(4);

/// Of the wait until memory and disk have come back.
const WAIT_MAX: Duration = Duration::from_secs(60);

pub(crate) async fn run() {
    let directory = directory();
    let mut command = service_command(directory.path(), "warn");
    command.args(["--trusted-proxy", "127.0.0.1", "--limit", "ip=off"]);
    let quota = format!("default=100/{}s", WINDOW.as_secs());
    command.args(["--limit", &quota]);
    let server = Server::start(command);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = memory(&server);
    let disk_before = disk(directory.path());
    row(
        "memory, before",
        &format!("{:.1} MiB", before.resident_mib),
        "",
    );

    let began = Instant::now();
    server
        .ask(Clients::on_all_cores(CONNECTIONS), request)
        .await;
    let asked = began.elapsed();
    assert!(
        asked < WINDOW,
        "the first have expired before the last came"
    );
    tokio::time::sleep(SETTLING).await;
    let with = memory(&server);
    let disk_with = disk(directory.path());
    row(
        "memory with 1,000,000 identities",
        &format!(
            "{:.1} MiB, at most {:.1} MiB",
            with.resident_mib, with.peak_mib
        ),
        "160 MiB",
    );

    let expired = began + asked + WINDOW;
    tokio::time::sleep_until(expired.into()).await;
    let after = come_back(&server, directory.path()).await;
    row(
        "memory after they have expired",
        &format!(
            "{:.1} MiB, {:.0} s later, at most {:.1} MiB",
            memory(&server).resident_mib,
            after.as_secs_f64(),
            memory(&server).peak_mib
        ),
        "comes back",
    );
    let disk_after = disk(directory.path());
    let disks = [disk_before, disk_with, disk_after].map(|bytes| format!("{:.1}", mib(bytes)));
    row(
        "disk before, with them, after",
        &format!("{} MiB", disks.join(", ")),
        "comes back",
    );
}

/// Waits until neither memory nor disk shrinks any more, and says how long that took.
async fn come_back(server: &Server, directory: &Path) -> Duration {
    let began = Instant::now();
    let mut smallest = (f64::INFINITY, u64::MAX);
    let mut shrunk = began;
    while shrunk.elapsed() < 2 * SETTLING && began.elapsed() < WAIT_MAX {
        let now = (memory(server).resident_mib, disk(directory));
        // Less than this is no more than breathing.
        if now.0 < smallest.0 - 1.0 || now.1 < smallest.1.saturating_sub(1 << 20) {
            smallest = now;
            shrunk = Instant::now();
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    shrunk - began
}

fn request(number: u64) -> Option<String> {
    const FIRST: Ipv4Addr = Ipv4Addr::new(11, 0, 0, 0);
    (number < IDENTITIES).then(|| {
        let address = Ipv4Addr::from(u32::from(FIRST) + u32::try_from(number).unwrap());
        format!(
            "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {address}\r\n\r\n"
        )
    })
}
