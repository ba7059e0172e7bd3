//! The real program: start, flags, log, and persistence across restarts.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::program::without_flags;
pub(crate) use crate::program::{Program, behind_shell, command, run, text};

#[test]
fn a_missing_data_directory_is_made_and_the_service_answers() {
    let parent = tempfile::tempdir().unwrap();
    let data_dir = parent.path().join("a/b");
    let program = Program::start(&mut command(&data_dir));
    let (status, body) = program.send("GET", "/api/v1/health", "", "");
    assert_eq!(status, 200);
    let base = format!("http://{}", program.address);
    assert_eq!(body["openapi"], format!("{base}/openapi.json"));
    let (status, body) = program.send(
        "POST",
        "/api/v1/assistant/chat",
        "",
        r#"{"messages":[{"role":"user","content":"How do I get an API key?"}]}"#,
    );
    assert_eq!(status, 200);
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("/api/v1/keys"), "{message}");
    assert!(message.contains(&base), "{message}");
}

#[test]
fn either_signal_stops_it_with_success() {
    for signal in [Signal::TERM, Signal::INT] {
        let data_dir = tempfile::tempdir().unwrap();
        let program = Program::start(&mut command(data_dir.path()));
        let (status, log) = program.stop(signal);
        assert_eq!(status, Some(0), "{log}");
    }
}

#[test]
fn a_second_signal_ends_the_wait_for_a_turn_and_the_visitor_is_told() {
    let url = "--model-url=http://ADDRESS/v1";
    let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    check_second_signal(
        &[url, "--model=m", "--model-timeout=5m"],
        ("/api/v1/assistant/chat", hello),
        "model_unavailable",
    );
}

#[test]
fn a_second_signal_ends_the_wait_for_a_provider_and_the_visitor_is_told() {
    check_second_signal(
        &["--newsletter-webhook=http://ADDRESS/"],
        ("/api/v1/newsletter", r#"{"email":"ada@example.com"}"#),
        "newsletter_unavailable",
    );
}

/// Posts a body to a program whose upstream, at `ADDRESS`, accepts the request and never answers.
fn check_second_signal(flags: &[&str], (path, body): (&str, &str), code: &str) {
    let data_dir = tempfile::tempdir().unwrap();
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap().to_string();
    let flags = flags.iter().map(|flag| flag.replace("ADDRESS", &address));
    let program = Program::start(command(data_dir.path()).args(flags));
    let began = Instant::now();
    let (status, answer) = std::thread::scope(|scope| {
        let turn = scope.spawn(|| program.send("POST", path, "", body));
        let (mut question, _) = upstream.accept().unwrap();
        question.read_exact(&mut [0]).unwrap();
        program.signal(Signal::TERM);
        while TcpStream::connect(&program.address).is_ok() {
            std::thread::yield_now();
        }
        assert!(!turn.is_finished());
        program.signal(Signal::INT);
        turn.join().unwrap()
    });
    assert_eq!((status, &answer["code"]), (503, &json!(code)));
    let (status, log) = program.wait();
    assert_eq!(status, Some(0), "{log}");
    if code == "newsletter_unavailable" {
        assert!(log.contains("interrupted, as the service stops"), "{log}");
    }
    assert!(log.contains("second signal"), "{log}");
    assert!(log.contains("stopped log.dropped=0"), "{log}");
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_log_that_cannot_be_written_disturbs_nobody() {
    let data_dir = tempfile::tempdir().unwrap();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let program = Program::start(command(data_dir.path()).stderr(full));
    assert_eq!(program.sign_up("ada@example.com"), false);
    assert_eq!(program.stop(Signal::TERM).0, Some(0));
}

#[test]
fn a_log_that_nobody_reads_holds_up_neither_requests_nor_the_stop() {
    let data_dir = tempfile::tempdir().unwrap();
    let (unread, log) = std::io::pipe().unwrap();
    let program = Program::start(chatty(data_dir.path()).stderr(log));
    ask(&program.address, REQUESTS);
    assert_eq!(program.status_after(Signal::TERM), Some(0));
    drop(unread);
}

#[test]
fn one_pipe_for_all_output_that_nobody_reads_holds_up_nothing_either() {
    let data_dir = tempfile::tempdir().unwrap();
    let (mut output, both) = std::io::pipe().unwrap();
    let log = both.try_clone().unwrap();
    let mut child = chatty(data_dir.path())
        .stdout(both)
        .stderr(log)
        .spawn()
        .unwrap();
    // Nothing is read ahead.
    let mut lines = String::new();
    let address = loop {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        lines.push(byte[0].into());
        if let Some((_, address)) = lines.split_once("listening on http://")
            && address.ends_with('\n')
        {
            break address.trim_end();
        }
    };
    ask(address, REQUESTS);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn lines_that_were_dropped_are_counted_once_somebody_reads_again() {
    let data_dir = tempfile::tempdir().unwrap();
    let (unread, log) = std::io::pipe().unwrap();
    let program = Program::start(
        chatty(data_dir.path())
            .args(["--log-format", "json"])
            .stderr(log),
    );
    ask(&program.address, REQUESTS);
    let mut lines = BufReader::new(unread).lines().map(Result::unwrap);
    let mut requests = 0;
    let dropped = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line).unwrap();
        requests += u64::from(line["message"] == "request");
        line["log.dropped"].as_u64()
    });
    assert_eq!(
        requests + dropped.unwrap(),
        REQUESTS as u64,
        "{requests} {dropped:?}"
    );
    // What comes then is written again.
    ask(&program.address, 1);
    assert!(lines.next().unwrap().contains("\"request\""));
    drop(lines);
    assert_eq!(program.status_after(Signal::TERM), Some(0));
}

