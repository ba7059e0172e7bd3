//! A long list in little memory, while its ledger is written anew, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use landing_api::adapters::files::data_dir::DataDir;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::system::SystemEntropy;
use landing_api::domain::contact::Contact;
use landing_api::domain::email::EmailAddress;
use landing_api::ports::ContactStore;
use rustix::process::Signal;

use crate::Run;
use crate::fixtures::START;
use crate::fuzz::runtime;
use crate::program::{Program, Ran, behind_shell, command, landing_api};

const TOGETHER: usize = 50_000;

/// Where control groups have the memory that they may take, in versions 2 and 1.
const CGROUPS: [(&str, &str); 2] = [
    ("/sys/fs/cgroup", "memory.max"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
];

pub(crate) fn memory(run: Run) -> Result<String, String> {
    let (contacts, group_mib, resident_mib_max) = match run.is_long {
        true => (4_000_000, 256, 200),
        // The pages of a debug program are many.
        false => (100_000, 160, 120),
    };
    // On a disk: pages of a file in memory cannot be given back.
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data_dir = root.path().join("data");
    runtime().block_on(fill(&data_dir, contacts));
    let group = Group::new(group_mib);
    let program = start(&data_dir, group.as_ref());
    for words in [
        &["contacts", "forget", "n7@example.com", "--yes"][..],
        &["ledger", "compact"],
    ] {
        Ran::of(landing_api(words).arg("--data-dir").arg(&data_dir)).done();
    }
    let mut peak_mib = super::peak_mib(program.pid());
    program.status_after(Signal::KILL);
    let program = start(&data_dir, group.as_ref());
    program.sign_up("last@example.com");
    peak_mib = peak_mib.max(super::peak_mib(program.pid()));
    program.stopped();
    if peak_mib > resident_mib_max {
        return Err(format!("{contacts} contacts took {peak_mib} MiB"));
    }
    let within = match group {
        Some(_) => format!("in a control group of {group_mib} MiB"),
        None => "without a control group, which only root makes".to_owned(),
    };
    Ok(format!(
        "{contacts} contacts, at most {peak_mib} MiB, {within}"
    ))
}

async fn fill(data_dir: &Path, contacts: u64) {
    let data_dir = DataDir::open(data_dir, &SystemEntropy).unwrap();
    let store = LedgerStore::open(&data_dir).unwrap();
    for first in (0..contacts).step_by(TOGETHER) {
        let rows = (first..first + TOGETHER as u64).map(|number| {
            Contact::imported(
                EmailAddress::parse(&format!("n{number}@example.com")).unwrap(),
                START,
                None,
                None,
            )
        });
        store.import(rows.collect(), false).await.unwrap();
    }
    store.close().unwrap();
}

fn start(data_dir: &Path, group: Option<&Group>) -> Program {
    let mut command = command(data_dir);
    command.args(["--log-level", "error"]);
    let mut command = match group {
        Some(Group(path)) => {
            let script = format!("echo $$ > {}", path.join("cgroup.procs").display());
            behind_shell(&script, &command)
        }
        None => command,
    };
    Program::start(command.stderr(Stdio::null()))
}

/// A control group with a limit. Dropping it removes it.
struct Group(PathBuf);

impl Group {
    /// `None` if this process may make none.
    fn new(mib: u64) -> Option<Self> {
        CGROUPS.iter().find_map(|(root, limit)| {
            let path = Path::new(root).join(format!("landing-api-{}", std::process::id()));
            fs::create_dir(&path).ok()?;
            let group = Self(path);
            fs::write(group.0.join(limit), (mib << 20).to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
