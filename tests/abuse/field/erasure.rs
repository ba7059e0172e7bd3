//! Many are erased at once while others sign up.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::run;
use crate::Run;
use crate::program::{Program, command, private_dir};

/// How long a sign-up may wait meanwhile.
const WAIT_MAX: Duration = Duration::from_secs(1);

pub(crate) fn erasure(run_as: Run) -> Result<String, String> {
    let count = if run_as.is_long { 80_000 } else { 5_000 };
    let dir = private_dir();
    let mut command = command(dir.path());
    // Messages that nobody takes wait for everybody.
    command.arg("--newsletter-webhook=http://127.0.0.1:1/hook");
    for policy in "default ip newsletter newsletter-ip newsletter-all".split(' ') {
        command.args(["--limit", &format!("{policy}=off")]);
    }
    let program = Program::start(&mut command);
    let mut addresses = String::new();
    for number in 0..count {
        writeln!(addresses, "n{number}@example.com").unwrap();
    }
    let list = dir.path().join("list");
    fs::write(&list, format!("email\n{addresses}")).unwrap();
    let list_path = list.to_str().unwrap();
    run(&["contacts", "import", list_path], dir.path()).done();
    fs::write(&list, addresses).unwrap();
    let is_erased = AtomicBool::new(false);
    let (longest, sign_ups, erased) = thread::scope(|scope| {
        let erasing = scope.spawn(|| {
            let words = ["contacts", "forget", "--from", list_path, "--yes", "--json"];
            let ran = run(&words, dir.path());
            is_erased.store(true, Ordering::Relaxed);
            ran
        });
        let (mut longest, mut sign_ups) = (Duration::ZERO, 0);
        while !is_erased.load(Ordering::Relaxed) {
            let began = Instant::now();
            program.sign_up(&format!("other{sign_ups}@example.com"));
            let (status, _) = program.send("GET", "/api/v1/health", "", "");
            assert_eq!(status, 200, "health");
            longest = longest.max(began.elapsed());
            sign_ups += 1;
        }
        (longest, sign_ups, erasing.join().unwrap())
    });
    let erased = erased.done();
    let left = run(&["contacts", "count"], dir.path()).done().out;
    if left.trim() != sign_ups.to_string() {
        return Err(format!(
            "{left} contacts are left, {sign_ups} signed up: {erased:?}"
        ));
    }
    // A short run may share the machine.
    if run_as.is_long && longest > WAIT_MAX {
        return Err(format!("a sign-up took {longest:?}"));
    }
    Ok(format!(
        "{count} erased beside {sign_ups} sign-ups, the longest of which took {} ms",
        longest.as_millis()
    ))
}