#[test]
fn a_start_that_fails_ends_though_nobody_reads_its_pipe() {
    let data_dir = tempfile::tempdir().unwrap();
    let (_unread, mut full) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&full, rustix::fs::OFlags::NONBLOCK).unwrap();
    while full.write(&[b' '; 4096]).is_ok() {}
    rustix::fs::fcntl_setfl(&full, rustix::fs::OFlags::empty()).unwrap();
    let file = data_dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (command, status) in [
        (&mut command(&file), 1),
        (command(data_dir.path()).args(["--port", "1"]), 2),
    ] {
        let log = full.try_clone().unwrap();
        let mut child = command.stderr(log).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
    }
}

/// More lines than the queue and the pipe hold.
const REQUESTS: usize = 10_000;

/// The program, with a line for each request.
fn chatty(data_dir: &Path) -> Command {
    let mut command = command(data_dir);
    command.args(["--limit", "default=off,ip=off"]);
    command
}

/// Sends health checks, and asserts that all are answered.
fn ask(address: &str, requests: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answers = stream.try_clone().unwrap();
    let answered = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            answers.read_to_string(&mut text).unwrap();
            text.matches("HTTP/1.1 200 ").count()
        });
        let request = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n";
        stream
            .write_all(request.repeat(requests - 1).as_bytes())
            .unwrap();
        let last = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(last.as_bytes()).unwrap();
        reader.join().unwrap()
    });
    assert_eq!(answered, requests);
}

