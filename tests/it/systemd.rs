//! Under a service manager: the socket it passes, and what it is told.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::prelude::*;
use crate::program::{behind_shell, text};

/// The program with `socket` as its descriptor 3, passed as systemd does, in its own process.
fn activated(data_dir: &Path, socket: impl Into<OwnedFd>, flags: &[&str]) -> Command {
    let script = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$";
    let mut shell = behind_shell(script, command(data_dir).args(flags));
    shell.stdin(socket.into());
    shell
}

/// What passes one socket twice, under these names.
fn named(names: &str) -> String {
    let names = format!("LISTEN_FDNAMES={names}");
    format!("exec 3<&0 4<&0 </dev/null; export LISTEN_FDS=2 {names} LISTEN_PID=$$")
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn a_passed_socket_is_used_instead_of_the_flag() {
    let data_dir = tempfile::tempdir().unwrap();
    let passed = listener();
    let address = passed.local_addr().unwrap().to_string();
    let program = Program::start(&mut activated(data_dir.path(), passed, &[]));
    assert_eq!(program.address, address);
    let (status, body) = program.send("GET", "/api/v1/health", "", "");
    assert_eq!(status, 200);
    assert_eq!(body["openapi"], format!("http://{address}/openapi.json"));
    assert_eq!(program.sign_up("ada@example.com"), false);
    program.stopped();
}

#[test]
fn sockets_are_told_apart_by_their_names() {
    let data_dir = tempfile::tempdir().unwrap();
    let passed = listener();
    let redirect = passed.local_addr().unwrap().to_string();
    let admin = listener();
    let admin_address = admin.local_addr().unwrap().to_string();
    let names = "LISTEN_FDNAMES=redirect:admin LISTEN_PID=$$";
    let script = format!("exec 3<&0 4<&2 </dev/null 2>/dev/null; export LISTEN_FDS=2 {names}");
    let mut command = command(data_dir.path());
    command.arg("--base-url=https://landing.example");
    let mut shell = behind_shell(&script, &command);
    let shell = shell.stdin(OwnedFd::from(passed));
    let program = Program::start(shell.stderr(OwnedFd::from(admin)));
    let request = "GET /x HTTP/1.1\r\nHost: landing.example\r\n\r\n";
    let sent = exchange(&redirect, request);
    assert_present(&sent, &["location: https://landing.example/x\r\n"]);
    let request = "GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert!(exchange(&admin_address, request).ends_with("live\n"));
    assert_ne!(program.address, redirect);
    assert_eq!(program.sign_up("ada@example.com"), false);
}

#[test]
fn a_socket_passed_to_another_process_is_left_alone() {
    let data_dir = tempfile::tempdir().unwrap();
    let passed = listener();
    let address = passed.local_addr().unwrap().to_string();
    let script = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=1";
    let mut shell = behind_shell(script, &command(data_dir.path()));
    let program = Program::start(shell.stdin(OwnedFd::from(passed)));
    assert_ne!(program.address, address);
    assert_eq!(program.sign_up("ada@example.com"), false);
}

#[test]
fn what_is_no_tcp_listener_is_refused_before_the_data_directory_is_touched() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("unused");
    let at_listener = listener();
    let connected = TcpStream::connect(at_listener.local_addr().unwrap()).unwrap();
    let unix = UnixListener::bind(parent.path().join("socket"));
    let refused: [(&str, OwnedFd); 4] = [
        ("a file", File::open("/dev/null").unwrap().into()),
        ("UDP", UdpSocket::bind("127.0.0.1:0").unwrap().into()),
        ("a Unix socket", unix.unwrap().into()),
        ("a connection", connected.into()),
    ];
    for (what, socket) in refused {
        let mut command = activated(&data_dir, socket, &[]);
        check_refused(what, &mut command, "no TCP listener");
    }
    let script = "exec 3<&0 4<&0 </dev/null; export LISTEN_FDS=2 LISTEN_PID=$$";
    let mut shell = behind_shell(script, &command(&data_dir));
    shell.stdin(OwnedFd::from(listener()));
    check_refused("two", &mut shell, "2 sockets for the service");
    for (names, told) in [
        ("redirect:redirect", "2 sockets for redirects"),
        ("web:redirect", "needs an https URL"),
    ] {
        let mut shell = behind_shell(&named(names), &command(&data_dir));
        let ran = Ran::of(shell.stdin(OwnedFd::from(listener())));
        assert!(ran.err.starts_with("error: "), "{ran:?}");
        assert!(ran.err.contains(told), "{ran:?}");
    }
    let everywhere = TcpListener::bind("0.0.0.0:0").unwrap();
    let script = "exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_FDNAMES=admin LISTEN_PID=$$";
    let mut shell = behind_shell(script, &command(&data_dir));
    Ran::of(shell.stdin(OwnedFd::from(everywhere))).refused_in_a_line(1, "a loopback address");
    assert!(!data_dir.exists());
}

