//! The real program: start, flags, log, and persistence across restarts.

use std::ffi::OsStr;
use std::fs::write;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Resource, Rlimit, kill_process, prlimit};

use crate::prelude::*;
use crate::program::{behind_shell, json_lines, without_flags};

const NEWSLETTER: &str = "/api/v1/newsletter";
const ADA: &str = r#"{"email":"ada@example.com"}"#;
const CHAT: &str = "/api/v1/assistant/chat";
const HELLO: &str = r#"{"messages":[{"role":"user","content":"hello"}]}"#;

#[test]
fn a_missing_data_directory_is_made_and_the_service_answers() {
    let parent = tempfile::tempdir().unwrap();
    let program = Program::on(&parent.path().join("a/b"));
    let (status, body) = program.send("GET", "/api/v1/health", "", "");
    assert_eq!(status, 200);
    let base = format!("http://{}", program.address);
    assert_eq!(body["openapi"], format!("{base}/openapi.json"));
    let question = r#"{"messages":[{"role":"user","content":"How do I get an API key?"}]}"#;
    let (status, body) = program.post(CHAT, question);
    assert_eq!(status, 200);
    let message = body["message"].as_str().unwrap();
    assert_present(message, &["/api/v1/keys", &base]);
}

/// The model accepts the request and never answers.
#[test]
fn a_second_signal_ends_the_wait_for_a_turn_and_the_visitor_is_told() {
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("--model-url=http://{}/v1", model.local_addr().unwrap());
    let (_dir, program) = Program::fresh(&[&url, "--model=m", "--model-timeout=5m"]);
    let began = Instant::now();
    let (status, answer) = thread::scope(|scope| {
        let turn = scope.spawn(|| program.post(CHAT, HELLO));
        let (mut question, _) = model.accept().unwrap();
        question.read_exact(&mut [0]).unwrap();
        program.signal(Signal::TERM);
        while TcpStream::connect(&program.address).is_ok() {
            thread::yield_now();
        }
        assert!(!turn.is_finished());
        program.signal(Signal::INT);
        turn.join().unwrap()
    });
    let unavailable = json!("model_unavailable");
    assert_eq!((status, &answer["code"]), (503, &unavailable));
    let (status, log) = program.wait();
    assert_eq!(status, Some(0), "{log}");
    assert_present(&log, &["second signal", "stopped log.dropped=0"]);
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_log_that_cannot_be_written_disturbs_nobody() {
    let data_dir = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let program = Program::start(command(data_dir.path()).stderr(full));
    assert_eq!(program.sign_up("ada@example.com"), false);
    program.stopped();
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
    let mut command = chatty(data_dir.path());
    let mut child = command.stdout(both).stderr(log).spawn().unwrap();
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
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn lines_that_were_dropped_are_counted_once_somebody_reads_again() {
    let data_dir = tempfile::tempdir().unwrap();
    let (unread, log) = std::io::pipe().unwrap();
    let mut command = chatty(data_dir.path());
    let program = Program::start(command.arg("--log-format=json").stderr(log));
    ask(&program.address, REQUESTS);
    let mut lines = BufReader::new(unread).lines().map(Result::unwrap);
    let mut requests = 0;
    let dropped = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line).unwrap();
        requests += u64::from(line["message"] == "request");
        line["log.dropped"].as_u64()
    });
    assert_eq!(requests + dropped.unwrap(), REQUESTS as u64, "{dropped:?}");
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
    fcntl_setfl(&full, OFlags::NONBLOCK).unwrap();
    while full.write(&[b' '; 4096]).is_ok() {}
    fcntl_setfl(&full, OFlags::empty()).unwrap();
    let file = data_dir.path().join("file");
    write(&file, "").unwrap();
    for (command, status) in [
        (&mut command(&file), 1),
        (command(data_dir.path()).args(["--port", "1"]), 2),
    ] {
        let mut child = command.stderr(full.try_clone().unwrap()).spawn().unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status));
    }
}

/// More lines than the queue and the pipe hold.
const REQUESTS: usize = 10_000;

fn chatty(data_dir: &Path) -> Command {
    let mut command = command(data_dir);
    command.args(["--limit", "default=off,ip=off"]);
    command
}