#[test]
fn a_start_without_room_serves_what_needs_none_and_recovers_alone() {
    let data_dir = tempfile::tempdir().unwrap();
    // Health is asked again and again.
    let limits = ["--limit", "newsletter=2/1h,keys=2/1h,default=off,ip=off"];
    let program = Program::start(command(data_dir.path()).args(limits));
    program.sign_up("ada@example.com");
    let key = program.mint();
    assert_eq!(program.stop(Signal::TERM).0, Some(0));

    // No file can grow.
    let script = "trap '' XFSZ; ulimit -S -f 0";
    let program = Program::start(&mut behind_shell(
        script,
        command(data_dir.path()).args(limits),
    ));
    let as_owner = format!("X-API-Key: {key}\r\n");
    let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let email = r#"{"email":"bob@example.com"}"#;
    for _ in 0..10 {
        for (method, path, headers, body, expected) in [
            ("GET", "/", "", "", 200),
            ("GET", "/docs", "", "", 200),
            ("POST", "/api/v1/assistant/chat", "", hello, 200),
            ("GET", "/api/v1/keys", &*as_owner, "", 200),
            ("GET", "/api/v1/keys", "X-API-Key: garbage\r\n", "", 401),
            ("GET", "/api/v1/health", "", "", 503),
            ("POST", "/api/v1/keys", "", "{}", 503),
            ("POST", "/api/v1/newsletter", "", email, 503),
        ] {
            let (status, answer) = program.send(method, path, headers, body);
            assert_eq!(status, expected, "{method} {path}: {answer}");
            if status == 503 {
                let detail = answer["detail"].as_str().unwrap();
                assert!(detail.starts_with("The disk is full"), "{detail}");
            }
        }
    }
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(Some(program.pid()), Resource::Fsize, unlimited).unwrap();
    let full = Instant::now();
    while program.send("GET", "/api/v1/health", "", "").0 != 200 {
        assert!(full.elapsed() < Duration::from_secs(60));
    }
    assert_eq!(program.sign_up("ada@example.com"), true);
    assert_eq!(program.sign_up("bob@example.com"), false);
    program.mint();
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0), "{log}");
    let told = log.matches("requests fail for the store").count();
    assert_eq!(told, 1, "once a minute: {log}");
    assert!(log.contains("limits hold, but a restart forgets them"));
    assert!(log.contains("the store works again"), "{log}");
}

#[test]
fn a_stop_without_room_ends() {
    let data_dir = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ";
    let program = Program::start(&mut behind_shell(script, &command(data_dir.path())));
    program.sign_up("ada@example.com");
    let nothing = Rlimit {
        current: Some(0),
        maximum: None,
    };
    prlimit(Some(program.pid()), Resource::Fsize, nothing).unwrap();
    let email = r#"{"email":"bob@example.com"}"#;
    let (status, _) = program.send("POST", "/api/v1/newsletter", "", email);
    assert_eq!(status, 503);
    let began = Instant::now();
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0), "{log}");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(
        log.contains("the end of the ledger cannot be marked"),
        "{log}"
    );
    let program = Program::start(&mut command(data_dir.path()));
    assert_eq!(program.sign_up("ada@example.com"), true);
}

#[test]
fn too_few_threads_end_the_start_with_one_line() {
    let data_dir = tempfile::tempdir().unwrap();
    // No stack of this size can be had.
    let output = run(command(data_dir.path()).env("RUST_MIN_STACK", "1000000000000000"));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.starts_with("error: cannot start"), "{complaint}");
    assert!(complaint.contains("ulimit -u"), "{complaint}");
}

