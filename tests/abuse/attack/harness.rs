//! A trial: the program, honest clients without and with the attack, and what is asked of both.

use std::fmt;
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::honest::{Honest, Load, Tls, Visits};
use super::wire::{HEALTH, Wire};
use crate::Run;
use crate::program::{Program, command};
use crate::storage::peak_mib;

/// The attacker. All of 127.0.0.0/8 is this machine.
pub(super) const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Somebody else, who comes without a proxy.
pub(super) const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 250));
/// The one trusted proxy, through which the honest clients come.
pub(super) const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

const LOG: &str = "log";

const MEMORY_MIB_MAX: u64 = 256;
/// Below that, a 99th percentile is a matter of the machine.
const P99_FLOOR: Duration = Duration::from_millis(50);
/// How long the service may take to refuse the connections that have come.
const REFUSED_MAX: Duration = Duration::from_secs(1);
/// How long the service may take to notice that its clients have gone.
const GONE_MAX: Duration = Duration::from_secs(20);

/// How long the attacker's address may be refused for what it did. The limits of trials have windows of
/// a few seconds where attackers run into them.
const SERVED_AGAIN: Duration = Duration::from_secs(20);
/// What the handbook promises for a stop; nothing is in flight that may take longer.
const STOP_MAX: Duration = Duration::from_secs(11);

impl Run {
    pub(super) fn length(self) -> Duration {
        Duration::from_secs(self.of(3, 60))
    }

    fn quiet(self) -> Duration {
        Duration::from_secs(self.of(1, 2))
    }
}

/// A program, its honest clients and how they fared before.
pub(super) struct Trial {
    run: Run,
    program: Program,
    pub(super) address: SocketAddr,
    data_dir: TempDir,
    visits: Visits,
    tls: Tls,
    quiet: Load,
    honest: Honest,
}

impl Trial {
    /// Starts the program with these flags, has honest clients use it in peace, and sends them on their
    /// way again for the attack.
    pub(super) async fn begin(run: Run, flags: &[&str]) -> Self {
        Self::begin_with(run, flags, Visits::All, None).await
    }

    pub(super) async fn begin_with(run: Run, flags: &[&str], visits: Visits, tls: Tls) -> Self {
        let data_dir = tempfile::tempdir().unwrap();
        let log = File::create(data_dir.path().join(LOG)).unwrap();
        let mut command = command(data_dir.path());
        command.arg(format!("--trusted-proxy={PROXY}"));
        command.args(["--log-level=warn", "--limit=newsletter-all=off"]);
        let program = Program::start(command.args(flags).stderr(log));
        let address = program.address.parse().unwrap();
        // The first requests find nothing in memory.
        let first = Honest::begin(address, visits, tls.clone());
        sleep(run.quiet() / 4).await;
        first.end();
        let quiet = measure(run, address, visits, tls.clone()).await;
        Self {
            run,
            honest: Honest::begin(address, visits, tls.clone()),
            tls,
            program,
            address,
            data_dir,
            visits,
            quiet,
        }
    }

    pub(super) async fn connect(&self, from: IpAddr) -> Wire {
        Wire::connect(from, self.address).await.unwrap()
    }

    /// How many connections from that address the service holds. While some come and go, the kernel's
    /// list may tell of more than there were at any time.
    pub(super) fn held_by(&self, from: IpAddr) -> usize {
        held(self.address, Some(from))
    }

    /// Holds that address to so many connections, as soon as those that are to be refused are.
    pub(super) async fn expect_held(&self, from: IpAddr, connections_max: usize) {
        let refused = timeout(REFUSED_MAX, async {
            while self.held_by(from) > connections_max {
                sleep(Duration::from_millis(20)).await;
            }
        });
        if refused.await.is_err() {
            panic!("{} of {connections_max} are held", self.held_by(from));
        }
    }

    /// Ends the attack, whose connections are closed by now: everything has to be as before.
    pub(super) async fn end(self) -> Verdict {
        self.end_within(MEMORY_MIB_MAX).await
    }

