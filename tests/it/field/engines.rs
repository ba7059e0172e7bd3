//! PostgreSQL and Redis, and what answers in their place.

use landing_api::adapters::cluster::postgres::{
    PostgresAddress, PostgresOpenError, PostgresSettings, PostgresStore,
};
use landing_api::adapters::cluster::redis::{RedisAddress, RedisRateLimiter, RedisSettings};
use landing_api::adapters::outbound::Roots;
use landing_api::domain::secret::Secret;
use landing_api::ports::RateLimiter as _;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::prelude::*;

/// Answers `answer` to every command that it reads; a late one takes every log-in. It ends with this value.
struct Peer {
    port: u16,
    _task: JoinSet<()>,
}

impl Peer {
    async fn start(answer: impl Into<Vec<u8>>) -> Self {
        Self::start_late(answer, Duration::ZERO).await
    }

    async fn start_late(answer: impl Into<Vec<u8>>, late: Duration) -> Self {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                connections.spawn(answer_each(client, answer.clone(), late));
            }
        });
        Self { port, _task: task }
    }
}

async fn answer_each(mut client: TcpStream, answer: Vec<u8>, late: Duration) {
    let mut bytes = [0; 8192];
    while let Ok(length @ 1..) = client.read(&mut bytes).await {
        sleep(late).await;
        let bytes = &bytes[..length];
        let is_login = !late.is_zero() && !bytes.windows(4).any(|word| word == b"EVAL");
        let answer = if is_login { b"+OK\r\n" } else { &answer[..] };
        let commands = bytes.split(|byte| *byte == b'*').count() - 1;
        for _ in 0..commands.max(1) {
            // Fails if the client has gone.
            let _ = client.write_all(answer).await;
        }
    }
}

async fn open_postgres(
    port: u16,
    patience: Duration,
) -> Result<Arc<PostgresStore>, PostgresOpenError> {
    let secret = Secret::new([7; 32]);
    let url = format!("postgres://ada@127.0.0.1:{port}/base?sslmode=disable");
    let settings = PostgresSettings {
        address: PostgresAddress::parse(&url).unwrap(),
        password_file: None,
        roots: Roots::of([]),
        tombstone_keys: vec![secret.keys().tombstone],
        secret_ids: vec![secret.id()],
    };
    PostgresStore::connect(&settings, Arc::new(Metrics::new([])), patience).await
}