#[test]
fn a_restart_forgets_nothing() {
    let data_dir = tempfile::tempdir().unwrap();
    let limits = ["--limit", "newsletter=3/1h", "--limit", "assistant-ip=2/1h"];
    let hello = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

    let program = Program::start(command(data_dir.path()).args(limits));
    assert_eq!(program.sign_up("ada@example.com"), false);
    assert_eq!(program.sign_up("ada@example.com"), true);
    let key = program.mint();
    let (status, _) = program.send("POST", "/api/v1/assistant/chat", "", hello);
    assert_eq!(status, 200);
    assert_eq!(program.stop(Signal::TERM).0, Some(0));

    let program = Program::start(command(data_dir.path()).args(limits));
    assert_eq!(program.health(&key), 200);
    assert_eq!(program.sign_up("ada@example.com"), true);
    let (status, _) = program.send(
        "POST",
        "/api/v1/newsletter",
        "",
        r#"{"email":"ada@example.com"}"#,
    );
    assert_eq!(status, 429, "two before the restart, one after");
    let (status, _) = program.send("POST", "/api/v1/assistant/chat", "", hello);
    assert_eq!(status, 200);
    let (status, _) = program.send("POST", "/api/assistant/chat", "", hello);
    assert_eq!(status, 429);
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged_and_only_fresh_counts() {
    let data_dir = tempfile::tempdir().unwrap();
    let limits = ["--limit", "newsletter=2/1h,default=off,ip=off"];
    let program = Program::start(command(data_dir.path()).args(limits));
    let key = program.mint();
    program.sign_up("ada@example.com");
    program.sign_up("ada@example.com");
    // Counts older than 250 ms are on disk.
    let counted = Instant::now();
    while counted.elapsed() < Duration::from_millis(400) {
        assert_eq!(program.health(&key), 200);
    }
    program.sign_up("last@example.com");
    program.stop(Signal::KILL);

    let program = Program::start(command(data_dir.path()).args(limits));
    assert_eq!(program.health(&key), 200);
    assert_eq!(program.sign_up("last@example.com"), true);
    let (status, _) = program.send(
        "POST",
        "/api/v1/newsletter",
        "",
        r#"{"email":"ada@example.com"}"#,
    );
    assert_eq!(status, 429);
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let data_dir = tempfile::tempdir().unwrap();
    let program = Program::start(&mut command(data_dir.path()));
    let output = run(&mut command(data_dir.path()));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let complaint = text(&output.stderr);
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
    assert!(complaint.contains("in use"), "{complaint}");
    assert_eq!(program.sign_up("ada@example.com"), false);
}

#[test]
fn a_wrong_flag_is_named_and_ends_with_status_2() {
    let data_dir = tempfile::tempdir().unwrap();
    for (flags, named) in [
        (vec!["--limit", "newsletter=0/15m"], "--limit"),
        (vec!["--base-url", "https://example.com/x"], "--base-url"),
        (vec!["--log-level", "loud"], "--log-level"),
        (vec!["--port", "1"], "--port"),
        (vec!["--allow-origin", "*"], "--allow-origin"),
        (vec!["--allow-origin", "null"], "--allow-origin"),
        (vec!["--trusted-proxy", "10.0.0.0/33"], "--trusted-proxy"),
        (
            vec!["--newsletter-webhook", "ftp://a.example"],
            "--newsletter-webhook",
        ),
        (
            vec!["--newsletter-webhook-secret-file", "f"],
            "--newsletter-webhook",
        ),
    ] {
        let output = run(command(&data_dir.path().join("unused")).args(flags));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stdout), "");
        let complaint = text(&output.stderr);
        assert!(complaint.starts_with("error: "), "{complaint}");
        assert!(complaint.contains(named), "{complaint}");
        assert!(complaint.contains("--help"), "{complaint}");
    }
    assert!(!data_dir.path().join("unused").exists());
}

#[test]
fn a_bad_secret_file_is_one_line_and_status_2() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("secret");
    let good = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
    for (content, mode, told) in [
        (None, 0o600, "No such file"),
        (Some(good), 0o660, "chmod 600"),
        (Some(good), 0o604, "chmod 600"),
        (Some(""), 0o600, "is empty"),
        (Some("whsec_AAECAwQF BgcICQoLDA0ODxAREhMU"), 0o600, "Base64"),
        (Some("AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"), 0o600, "whsec_"),
        (Some("whsec_AAECAwQFBgc"), 0o600, "24 to 64"),
        (Some("whsec_###"), 0o600, "Base64"),
        (Some(&"x".repeat(65_537)), 0o600, "larger than"),
    ] {
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
            std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        }
        let output = run(command(&parent.path().join("unused"))
            .args(["--newsletter-webhook", "http://127.0.0.1:1/"])
            .arg("--newsletter-webhook-secret-file")
            .arg(&file));
        assert_eq!(output.status.code(), Some(2));
        let complaint = text(&output.stderr);
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        for part in ["--newsletter-webhook-secret-file", told] {
            assert!(complaint.contains(part), "{complaint}");
        }
        let secret = content.unwrap_or(good);
        assert!(
            secret.is_empty() || !complaint.contains(secret),
            "{complaint}"
        );
    }
    assert!(!parent.path().join("unused").exists());
}

