//! Commands that are killed, closed, interrupted, or run by somebody else.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

use landing_api::operator::import::IMPORT_ROWS;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use super::{Ran, feed, private_dir, run};
use crate::program::{Program, command};

/// Addresses, one a line.
fn list(count: usize) -> String {
    (0..count)
        .map(|it| format!("a{it}@example.com\n"))
        .collect()
}

/// An import whose input goes on.
fn endless_import(dir: &Path) -> (Child, std::process::ChildStdin) {
    let mut child = super::command(&["contacts", "import", "-"], dir)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

#[test]
fn an_import_that_is_killed_anywhere_can_be_repeated() {
    let rows = list(20_000);
    for is_running in [true, false] {
        let dir = private_dir();
        let service = Program::start(&mut command(dir.path()));
        let service = is_running.then_some(service);
        let (mut child, mut stdin) = endless_import(dir.path());
        stdin.write_all(&rows.as_bytes()[..rows.len() / 2]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        drop(service);
        let before: u64 = run(&["contacts", "count"], dir.path())
            .out
            .trim()
            .parse()
            .unwrap();
        let again = feed(
            &["contacts", "import", "-", "--json"],
            dir.path(),
            rows.as_bytes(),
        );
        let again = again.json();
        assert_eq!(again["known"], before);
        assert_eq!(again["created"], 20_000 - before);
        assert_eq!(run(&["contacts", "count"], dir.path()).out, "20000\n");
    }
}

#[test]
fn what_an_import_added_before_a_failure_stays() {
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    let (child, mut stdin) = endless_import(dir.path());
    stdin.write_all(list(IMPORT_ROWS).as_bytes()).unwrap();
    while run(&["contacts", "count"], dir.path()).out == "0\n" {}
    // As if another ledger were put in its place.
    let [ledger, aside] = ["ledger.jsonl", "aside"].map(|name| dir.path().join(name));
    fs::rename(&ledger, &aside).unwrap();
    stdin.write_all(b"last@example.com\n").unwrap();
    drop(stdin);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let expected = format!("{IMPORT_ROWS} contacts were added before; import the same file again");
    assert!(ran.err.contains(&expected), "{ran:?}");
    fs::rename(&aside, &ledger).unwrap();
    let rows = list(IMPORT_ROWS) + "last@example.com\n";
    let words = ["contacts", "import", "-", "--json"];
    let again = feed(&words, dir.path(), rows.as_bytes()).json();
    assert_eq!(
        (&again["known"], &again["created"]),
        (&json!(IMPORT_ROWS), &json!(1))
    );
    drop(service);
}

#[test]
fn what_a_command_acknowledged_survives_kills_of_the_next_ones() {
    let dir = private_dir();
    drop(Program::start(&mut command(dir.path())));
    assert_eq!(
        feed(
            &["contacts", "import", "-"],
            dir.path(),
            list(500).as_bytes()
        )
        .status,
        Some(0)
    );
    let tar = dir.path().join("backup.tar");
    let tar = tar.to_str().unwrap();
    let mut forgotten = 0;
    for _ in 0..4 {
        for words in [
            &["contacts", "forget", "a1@example.com"][..],
            &["limits", "reset", "--all"],
            &["backup", "--force", tar],
            &["ledger", "compact"],
        ] {
            let mut child = super::command(words, dir.path()).spawn().unwrap();
            // Somewhere in its work.
            while !dir.path().join("lock").exists() {
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            let email = format!("a{}@example.com", 100 + forgotten);
            let ran = run(&["contacts", "forget", &email], dir.path());
            assert_eq!(ran.status, Some(0), "{ran:?}");
            forgotten += 1;
        }
    }
    let left: usize = run(&["contacts", "count"], dir.path())
        .out
        .trim()
        .parse()
        .unwrap();
    assert!(
        [500 - forgotten, 499 - forgotten].contains(&left),
        "{left} {forgotten}"
    );
    let service = Program::start(&mut command(dir.path()));
    assert_eq!(
        run(&["contacts", "show", "a100@example.com"], dir.path()).status,
        Some(1)
    );
    drop(service);
}

#[test]
fn a_restore_that_is_killed_can_be_repeated() {
    let dir = private_dir();
    let var = dir.path().join("var");
    drop(Program::start(&mut command(&var)));
    assert_eq!(
        feed(&["contacts", "import", "-"], &var, list(2000).as_bytes()).status,
        Some(0)
    );
    let tar = dir.path().join("backup.tar");
    let name = tar.to_str().unwrap();
    assert_eq!(run(&["backup", name], &var).status, Some(0));
    let archive = fs::read(&tar).unwrap();
    let other = dir.path().join("other");
    let mut child = super::command(&["restore", "-"], &other)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&archive[..archive.len() / 2]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!other.join("ledger.jsonl").exists());
    let ran = run(&["restore", name], &other);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(run(&["contacts", "count"], &other).out, "2000\n");
}

#[test]
fn a_signal_ends_a_command_and_closes_the_stores() {
    for signal in [Signal::INT, Signal::TERM] {
        let dir = private_dir();
        drop(Program::start(&mut command(dir.path())));
        let (mut child, mut stdin) = endless_import(dir.path());
        stdin.write_all(list(20_000).as_bytes()).unwrap();
        // It listens for signals once the directory is open, and reads only then.
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap().code();
        let mut err = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut err)
            .unwrap();
        assert_eq!(status, Some(130), "{err}");
        assert!(err.contains("error: interrupted"), "{err}");
        // A clean stop left an index: the next start does not make one.
        let service = Program::start(&mut command(dir.path()));
        let (_, log) = service.stop(Signal::TERM);
        assert!(!log.contains("index"), "{log}");
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let dir = private_dir();
    let mut service = Some(Program::start(&mut command(dir.path())));
    assert_eq!(
        feed(
            &["contacts", "import", "-"],
            dir.path(),
            list(30_000).as_bytes()
        )
        .status,
        Some(0)
    );
    for _ in 0..2 {
        for words in [
            &["contacts", "export"][..],
            &["contacts", "list"],
            &["contacts", "list", "--json"],
        ] {
            let mut child = super::command(words, dir.path()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap())
                .read_line(&mut line)
                .unwrap();
            let ended = Ran::from(child.wait_with_output().unwrap());
            assert_eq!((ended.status, &*ended.err), (Some(0), ""), "{words:?}");
        }
        // The second time on the stopped directory.
        if let Some(service) = service.take() {
            service.status_after(Signal::KILL);
        }
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let dir = private_dir();
    let _service = Program::start(&mut command(dir.path()));
    for words in [
        &["contacts", "count"][..],
        &["contacts", "export"],
        &["status"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = super::command(words, dir.path())
            .stdout(full)
            .spawn()
            .unwrap();
        let ran = Ran::from(ran.wait_with_output().unwrap());
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(
            ran.err
                .starts_with("error: cannot write to standard output: "),
            "{ran:?}"
        );
    }
}

#[test]
fn another_user_is_refused_by_the_socket() {
    // Only root can become somebody else.
    if !geteuid().is_root() {
        return;
    }
    let dir = private_dir();
    let service = Program::start(&mut command(dir.path()));
    // Even where the modes of a copied directory would let them in.
    for (path, mode) in [
        (dir.path().to_owned(), 0o755),
        (dir.path().join("admin.sock"), 0o777),
    ] {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let as_somebody_else = || {
        let mut command = super::command(&["contacts", "count"], dir.path());
        let refused = Ran::from(command.uid(65_534).gid(65_534).output().unwrap());
        assert_eq!(refused.status, Some(1), "{refused:?}");
        assert_eq!(refused.out, "");
        refused.err
    };
    as_somebody_else();
    // With the usual ones they learn who may.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(dir.path(), private).unwrap();
    let told = as_somebody_else();
    assert!(told.contains("run the command as that user"), "{told}");
    assert_eq!(run(&["contacts", "count"], dir.path()).out, "0\n");
    assert_eq!(service.stop(Signal::TERM).0, Some(0));
}

#[test]
fn root_leaves_no_files_in_the_directory_of_another_user() {
    if !geteuid().is_root() {
        return;
    }
    let dir = private_dir();
    let var = dir.path().join("var");
    drop(Program::start(&mut command(&var)));
    let tar = dir.path().join("backup.tar");
    let tar = tar.to_str().unwrap();
    assert_eq!(run(&["backup", tar], &var).status, Some(0));
    let (uid, other) = (Some(65_534), dir.path().join("other"));
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::chown(&other, uid, uid).unwrap();
    std::os::unix::fs::chown(&var, uid, uid).unwrap();
    for (words, path) in [
        (&["restore", tar][..], &other),
        (&["contacts", "count"], &var),
        (&["ledger", "repair"], &var),
    ] {
        let refused = run(words, path);
        assert_eq!(refused.status, Some(1), "{refused:?}");
        assert!(refused.err.contains("sudo -u '#65534'"), "{refused:?}");
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
}

#[test]
fn a_service_of_another_version_is_named() {
    let dir = private_dir();
    fs::write(dir.path().join("ledger.jsonl"), "").unwrap();
    for (answer, told) in [
        (
            "{\"failure\":{\"kind\":\"unknown\",\"text\":\"I do not know that one\"},\"passes_sign_ups_on\":false}\n\n",
            "I do not know that one",
        ),
        (
            "{\"failure\":null,\"passes_sign_ups_on\":false}\n{}\n\n",
            "missing field",
        ),
        ("{}\n\n", "missing field"),
        ("HTTP/1.1 200 OK\r\n\r\n", "expected value"),
    ] {
        let socket = dir.path().join("admin.sock");
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let ran = std::thread::scope(|scope| {
            scope.spawn(|| {
                // The first connection only finds out whether somebody listens.
                drop(listener.accept().unwrap());
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; 1024];
                let _ = stream.read(&mut head).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            });
            run(&["contacts", "count"], dir.path())
        });
        assert_eq!(ran.status, Some(1));
        let version = "error: the service that runs on the data directory is another version";
        assert!(
            ran.err.starts_with(version) && ran.err.contains(told),
            "{ran:?}"
        );
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let dir = private_dir();
    let _service = Program::start(&mut command(dir.path()));
    let list = |variables: &[(&str, &str)]| {
        let mut command = super::command(&["contacts", "list"], dir.path());
        command.envs(variables.iter().copied());
        Ran::from(command.output().unwrap()).out
    };
    assert!(!list(&[]).contains('\x1b'));
    assert!(list(&[("CLICOLOR_FORCE", "1")]).starts_with("\x1b[1mSigned up"));
    assert!(!list(&[("NO_COLOR", "1")]).contains('\x1b'));
    let report: Value = run(&["status", "--json"], dir.path()).json();
    assert_eq!(report["is_running"], true);
}