/// What PostgreSQL answers before it knows the client's encoding.
fn fatal(code: &str, words: &[u8]) -> Vec<u8> {
    let begin = [b"SFATAL\0VFATAL\0C", code.as_bytes(), b"\0M"].concat();
    message(b'E', &[&begin, words, b"\0D", words, b"\0\0"].concat())
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

fn assert_printable(text: &str) {
    let is_bad = |c: char| c.is_control() || ('\u{202A}'..='\u{202E}').contains(&c);
    assert!(!text.contains(is_bad) && text.len() < 600, "{text:?}");
    assert!(!text.contains('@'), "{text:?}");
}

#[tokio::test]
async fn an_error_of_postgresql_is_known_by_its_code_whatever_its_words() {
    let words: [&[u8]; 3] = [
        b"Passwort-Authentifizierung f\xfcr Benutzer \xbbada@example.com\xab fehlgeschlagen",
        b"\x1b[31m\xc2\x9b \xe2\x80\xae \xff\xfe",
        &[b'x'; 3600],
    ];
    // 08P01 is PgBouncer's, for whatever is wrong.
    const AWAY: &str = "53300 57P01 57P02 57P03 57014 55000 08P01 08006";
    for (codes, expected) in [
        ("28P01 28000", "rejects the user or the password"),
        ("3D000", "the server has no such database"),
        ("42501", "the user lacks a permission"),
        ("42P01", "has no tables yet"),
        ("25006", "is not writable"),
        (AWAY, "cannot be reached"),
        ("XX000 \x1b[2J ", "cannot be used"),
    ] {
        for (code, words) in codes
            .split(' ')
            .flat_map(|code| words.map(|words| (code, words)))
        {
            let peer = Peer::start(fatal(code, words)).await;
            let opened = open_postgres(peer.port, Duration::ZERO).await;
            let error = opened.err().unwrap().to_string();
            assert!(error.contains(expected), "{code:?}: {error}");
            assert_printable(&error);
        }
    }
}

#[tokio::test]
async fn whatever_else_answers_in_place_of_postgresql_is_an_error() {
    let sasl = |words: &[u8]| message(b'R', &[&10_u32.to_be_bytes(), words].concat());
    for answer in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        b"-ERR \x1b[31munknown command\r\n".to_vec(),
        b"\x15\x03\x03\x00\x02\x02\x28".to_vec(),
        message(b'E', b""),
        message(b'E', b"Cx"),
        message(b'E', b"M\xff\0\0"),
        message(b'R', b""),
        message(b'R', &99_u32.to_be_bytes()),
        message(b'R', &3_u32.to_be_bytes()),
        sasl(b"\0"),
        sasl(b"SCRAM-\xff\0\0"),
        sasl(b"SCRAM-SHA-256"),
        message(b'N', b"M\xff\0\0").repeat(2),
        message(b'S', b"client_encoding\0LATIN1\0"),
        vec![b'R', 0, 0, 0, 0],
        vec![b'R', 0xff, 0xff, 0xff, 0xff],
        [message(b'R', &[0; 4]), message(b'Z', b"")].concat(),
    ] {
        // Closes the connection as soon as it has answered, so that nobody waits.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answering = async {
            let (mut client, _) = listener.accept().await.unwrap();
            let _ = client.read(&mut [0; 1024]).await;
            let _ = client.write_all(&answer).await;
        };
        let (opened, ()) = tokio::join!(open_postgres(port, Duration::ZERO), answering);
        assert_printable(&opened.err().unwrap().to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_waits_for_postgresql_says_so_once() {
    let closed = closed_address();
    let port = closed.rsplit(':').next().unwrap().parse().unwrap();
    let (opened, log) = logged_async(open_postgres(port, Duration::from_secs(30))).await;
    assert!(matches!(opened, Err(PostgresOpenError::Away(_))));
    let mut lines = log.lines().filter(|line| line.contains("waiting for"));
    let (Some(line), None) = (lines.next(), lines.next()) else {
        panic!("{log}");
    };
    assert!(line.contains(&format!("{closed}/base")), "{line}");
    assert!(!line.contains("ada@"), "{line}");
}

async fn open_redis(login: &str, port: u16) -> RedisRateLimiter {
    let url = format!("redis://{login}127.0.0.1:{port}");
    let settings = RedisSettings {
        address: RedisAddress::parse(&url).unwrap(),
        metrics: None,
        password_file: None,
        roots: Roots::of([]),
    };
    RedisRateLimiter::open(settings).await.unwrap()
}

/// Errors of Redis, and what is told of them.
const REDIS_ERRORS: &str = "
READONLY You can't write. | it is a read-only replica
LOADING Redis is loading | LOADING
OOM command not allowed | OOM
NOAUTH Authentication required. | NOAUTH: check the user
WRONGPASS invalid pair | WRONGPASS: check
NOPERM User ada@example.com lacks it | NOPERM: check
MASTERDOWN Link with MASTER is down | MASTERDOWN
NOREPLICAS Not enough good replicas | NOREPLICAS
MISCONF Errors writing to the AOF file | MISCONF
BUSY Redis is busy running a script | BUSY
UNKILLABLE Sorry the script | UNKILLABLE
ERR max number of clients reached | ERR
WRONGTYPE Operation against a key | WRONGTYPE
ada@example.com | (address)
";

#[tokio::test]
async fn an_error_of_redis_is_known_by_its_code_whatever_its_words() {
    let long = format!("-{}\r\n", "X".repeat(3600));
    let unexpected = "returned an unexpected result";
    let errors = rows(REDIS_ERRORS).map(|[error, told]| (format!("-{error}\r\n"), told));
    let errors: Vec<_> = errors.collect();
    let errors = errors.iter().map(|(error, told)| (error.as_bytes(), *told));
    let others = [
        (&b"-\x1b[31mE\xe2\x80\xaeVIL x\r\n"[..], "[31mE VIL"),
        (long.as_bytes(), "XXXX"),
        // No errors, and no answers of the script's.
        (b":1\r\n", unexpected),
        (b"+OK\r\n", unexpected),
        (b"$-1\r\n", unexpected),
        (b"$5\r\nhello\r\n", unexpected),
        (b"*0\r\n", unexpected),
        (b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", unexpected),
        (b"*3\r\n:-1\r\n:-1\r\n:-1\r\n", unexpected),
        (b"-ERR \xff\xfe\r\n", ""),
        (b"+\xff\r\n", ""),
        (b":x\r\n", ""),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", ""),
        (b"\x15\x03\x03\x00\x02\x02\x28", ""),
    ];
    for (answer, expected) in errors.chain(others) {
        for login in ["", ":hunter2@"] {
            let peer = Peer::start(answer).await;
            let limiter = open_redis(login, peer.port).await;
            let error = limiter.check().unwrap_err().to_string();
            assert_printable(&error);
            let is_told = error.contains(expected) || !login.is_empty();
            assert!(is_told, "{}: {error}", answer.escape_ascii());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn redis_behind_a_slow_link_is_connected_to() {
    let peer = Peer::start_late("*3\r\n:1\r\n:1000\r\n:1\r\n", Duration::from_millis(200)).await;
    for login in ["", ":hunter2@"] {
        open_redis(login, peer.port).await.check().unwrap();
    }
}

/// Sends more and more behind `begin`; gives how many MiB the client has taken.
async fn flood(listener: &TcpListener, begin: &[u8]) -> usize {
    let (mut client, _) = listener.accept().await.unwrap();
    let (more, mut sent) = (vec![b'1'; 1024 * 1024], 0);
    client.write_all(begin).await.unwrap();
    while sent < 700 && client.write_all(&more).await.is_ok() {
        sent += 1;
    }
    sent
}

#[tokio::test]
async fn an_answer_of_redis_without_an_end_is_cut() {
    let long: [&[u8]; 2] = [b"$4000000000\r\n", b"*1000000000000\r\n:"];
    for begin in [b"+", &b"-ERR "[..], long[0], long[1]] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let flooding = flood(&listener, begin);
        let (limiter, sent) = tokio::join!(open_redis(":hunter2@", port), flooding);
        limiter.check().unwrap_err();
        // What the system buffers comes on top.
        assert!(sent < 64, "{}: {sent} MiB", begin.escape_ascii());
    }
}

#[tokio::test]
async fn an_answer_of_postgresql_without_an_end_is_cut() {
    let begin = [
        message(b'R', &[0; 4]),
        message(b'Z', b"I"),
        message(b'1', b""),
        message(b'2', b""),
        message(b'T', &[0; 2]),
        b"D\x7f\xff\xff\xff".to_vec(),
    ];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let begin = begin.concat();
    let flooding = flood(&listener, &begin);
    let (opened, sent) = tokio::join!(open_postgres(port, Duration::ZERO), flooding);
    assert!(matches!(opened, Err(PostgresOpenError::Away(_))));
    // What the system buffers comes on top.
    assert!(sent < 192, "{sent} MiB");
}

#[test]
fn no_bytes_in_place_of_an_engine_are_taken_for_one() {
    let runtime = Runtime::new().unwrap();
    let tag = prop::sample::select(b"RESZNK-+:$*_,#!=%~>|(".to_vec());
    let bytes = (tag, vec(any::<u8>(), 0..64));
    let run = TestRunner::default().run(&bytes, |(tag, mut bytes)| {
        bytes.insert(0, tag);
        bytes.extend(b"\r\n");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let answering = async {
                for _ in 0..2 {
                    let (mut client, _) = listener.accept().await.unwrap();
                    let _ = client.read(&mut [0; 1024]).await;
                    let _ = client.write_all(&bytes).await;
                }
            };
            let opening = async {
                open_redis("", port).await.check().unwrap_err();
                open_postgres(port, Duration::ZERO).await.err().unwrap();
            };
            tokio::join!(opening, answering);
        });
        Ok(())
    });
    run.unwrap();
}