#[test]
fn a_provider_that_is_away_is_logged_without_address_or_secret() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("secret");
    std::fs::write(&file, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\n").unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=t0ken", free.local_addr().unwrap());
    drop(free);
    let program = Program::start(
        command(&parent.path().join("data"))
            .args(["--log-level", "trace", "--newsletter-webhook", &url])
            .arg("--newsletter-webhook-secret-file")
            .arg(&file),
    );
    let body = r#"{"email":"ada@example.com"}"#;
    let (status, answer) = program.send("POST", "/api/v1/newsletter", "", body);
    assert_eq!(
        (status, &answer["code"]),
        (503, &json!("newsletter_unavailable"))
    );
    assert_eq!(program.health(&program.mint()), 200);
    let (_, log) = program.stop(Signal::TERM);
    assert!(
        log.contains("cause=\"provider failed: client error (Connect)"),
        "{log}"
    );
    for private in ["ada@", "AAECAwQF", "t0ken"] {
        let line = log.lines().find(|line| line.contains(private));
        assert_eq!(line, None, "{private}");
    }
}

#[test]
fn a_proxy_that_is_not_set_up_is_warned_of_once_and_in_the_right_words() {
    const TRUST: &str = "name its network with --trusted-proxy";
    const CONFIGURE: &str = "have the proxy send X-Forwarded-For";
    let data_dir = tempfile::tempdir().unwrap();
    let (health, docs) = ("/api/v1/health", "/docs");
    let forwarded = "X-Forwarded-For: 198.51.100.7\r\nX-API-Key: no\r\n";
    let real_ip = "X-Real-IP: 198.51.100.7\r\n";
    let both = "X-Forwarded-For: 198.51.100.7\r\nForwarded: for=198.51.100.8\r\n";
    let trusted = ["--trusted-proxy", "127.0.0.0/8"];
    for (flags, path, header, warned) in [
        (&[][..], health, forwarded, Some(TRUST)),
        (&[], health, "", None),
        (&trusted, health, forwarded, None),
        (&trusted, health, real_ip, Some(CONFIGURE)),
        (&trusted, health, both, None),
        (&trusted, docs, "", Some(CONFIGURE)),
        (&trusted, health, "", None),
    ] {
        let program = Program::start(command(data_dir.path()).args(flags));
        for _ in 0..50 {
            program.send("GET", path, header, "");
        }
        let (_, log) = program.stop(Signal::TERM);
        for text in [TRUST, CONFIGURE] {
            let times = usize::from(warned == Some(text));
            assert_eq!(log.matches(text).count(), times, "{header}: {log}");
        }
        let lines = without_flags(&log);
        assert!(
            !lines.contains("198.51") && !lines.contains("127.0"),
            "{log}"
        );
    }
}

