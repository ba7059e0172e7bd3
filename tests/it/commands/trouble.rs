//! Commands that are killed, closed, interrupted, or run by somebody else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Stdio};

use landing_api::operator::import::IMPORT_ROWS;
use rustix::process::{Pid, geteuid, kill_process};

use super::{House, command, feed, run};
use crate::prelude::*;

const IMPORT: &str = "contacts import -";

fn list(count: usize) -> String {
    (0..count)
        .map(|it| format!("a{it}@example.com\n"))
        .collect()
}

fn endless(words: &str, dir: &Path) -> (Child, ChildStdin) {
    let mut command = command(words, dir);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn count(dir: &Path) -> usize {
    let ran = run("contacts count", dir).done();
    ran.out.trim().parse().unwrap()
}

#[test]
fn an_import_that_is_killed_anywhere_can_be_repeated() {
    let rows = list(20_000);
    for is_running in [true, false] {
        let house = House::stopped();
        let service = is_running.then(|| Program::on(&house.path));
        let (child, mut stdin) = endless(IMPORT, &house.path);
        stdin.write_all(&rows.as_bytes()[..rows.len() / 2]).unwrap();
        kill(child);
        drop(service);
        let before = count(&house.path);
        let again = feed("contacts import - --json", &house.path, &rows).json();
        assert_eq!(again["known"], before);
        assert_eq!(again["created"], 20_000 - before);
        assert_eq!(count(&house.path), 20_000);
    }
}

#[test]
fn what_an_import_added_before_a_failure_stays() {
    let (dir, _service) = Program::fresh(&[]);
    let (child, mut stdin) = endless(IMPORT, dir.path());
    // More than one batch, because rows are sent in pieces.
    let rows = list(IMPORT_ROWS) + &list(5_000);
    stdin.write_all(rows.as_bytes()).unwrap();
    while count(dir.path()) == 0 {}
    // As if another ledger were put in its place.
    let [ledger, aside] = ["ledger.jsonl", "aside"].map(|name| dir.path().join(name));
    fs::rename(&ledger, &aside).unwrap();
    stdin.write_all(b"last@example.com\n").unwrap();
    drop(stdin);
    let told = format!("Contacts added so far: {IMPORT_ROWS}; import the same file again");
    Ran::from(child.wait_with_output().unwrap()).refused(1, &told);
    fs::rename(&aside, &ledger).unwrap();
    let rows = list(IMPORT_ROWS) + "last@example.com\n";
    let again = feed("contacts import - --json", dir.path(), rows).json();
    let counts = ["known", "created"].map(|name| again[name].clone());
    assert_eq!(counts, [json!(IMPORT_ROWS), json!(1)]);
}

#[test]
fn what_a_command_acknowledged_survives_kills_of_the_next_ones() {
    let house = House::stopped();
    let dir = &house.path;
    feed(IMPORT, dir, list(500)).done();
    let backup = format!("backup --force {}/backup.tar", dir.display());
    let mut forgotten = 0;
    for _ in 0..4 {
        for words in [
            "contacts forget --yes a1@example.com",
            "limits reset --yes --all",
            &backup,
            "ledger compact",
        ] {
            let child = command(words, dir).spawn().unwrap();
            // Somewhere in its work.
            while !dir.join("lock").exists() {
                thread::yield_now();
            }
            kill(child);
            let email = format!("a{}@example.com", 100 + forgotten);
            run(&format!("contacts forget --yes {email}"), dir).done();
            forgotten += 1;
        }
    }
    let left = count(dir);
    let expected = [500 - forgotten, 499 - forgotten];
    assert!(expected.contains(&left), "{left} {forgotten}");
    let _service = Program::on(dir);
    run("contacts show a100@example.com", dir).refused(1, "no contact");
}

#[test]
fn a_restore_that_is_killed_can_be_repeated() {
    let house = House::stopped();
    feed(IMPORT, &house.path, list(2000)).done();
    let dir = private_dir();
    let [tar, other] = ["backup.tar", "other"].map(|name| dir.path().join(name));
    run(&format!("backup {}", tar.display()), &house.path).done();
    let archive = fs::read(&tar).unwrap();
    let (child, mut stdin) = endless("restore -", &other);
    stdin.write_all(&archive[..archive.len() / 2]).unwrap();
    kill(child);
    assert!(!other.join("ledger.jsonl").exists());
    run(&format!("restore {}", tar.display()), &other).done();
    assert_eq!(count(&other), 2000);
}

#[test]
fn a_signal_ends_a_command_and_closes_the_stores() {
    for signal in [Signal::INT, Signal::TERM] {
        let house = House::stopped();
        let (child, mut stdin) = endless(IMPORT, &house.path);
        stdin.write_all(list(20_000).as_bytes()).unwrap();
        // It listens for signals once the directory is open, and reads only then.
        kill_process(Pid::from_child(&child), signal).unwrap();
        Ran::from(child.wait_with_output().unwrap()).refused(130, "error: interrupted");
        // A clean stop left an index: the next start does not make one.
        let log = Program::on(&house.path).stopped();
        assert!(!log.contains("index"), "{log}");
    }
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let (dir, service) = Program::fresh(&[]);
    let dir = dir.path();
    feed(IMPORT, dir, list(5_000)).done();
    let read_one_line = || {
        for words in ["contacts export", "contacts list", "contacts list --json"] {
            let mut child = command(words, dir).spawn().unwrap();
            let mut stdout = BufReader::new(child.stdout.take().unwrap());
            stdout.read_line(&mut String::new()).unwrap();
            drop(stdout);
            let ended = Ran::from(child.wait_with_output().unwrap()).done();
            assert_eq!(ended.err, "", "{words}");
        }
    };
    read_one_line();
    service.status_after(Signal::KILL);
    read_one_line();
}

#[test]
fn a_full_disk_behind_standard_output_is_an_error() {
    let house = House::stopped();
    for words in ["contacts count", "contacts export", "status"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = command(words, &house.path);
        Ran::of(command.stdout(full)).refused(1, "error: cannot write to standard output: ");
    }
}

#[test]
fn another_user_is_refused_by_the_socket() {
    // Only root can become somebody else.
    if !geteuid().is_root() {
        return;
    }
    let (dir, service) = Program::fresh(&[]);
    let set_mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    // Even where the modes of a copied directory would let them in.
    set_mode(dir.path(), 0o755);
    set_mode(&dir.path().join("admin.sock"), 0o777);
    let as_somebody_else = |told| {
        let mut command = command("contacts count", dir.path());
        Ran::of(command.uid(65_534).gid(65_534)).refused(1, told);
    };
    as_somebody_else("");
    // With the usual ones they learn who may.
    set_mode(dir.path(), 0o700);
    as_somebody_else("run the command as that user");
    assert_eq!(count(dir.path()), 0);
    service.stopped();
}

#[test]
fn root_leaves_no_files_in_the_directory_of_another_user() {
    if !geteuid().is_root() {
        return;
    }
    let dir = private_dir();
    let house = House::stopped();
    let [tar, other] = ["backup.tar", "other"].map(|name| dir.path().join(name));
    run(&format!("backup {}", tar.display()), &house.path).done();
    fs::create_dir(&other).unwrap();
    for path in [&other, &house.path] {
        chown(path, Some(65_534), Some(65_534)).unwrap();
    }
    run(&format!("restore {}", tar.display()), &other).refused(1, "sudo -u '#65534'");
    for words in ["contacts count", "ledger repair --yes"] {
        run(words, &house.path).refused(1, "sudo -u '#65534'");
    }
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
}

#[test]
fn a_service_of_another_version_is_named() {
    const UNKNOWN: &str = "{\"kind\":\"unknown\",\"text\":\"I do not know that one\"}\n\n";
    let dir = private_dir();
    fs::write(dir.path().join("ledger.jsonl"), "").unwrap();
    for (answer, told) in [
        (UNKNOWN, "I do not know that one"),
        ("null\n{}\n\n", "missing field"),
        ("null\n\n", "while parsing a value"),
        ("HTTP/1.1 200 OK\r\n\r\n", "expected value"),
    ] {
        let socket = dir.path().join("admin.sock");
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let ran = thread::scope(|scope| {
            scope.spawn(|| {
                // The first connection only finds out whether somebody listens.
                drop(listener.accept().unwrap());
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; 1024];
                let _ = stream.read(&mut head).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            });
            run("contacts count", dir.path())
        });
        let ran = ran.refused(1, told);
        let version = "error: the service on the data directory is a different version";
        assert!(ran.err.starts_with(version), "{ran:?}");
    }
}

#[test]
fn colours_are_for_those_who_want_them() {
    let house = House::stopped();
    let list = |variable: &str| {
        let mut command = command("contacts list", &house.path);
        Ran::of(command.env(variable, "1")).done().out
    };
    assert!(!list("UNKNOWN").contains('\x1b'));
    assert!(list("CLICOLOR_FORCE").starts_with("\x1b[1mSigned up"));
    assert!(!list("NO_COLOR").contains('\x1b'));
}