    /// The same after an attack during which the service may have taken so much memory.
    pub(super) async fn end_within(self, memory_mib_max: u64) -> Verdict {
        let attacked = self.honest.end();
        let gone = timeout(GONE_MAX, async {
            while held(self.address, None) > 0 {
                sleep(Duration::from_millis(200)).await;
            }
        });
        gone.await.expect("no connection is held in the end");
        let served = timeout(SERVED_AGAIN, async {
            let wire = Wire::connect_with(ATTACKER, self.address, self.tls.as_ref()).await;
            let mut attacker = wire.unwrap();
            while attacker.ask(HEALTH).await.unwrap().status != 200 {
                sleep(Duration::from_millis(500)).await;
            }
        });
        served
            .await
            .expect("the attacker's address is served again");
        let mut verdict = Verdict {
            peak_mib: peak_mib(self.program.pid()),
            memory_mib_max,
            quiet: self.quiet,
            attacked,
        };
        if self.run.is_long && !verdict.slowness().is_empty() {
            // Others may have taken the machine meanwhile: then it is as slow in peace.
            let after = measure(self.run, self.address, self.visits, self.tls).await;
            let quiet = &mut verdict.quiet;
            quiet.per_second = quiet.per_second.min(after.per_second);
            quiet.p99 = quiet.p99.max(after.p99);
        }
        stop(self.program).await;
        let log = fs::read_to_string(self.data_dir.path().join(LOG)).unwrap_or_default();
        assert!(!log.contains("panicked"), "{log}");
        verdict
    }
}

/// How honest clients fare in peace.
async fn measure(run: Run, address: SocketAddr, visits: Visits, tls: Tls) -> Load {
    let honest = Honest::begin(address, visits, tls);
    sleep(run.quiet()).await;
    honest.end()
}

/// How many connections of the service at `address` a process holds.
fn held(address: SocketAddr, from: Option<IpAddr>) -> usize {
    const LISTENING: &str = "0A";
    let service = format!(":{:04X}", address.port());
    let from = from.map(|from| match from {
        IpAddr::V4(from) => format!("{:08X}:", u32::from_le_bytes(from.octets())),
        IpAddr::V6(_) => panic!("the service listens on IPv4"),
    });
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let is_held = |line: &&str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (local, remote, state, inode) = (fields[1], fields[2], fields[3], fields[9]);
        // Without an inode it is the kernel's.
        local.ends_with(&service)
            && state != LISTENING
            && inode != "0"
            && from.as_ref().is_none_or(|from| remote.starts_with(from))
    };
    sockets.lines().skip(1).filter(is_held).count()
}

/// Asks the program to stop, which it has to do well and within its promise.
async fn stop(program: Program) {
    let process = program.pid();
    let stopping = std::thread::spawn(move || program.status_after(Signal::TERM));
    let stopped = timeout(STOP_MAX, async {
        while !stopping.is_finished() {
            sleep(Duration::from_millis(10)).await;
        }
    });
    if stopped.await.is_err() {
        kill_process(process, Signal::KILL).unwrap();
        panic!("no stop within {STOP_MAX:?}");
    }
    assert_eq!(stopping.join().unwrap(), Some(0));
}

pub(super) struct Verdict {
    quiet: Load,
    attacked: Load,
    peak_mib: u64,
    memory_mib_max: u64,
}

impl Verdict {
    /// Whether honest clients were slower than they may be.
    fn slowness(&self) -> Vec<&str> {
        let (quiet, attacked) = (&self.quiet, &self.attacked);
        let slowness = [
            (attacked.per_second < quiet.per_second / 2.0, "throughput"),
            (attacked.p99 > (quiet.p99 * 10).max(P99_FLOOR), "p99"),
        ];
        let slowness = slowness.into_iter().filter(|(is_so, _)| *is_so);
        slowness.map(|(_, what)| what).collect()
    }

    fn faults(&self) -> Vec<&str> {
        let memory = (self.peak_mib > self.memory_mib_max).then_some("memory");
        let refusals = self.quiet.refusals.iter().chain(&self.attacked.refusals);
        memory
            .into_iter()
            .chain(refusals.map(String::as_str))
            .collect()
    }

    pub(super) fn is_good(&self, run: Run) -> bool {
        self.faults().is_empty() && (!run.is_long || self.slowness().is_empty())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (quiet, attacked) = (&self.quiet, &self.attacked);
        write!(
            f,
            "quiet {:>5.0}/s p99 {:>5.1} ms  attacked {:>5.0}/s p99 {:>5.1} ms  peak {:>4} MiB",
            quiet.per_second,
            quiet.p99.as_secs_f64() * 1e3,
            attacked.per_second,
            attacked.p99.as_secs_f64() * 1e3,
            self.peak_mib,
        )?;
        let faults = [self.slowness(), self.faults()].concat();
        faults.iter().try_for_each(|fault| write!(f, "  {fault}"))
    }
}

/// Keeps an attacker to so many steps a second.
pub(super) struct Pace {
    began: Instant,
    per_second: u32,
    steps: u32,
}

impl Pace {
    pub(super) fn of(per_second: u32) -> Self {
        Self {
            began: Instant::now(),
            per_second,
            steps: 0,
        }
    }

    pub(super) async fn step(&mut self) {
        self.steps += 1;
        let due = f64::from(self.steps) / f64::from(self.per_second);
        sleep_until(self.began + Duration::from_secs_f64(due)).await;
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn is_within(&self, length: Duration) -> bool {
        self.elapsed() < length
    }
}