#[test]
fn a_page_may_read_every_header_that_really_arrives() {
    let data_dir = tempfile::tempdir().unwrap();
    let origin = "http://127.0.0.1:3000";
    let program = Program::start(command(data_dir.path()).env("LANDING_ALLOW_ORIGIN", origin));
    let mut stream = TcpStream::connect(&program.address).unwrap();
    write!(
        stream,
        "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let headers: Vec<_> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let value = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).unwrap().1;
    assert_eq!(value("access-control-allow-origin"), origin);
    // Readable without being exposed (Fetch), or of the connection.
    let other = [
        "cache-control",
        "content-language",
        "content-length",
        "content-type",
        "connection",
    ];
    let exposed: Vec<_> = value("access-control-expose-headers").split(", ").collect();
    for (name, _) in &headers {
        let is_own = name.starts_with("access-control-") || other.contains(name);
        assert!(is_own || exposed.contains(name), "{name}");
    }
    assert!(!value("date").is_empty());
}

#[test]
fn addresses_that_may_hold_secrets_are_not_repeated() {
    let help = run(command(Path::new("unused"))
        .env(
            "LANDING_NEWSLETTER_WEBHOOK",
            "https://a.example/?token=s3cret",
        )
        .env("LANDING_MODEL_URL", "https://a.example/s3cret")
        .env("LANDING_MODEL_PARAM", "token=\"s3cret\"")
        .arg("--help"));
    assert!(!text(&help.stdout).contains("s3cret"));
    for flag in ["--newsletter-webhook", "--model-url", "--model-param"] {
        let value = "https://me:s3cret@a.example/";
        let output = run(command(Path::new("unused")).arg(format!("{flag}={value}")));
        assert_eq!(output.status.code(), Some(2));
        let complaint = text(&output.stderr);
        assert!(complaint.contains(flag), "{complaint}");
        assert!(!complaint.contains("s3cret"), "{complaint}");
    }
}

#[test]
fn a_variable_that_is_no_utf_8_is_refused_and_not_repeated() {
    let value = OsStr::from_bytes(b"s3cret\xff");
    for variable in [
        "LANDING_MODEL",
        "LANDING_NEWSLETTER_WEBHOOK",
        "LANDING_LIMIT",
    ] {
        let output = run(command(Path::new("unused")).env(variable, value));
        assert_eq!(output.status.code(), Some(2));
        let complaint = text(&output.stderr);
        assert!(complaint.contains("invalid UTF-8"), "{complaint}");
        assert!(!complaint.contains("s3cret"), "{complaint}");
    }
}

#[test]
fn an_address_that_cannot_be_had_is_one_line_and_status_1() {
    let data_dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(command(data_dir.path()).args(["--listen", &address]));
    // `command` sets the flag, too; twice is an error.
    assert_eq!(output.status.code(), Some(2));
    let output = run(Command::new(env!("CARGO_BIN_EXE_landing-api"))
        .env_clear()
        .env("LANDING_DATA_DIR", data_dir.path())
        .env("LANDING_LISTEN", &address)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped()));
    assert_eq!(output.status.code(), Some(1));
    let complaint = text(&output.stderr);
    let last = complaint.lines().last().unwrap();
    assert!(last.contains(&address), "{complaint}");
    let is_opened = data_dir.path().join("ledger.jsonl").exists();
    assert!(!is_opened, "told before the store is opened");
}

#[test]
fn help_and_version_go_to_standard_output() {
    for flag in ["--help", "--version"] {
        let output = run(command(Path::new("unused")).arg(flag));
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(text(&output.stderr), "");
        assert!(text(&output.stdout).contains("landing-api"));
    }
    assert!(!Path::new("unused").exists());
}

#[test]
fn a_request_is_one_line_that_names_no_person() {
    let data_dir = tempfile::tempdir().unwrap();
    let program = Program::start(command(data_dir.path()).args([
        "--log-format",
        "json",
        "--log-level",
        "trace",
    ]));
    let key = program.mint();
    program.health(&key);
    program.health("lak_not-a-key");
    program.sign_up("ada@example.com");
    program.send(
        "POST",
        "/api/v1/newsletter",
        "",
        r#"{"email":"bad@@example"}"#,
    );
    let hello = r#"{"messages":[{"role":"user","content":"a private question"}]}"#;
    program.send("POST", "/api/v1/assistant/chat", "", hello);
    program.send("GET", "/a/private/path?secret", "", "");
    let (status, log) = program.stop(Signal::TERM);
    assert_eq!(status, Some(0));
    let others = without_flags(&log);
    for private in [
        "127.0.0.1",
        "ada@",
        "bad@",
        "lak_",
        "private",
        "secret",
        "v1.",
        &key[4..],
    ] {
        let line = others.lines().find(|line| line.contains(private));
        assert_eq!(line, None, "{private}");
    }
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["message"] == "request")
        .collect();
    let endpoints: Vec<_> = lines
        .iter()
        .map(|line| (line["endpoint"].as_str().unwrap(), line["status"].clone()))
        .collect();
    assert_eq!(
        endpoints,
        [
            ("keys.issue", json!(201)),
            ("health", json!(200)),
            ("health", json!(401)),
            ("newsletter.subscribe", json!(200)),
            ("newsletter.subscribe", json!(400)),
            ("assistant.chat", json!(200)),
            ("unknown", json!(404)),
        ]
    );
    for line in &lines {
        assert!(line["request.id"].is_string());
        assert!(line["duration_ms"].is_number());
    }
}