fn check_refused(what: &str, command: &mut Command, told: &str) {
    let ran = Ran::of(command).refused_in_a_line(1, told);
    assert!(ran.err.contains("ListenStream="), "{what}: {ran:?}");
}

/// A service manager's end of the notifications, and its path.
fn manager(dir: &Path) -> (UnixDatagram, PathBuf) {
    let path = dir.join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let deadline = Duration::from_secs(60);
    socket.set_read_timeout(Some(deadline)).unwrap();
    (socket, path)
}

fn told(manager: &UnixDatagram) -> String {
    let mut message = [0; 1024];
    let length = manager.recv(&mut message).unwrap();
    text(&message[..length])
}

#[test]
fn a_service_manager_is_told_of_the_start_and_of_the_stop() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = manager(dir.path());
    let program = Program::start(command(&dir.path().join("data")).env("NOTIFY_SOCKET", &path));
    assert_eq!(told(&manager), "STATUS=opening the stores\n");
    let ready = format!("READY=1\nSTATUS=listening on http://{}\n", program.address);
    assert_eq!(told(&manager), ready);
    assert_eq!(program.sign_up("ada@example.com"), false);
    program.stopped();
    let stopping = "STOPPING=1\nSTATUS=stopping: requests in flight may finish\n";
    assert_eq!(told(&manager), stopping);
}

#[test]
fn a_start_that_fails_is_never_called_ready() {
    let dir = tempfile::tempdir().unwrap();
    let (manager, path) = manager(dir.path());
    let data_dir = dir.path().join("data");
    let _first = Program::on(&data_dir);
    Ran::of(command(&data_dir).env("NOTIFY_SOCKET", &path)).refused(1, "in use");
    assert_eq!(told(&manager), "STATUS=opening the stores\n");
    manager.set_nonblocking(true).unwrap();
    assert!(manager.recv(&mut [0]).is_err(), "nothing else was told");
}

#[test]
fn a_service_manager_that_is_gone_disturbs_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    let nobody = dir.path().join("nobody");
    let program = Program::start(command(&data_dir).env("NOTIFY_SOCKET", &nobody));
    assert_eq!(program.sign_up("ada@example.com"), false);
    let log = program.stopped();
    assert!(log.contains("cannot notify the service manager"), "{log}");
}

/// One request on a connection of its own. Returns the status line.
fn ask(address: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[test]
fn a_restart_refuses_no_connection_while_the_socket_is_kept() {
    let data_dir = tempfile::tempdir().unwrap();
    let kept = listener();
    let address = kept.local_addr().unwrap().to_string();
    let start = || {
        let flags = ["--limit", "default=off,ip=off", "--log-level", "warn"];
        let socket = kept.try_clone().unwrap();
        Program::start(&mut activated(data_dir.path(), socket, &flags))
    };
    let (done, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let client = || {
        while !done.load(Ordering::Relaxed) {
            assert_eq!(ask(&address).unwrap(), "HTTP/1.1 200 OK");
            answered.fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        let clients: [_; 4] = std::array::from_fn(|_| scope.spawn(client));
        let mut program = start();
        for _ in 0..5 {
            let before = answered.load(Ordering::Relaxed);
            while answered.load(Ordering::Relaxed) < before + 50
                && !clients.iter().any(|client| client.is_finished())
            {
                thread::yield_now();
            }
            program.stopped();
            program = start();
        }
        done.store(true, Ordering::Relaxed);
        // Before the program is dropped, which kills it.
        for client in clients {
            client.join().unwrap();
        }
    });
}

#[test]
fn the_unit_shows_the_service_when_its_machine_started() {
    // Without /proc/stat nothing is known of the process: its memory, its files, and since when it runs.
    let unit = include_str!("../../data/deploy/landing-api.service");
    assert!(unit.lines().all(|line| line != "ProcSubset=pid"));
}
