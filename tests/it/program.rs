//! Runs the real program as a process.

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use tempfile::TempDir;

/// `landing-api WORDS`, without input.
pub(crate) fn landing_api(words: &[&str]) -> Command {
    let mut command = bare(env!("CARGO_BIN_EXE_landing-api"));
    command.args(words);
    command
}

/// A program without an environment and input, whose output is read.
fn bare(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn command(data_dir: &Path) -> Command {
    let mut command = landing_api(&["--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(data_dir);
    command
}

/// `command` run by a shell after `script`, in its process.
pub(crate) fn behind_shell(script: &str, command: &Command) -> Command {
    let mut shell = bare("/bin/sh");
    shell.args(["-c", &format!("{script}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

/// The program, serving. Dropping it kills the process.
pub(crate) struct Program {
    child: Child,
    /// Where it listens, as `IP:PORT`.
    pub(crate) address: String,
    /// Reads standard error if it is a pipe, so that the pipe never fills.
    log: Option<JoinHandle<String>>,
}

impl Program {
    /// With `flags`, on a data directory of its own.
    pub(crate) fn fresh(flags: &[&str]) -> (TempDir, Self) {
        let dir = private_dir();
        let program = Self::start(command(dir.path()).args(flags));
        (dir, program)
    }

    /// Without more flags, on this data directory.
    pub(crate) fn on(data_dir: &Path) -> Self {
        Self::start(&mut command(data_dir))
    }

    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.as_mut().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listening on ")
            .and_then(|url| Some(url.split_once("://")?.1))
            .unwrap_or_else(|| panic!("{line:?}"));
        let log = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut log = String::new();
                stderr.read_to_string(&mut log).unwrap();
                assert_impersonal(&log);
                log
            })
        });
        Self {
            address: address.trim_end().to_owned(),
            child,
            log,
        }
    }

    /// Sends a request with a JSON body. Returns status and body.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let headers = format!("{headers}Content-Type: application/json\r\n");
        self.exchange(method, path, &headers, body)
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> (u16, Value) {
        self.send("POST", path, "", body)
    }

    pub(crate) fn post_form(&self, path: &str, body: &str) -> (u16, Value) {
        let headers = "Content-Type: application/x-www-form-urlencoded\r\n";
        self.exchange("POST", path, headers, body)
    }

    fn exchange(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let answer = exchange(&self.address, &request);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn sign_up(&self, email: &str) -> Value {
        let body = json!({ "email": email }).to_string();
        let (status, body) = self.post("/api/v1/newsletter", &body);
        assert_eq!(status, 200, "{body}");
        body["alreadyExists"].clone()
    }

    pub(crate) fn mint(&self) -> String {
        let (status, body) = self.post("/api/v1/keys", "{}");
        assert_eq!(status, 201, "{body}");
        body["api_key"].as_str().unwrap().to_owned()
    }

    pub(crate) fn health(&self, key: &str) -> u16 {
        let header = format!("X-API-Key: {key}\r\n");
        self.send("GET", "/api/v1/health", &header, "").0
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops it, which succeeds. Returns the log.
    pub(crate) fn stopped(self) -> String {
        let (status, log) = self.stop(Signal::TERM);
        assert_eq!(status, Some(0), "{log}");
        log
    }

    /// Sends the signal and waits. Returns exit status and log.
    pub(crate) fn stop(self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        self.wait()
    }

    /// Sends the signal and waits. Returns the exit status, whatever was printed.
    pub(crate) fn status_after(mut self, signal: Signal) -> Option<i32> {
        self.signal(signal);
        self.child.wait().unwrap().code()
    }

    /// Waits for the end. Returns exit status and log.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let log = self.log.take().map(|log| log.join().unwrap());
        let mut rest = String::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "one line on standard output is all there is");
        (status.code(), log.unwrap_or_default())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gives `path` and all in it to the group as well, as Kubernetes does with an `fsGroup`.
pub(crate) fn open_to_group(path: &Path) {
    let mode = fs::metadata(path).unwrap().permissions().mode();
    let more = if path.is_dir() { 0o2070 } else { 0o060 };
    fs::set_permissions(path, Permissions::from_mode(mode | more)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            open_to_group(&entry.unwrap().path());
        }
    }
}

/// A directory that makes nobody warn.
pub(crate) fn private_dir() -> TempDir {
    let mut builder = tempfile::Builder::new();
    let builder = builder.permissions(Permissions::from_mode(0o700));
    builder.tempdir().unwrap()
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(command: &mut Command) -> Self {
        run(command).into()
    }

    /// Checks that it did what it was told.
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// Checks that it failed with this status and printed nothing but an error with this text.
    pub(crate) fn refused(self, status: i32, told: &str) -> Self {
        assert_eq!((self.status, &*self.out), (Some(status), ""), "{self:?}");
        let is_error = self.err.lines().any(|line| line.starts_with("error: "));
        assert!(is_error && self.err.contains(told), "{told}: {self:?}");
        self
    }

    /// Checks the same, and that the error is all it says, in one line.
    pub(crate) fn refused_in_a_line(self, status: i32, told: &str) -> Self {
        let ran = self.refused(status, told);
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        assert!(ran.err.starts_with("error: "), "{ran:?}");
        ran
    }

    /// Checks that its output fits into 80 columns.
    pub(crate) fn check_width(&self) {
        let is_narrow = |line: &str| line.chars().count() <= 80;
        assert!(self.out.lines().all(is_narrow), "{self:?}");
    }

    pub(crate) fn json(self) -> Value {
        let ran = self.done();
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    pub(crate) fn json_lines(self) -> Vec<Value> {
        json_lines(&self.done().out)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

/// A line of JSON each.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// The log without the line that has the flags.
pub(crate) fn without_flags(log: &str) -> String {
    let is_start = |line: &&str| line.contains("starting") && line.contains("--data-dir=");
    let (start, others): (Vec<_>, Vec<_>) = log.lines().partition(is_start);
    assert_eq!(start.len(), 1, "{log}");
    others.join("\n")
}

/// Sends a request that closes its connection. Returns the whole answer.
pub(crate) fn exchange(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The address of a port that nobody listens on: it was bound and released.
pub(crate) fn closed_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// No line of the log has an e-mail address, whatever was done and whatever failed.
pub(crate) fn assert_impersonal(log: &str) {
    let personal = log.lines().find(|line| line.contains("@example"));
    assert_eq!(personal, None, "an address in the log");
}

/// No line of the log has any of these words.
pub(crate) fn assert_absent(log: &str, words: &[&str]) {
    for word in words {
        assert_eq!(log.lines().find(|line| line.contains(word)), None, "{word}");
    }
}

/// The text has all of these parts.
#[track_caller]
pub(crate) fn assert_present(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// A command on a terminal of its own, `columns` wide.
pub(crate) struct Terminal {
    child: Child,
    screen: File,
}

impl Terminal {
    pub(crate) fn start(command: &mut Command, columns: u16) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let mut options = File::options();
        let options = options.read(true).write(true);
        let inside = options.open(name.to_str().unwrap()).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&inside, size).unwrap();
        let end = || Stdio::from(inside.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.env("TERM", "xterm").spawn().unwrap();
        // The last ends outside of the child.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null());
        let screen = File::from(screen);
        Self { child, screen }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end. Returns exit status and what was shown meanwhile.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut shown = Vec::new();
        // The end of a terminal that nobody has open any more is an error.
        let _ = self.screen.read_to_end(&mut shown);
        (self.child.wait().unwrap().code(), text(&shown))
    }
}