fn ask(address: &str, requests: usize) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut answers = stream.try_clone().unwrap();
    let answered = thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            answers.read_to_string(&mut text).unwrap();
            text.matches("HTTP/1.1 200 ").count()
        });
        let request = "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n";
        let last = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let requests = request.repeat(requests - 1) + &last;
        stream.write_all(requests.as_bytes()).unwrap();
        reader.join().unwrap()
    });
    assert_eq!(answered, requests);
}

#[test]
fn a_start_without_room_serves_what_needs_none_and_recovers_alone() {
    // Health is asked again and again.
    let limits = ["--limit", "newsletter=2/1h,keys=2/1h,default=off,ip=off"];
    let (data_dir, program) = Program::fresh(&limits);
    program.sign_up("ada@example.com");
    let key = program.mint();
    program.stopped();

    // No file can grow.
    let script = "trap '' XFSZ; ulimit -S -f 0";
    let mut command = command(data_dir.path());
    let program = Program::start(&mut behind_shell(script, command.args(limits)));
    let as_owner = format!("X-API-Key: {key}\r\n");
    let email = r#"{"email":"bob@example.com"}"#;
    for _ in 0..10 {
        for (method, path, headers, body, expected) in [
            ("GET", "/", "", "", 200),
            ("GET", "/docs", "", "", 200),
            ("POST", CHAT, "", HELLO, 200),
            ("GET", "/api/v1/keys", &*as_owner, "", 200),
            ("GET", "/api/v1/keys", "X-API-Key: garbage\r\n", "", 401),
            ("GET", "/api/v1/health", "", "", 503),
            ("POST", "/api/v1/keys", "", "{}", 503),
            ("POST", NEWSLETTER, "", email, 503),
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
    let log = program.stopped();
    let told = log.matches("requests fail because of the store").count();
    assert_eq!(told, 1, "once a minute: {log}");
    assert!(log.contains("limits still apply, but a restart loses the windows"));
    assert!(log.contains("the store works again"), "{log}");
}

#[test]
fn a_stop_without_room_ends() {
    let data_dir = tempfile::tempdir().unwrap();
    let program = Program::start(&mut behind_shell("trap '' XFSZ", &command(data_dir.path())));
    program.sign_up("ada@example.com");
    let nothing = Rlimit {
        current: Some(0),
        maximum: None,
    };
    prlimit(Some(program.pid()), Resource::Fsize, nothing).unwrap();
    let email = r#"{"email":"bob@example.com"}"#;
    assert_eq!(program.post(NEWSLETTER, email).0, 503);
    let began = Instant::now();
    let log = program.stopped();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_present(&log, &["the end of the ledger cannot be marked"]);
    let program = Program::on(data_dir.path());
    assert_eq!(program.sign_up("ada@example.com"), true);
}

#[test]
fn too_few_threads_end_the_start_with_one_line() {
    let data_dir = tempfile::tempdir().unwrap();
    // No stack of this size can be had.
    let ran = Ran::of(command(data_dir.path()).env("RUST_MIN_STACK", "1000000000000000"));
    let ran = ran.refused_in_a_line(1, "ulimit -u");
    assert!(ran.err.starts_with("error: cannot start"), "{ran:?}");
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged_and_only_fresh_counts() {
    let limits = ["--limit", "newsletter=2/1h,default=off,ip=off"];
    let (data_dir, program) = Program::fresh(&limits);
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
    assert_eq!(program.post(NEWSLETTER, ADA).0, 429);
}

#[test]
fn a_provider_that_is_away_is_logged_without_address_or_secret() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("secret");
    write(&file, "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX\n").unwrap();
    set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let url = format!("http://{}/hook?token=t0ken", closed_address());
    let mut command = command(&parent.path().join("data"));
    command
        .args(["--log-level", "trace", "--newsletter-webhook", &url])
        .arg("--newsletter-webhook-mode=direct")
        .arg("--newsletter-webhook-secret-file")
        .arg(&file);
    let program = Program::start(&mut command);
    let (status, answer) = program.post(NEWSLETTER, ADA);
    let unavailable = json!("newsletter_unavailable");
    assert_eq!((status, &answer["code"]), (503, &unavailable));
    assert_eq!(program.health(&program.mint()), 200);
    let log = program.stopped();
    let cause = "cause=\"provider failed: cannot connect: Connection refused (os error 111)\"";
    assert!(log.contains(cause), "{log}");
    assert_absent(&log, &["ada@", "AAECAwQF", "t0ken"]);
}

#[test]
fn a_page_may_read_every_header_that_really_arrives() {
    let data_dir = tempfile::tempdir().unwrap();
    let origin = "http://127.0.0.1:3000";
    let program = Program::start(command(data_dir.path()).env("LANDING_ALLOW_ORIGIN", origin));
    let request = format!(
        "GET /api/v1/health HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\nConnection: close\r\n\r\n"
    );
    let answer = exchange(&program.address, &request);
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers: Vec<_> = headers.collect();
    let value = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).unwrap().1;
    assert_eq!(value("access-control-allow-origin"), origin);
    // Readable without being exposed (Fetch), or of the connection.
    let other = "cache-control content-language content-length content-type connection";
    let other: Vec<_> = other.split(' ').collect();
    let exposed: Vec<_> = value("access-control-expose-headers").split(", ").collect();
    for (name, _) in &headers {
        let is_own = name.starts_with("access-control-") || other.contains(name);
        assert!(is_own || exposed.contains(name), "{name}");
    }
    assert!(!value("date").is_empty());
}

#[test]
fn values_that_may_hold_secrets_are_not_repeated() {
    let hook = "https://a.example/?token=s3cret";
    let mut help = landing_api(&["--help"]);
    help.env("LANDING_NEWSLETTER_WEBHOOK", hook)
        .env("LANDING_MODEL_URL", "https://a.example/s3cret")
        .env("LANDING_MODEL_PARAM", "token=\"s3cret\"");
    let help = Ran::of(&mut help).done();
    assert!(help.out.contains("landing-api") && !help.out.contains("s3cret"));
    assert_eq!(help.err, "");
    let no_utf_8 = OsStr::from_bytes(b"s3cret\xff");
    let mut wrong = landing_api(&["--data-dir=unused"]);
    let refused = Ran::of(wrong.env("LANDING_LIMIT", no_utf_8)).refused(2, "invalid UTF-8");
    assert!(!refused.err.contains("s3cret"), "{refused:?}");
}

#[test]
fn an_address_that_cannot_be_had_is_one_line_and_status_1() {
    let data_dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    // `command` sets the flag, too; twice is an error.
    let twice = Ran::of(command(data_dir.path()).args(["--listen", &address]));
    assert!(twice.refused(2, "--listen").err.contains("--help"));
    let mut command = landing_api(&[]);
    command
        .env("LANDING_DATA_DIR", data_dir.path())
        .env("LANDING_LISTEN", &address);
    let refused = Ran::of(&mut command).refused(1, &address);
    let last = refused.err.lines().last().unwrap();
    assert!(last.contains(&address), "{refused:?}");
    let is_opened = data_dir.path().join("ledger.jsonl").exists();
    assert!(!is_opened, "told before the store is opened");
}

#[test]
fn the_version_goes_to_standard_output() {
    let ran = Ran::of(&mut landing_api(&["--version"])).done();
    let version = concat!("landing-api ", env!("CARGO_PKG_VERSION"));
    assert!(ran.out.starts_with(version), "{ran:?}");
    assert_eq!(ran.err, "");
}

#[test]
fn a_request_is_one_line_that_names_no_person() {
    let (_dir, program) = Program::fresh(&["--log-format", "json", "--log-level", "trace"]);
    let key = program.mint();
    program.health(&key);
    program.health("lak_not-a-key");
    program.sign_up("ada@example.com");
    program.post(NEWSLETTER, r#"{"email":"bad@@example"}"#);
    program.post(CHAT, &HELLO.replace("hello", "a private question"));
    program.send("GET", "/a/private/path?secret", "", "");
    let log = program.stopped();
    let private: Vec<_> = "127.0.0.1 ada@ bad@ lak_ private secret v1."
        .split(' ')
        .collect();
    let others = without_flags(&log);
    assert_absent(&others, &private);
    assert_absent(&others, &[&key[4..]]);
    let mut lines = json_lines(&log);
    lines.retain(|line| line["message"] == "request");
    let endpoints = lines
        .iter()
        .map(|line| json!([line["endpoint"], line["status"]]));
    let expected = json!([
        ["keys.issue", 201],
        ["health", 200],
        ["health", 401],
        ["newsletter.subscribe", 200],
        ["newsletter.subscribe", 400],
        ["assistant.chat", 200],
        ["unknown", 404],
    ]);
    assert_eq!(endpoints.collect::<Value>(), expected);
    for line in &lines {
        assert!(line["request.id"].is_string());
        assert!(line["duration_ms"].is_number());
    }
}
