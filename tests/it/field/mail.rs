//! Relays: bytes that no library expects, and whose fault a mail is. How replies are read, and all codes, the tests of
//! replies and of blame have.

use landing_api::adapters::files::operator_file::PasswordFile;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::outbound::smtp::{SmtpMailSender, SmtpSettings};
use landing_api::domain::{EmailAddress, Letter, RelaySecurity, Sender};
use landing_api::ports::{MailError, MailSender as _};
use proptest::prelude::*;

use crate::mail::relay::Then::{Close, GoOn, Repeat};
use crate::mail::relay::{REPEATED_MAX, Received, Relay, Script};
use crate::mail::{letter_of, settings};
use crate::prelude::*;

/// Fails unless this became of a mail: `taken`, or whose fault it is with words of the error.
fn check(sent: &Result<(), MailError>, outcome: &str, row: &str) {
    let (fault, words) = match sent {
        Ok(()) => ("taken".to_owned(), ""),
        Err(MailError::Account(words)) => ("account".to_owned(), &**words),
        Err(MailError::Later(words)) => ("later".to_owned(), &**words),
        Err(MailError::Refused(words)) => ("refused".to_owned(), &**words),
        Err(MailError::Unclear { code: None, error }) => ("denied".to_owned(), &**error),
        Err(MailError::Unclear {
            code: Some(code),
            error,
        }) => (format!("unclear {code}"), &**error),
    };
    let (expected, told) = outcome.split_once(": ").unwrap_or((outcome, ""));
    assert_eq!(fault, expected, "{row}: {words:?}");
    assert!(words.contains(told), "{row}: {words:?}, not {told:?}");
    let length = words.chars().count();
    assert!(length < 300, "{row}: {length}");
    assert!(!words.contains(char::is_control), "{row}: {words:?}");
    assert!(!words.contains('@'), "{row}: {words:?}");
}

/// A sender by this relay, with a log-in if there is a file of the password.
fn sender(
    relay: SocketAddr,
    security: RelaySecurity,
    password: Option<PasswordFile>,
) -> SmtpMailSender {
    let settings = SmtpSettings {
        sender: Sender::parse("Müller, \"Ada\" <news@bücher.example>").unwrap(),
        ..settings(relay, security, password)
    };
    SmtpMailSender::open(settings, Roots::of([])).unwrap()
}

/// Sends a mail by a relay that speaks like this, with a log-in if it is to have one.
async fn sent(
    script: Script,
    security: RelaySecurity,
    logs_in: bool,
) -> (Result<(), MailError>, Received) {
    let relay = Relay::start(script).await;
    let dir = private_dir();
    let file = dir.path().join("password");
    write_private(&file, "hunter2");
    let password = logs_in.then(|| PasswordFile::open(&file).unwrap());
    let sender = sender(relay.address, security, password);
    let letter = letter("Hello", ".\r\n.text", "<p>");
    let message = sender.write(&letter).unwrap();
    (sender.send(&letter.to, &message).await, relay.received())
}

fn letter(subject: &str, text: &str, html: &str) -> Letter {
    Letter {
        to: EmailAddress::parse("ada.lovelace@example.com").unwrap(),
        ..letter_of(subject, text, html)
    }
}

/// Bytes of a table, in which `\r`, `\n` and `\x1b` are what they are in Rust.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (byte, length) = match part.as_bytes()[0] {
            b'r' => (b'\r', 1),
            b'n' => (b'\n', 1),
            b'x' => (u8::from_str_radix(&part[1..3], 16).unwrap(), 3),
            other => panic!("{other} in {text}"),
        };
        bytes.push(byte);
        bytes.extend(&part.as_bytes()[length..]);
    }
    bytes
}

/// Fails unless a mail has that outcome by a relay that says this `at` a command; with `!` behind it the relay closes
/// the connection then, and with `*` it says it without an end.
async fn check_row(at: &'static str, bytes: Vec<u8>, logs_in: bool, outcome: &str) {
    let row = format!("{at}: {}", String::from_utf8_lossy(&bytes));
    let then = match at.chars().last() {
        Some('!') => Close,
        Some('*') => Repeat,
        _ => GoOn,
    };
    let script = Script::saying(at.trim_end_matches(['!', '*']), bytes.leak(), then);
    let (result, received) = sent(script, RelaySecurity::Clear, logs_in).await;
    check(&result, outcome, &row);
    let is_bounded = received.repeated < REPEATED_MAX;
    assert!(is_bounded, "{row}: read without an end");
    let is_taken = !received.messages.is_empty();
    assert_eq!(is_taken, outcome == "taken", "{row}: {received:?}");
}

async fn check_rows(table: &'static str, logs_in: bool) {
    for [at, bytes, outcome] in rows(table) {
        check_row(at, unescaped(bytes), logs_in, outcome).await;
    }
}

const REPLIES: &str = r#"
greeting | 220-M\xfcller\r\n220 \x1b$B%a!<%k\x1b(B\r\n | taken
greeting | 220\r\n | taken
greeting | 220-a\r\n\r\n  more\r\n220 b\n | taken
EHLO | 250-relay\r\n250- \r\n250 SMTPUTF8\r\n | taken
EHLO | 250-relay\r\n250-\r\n250-=\r\n250 \r\n | taken
EHLO | 250-relay\n250-SIZE\n250 8BITMIME\n | taken
EHLO | 250-relay\r\n250-\xff\xfe\x00\r\n250 OK\r\n | taken
EHLO | 502 no\r\n | account: 502 no
MAIL | 250\r\n | taken
RCPT | 251 forwarded\r\n | taken
RCPT | 550 5.1.1 Empf\xe4nger unbekannt\r\n | refused: 550 5.1.1 Empf�nger unbekannt
RCPT | 550 5.1.1 \x1b$B$"$F@h\x1b(B\r\n | refused: 550 5.1.1
RCPT | 550 5.1.1 no\x00body\r\n | refused: 550 5.1.1 no body
RCPT | 550-5.1.1 The account\r\n550 5.1.1 does not exist\r\n | refused: The account 5.1.1 does not exist
RCPT | 550 5.1.1 user=ada.lovelace <ada.lovelace@example.com> \x1b[31mno\r\n | refused: 550 5.1.1 (address) (address)
RCPT | 550\r\n | unclear 550: the relay replied 550
RCPT | 550 \xe2\x80\xae\xc2\x9b31m no\r\n | unclear 550: 550
RCPT! | 550 5.1.1 unknown | refused: 550 5.1.1 unknown
DATA | 354\n | taken
. | 250-2.0.0 \xa4\r\n250 2.0.0 taken\r\n | taken
.! | 250 taken | taken
QUIT! | what? | taken
"#;

#[tokio::test]
async fn replies_are_bytes_whose_code_counts() {
    check_rows(REPLIES, false).await;
    let long = format!("550 5.1.1 <ADA.LOVELACE>... {}\n", "x".repeat(400));
    let told = "refused: 550 5.1.1 (address) xxx";
    check_row("RCPT", long.into(), false, told).await;
}

const NO_SMTP: &str = r"
greeting | 25 ok\r\n | account: not SMTP: 25 ok
greeting | \r\n | account: not SMTP
greeting | SSH-2.0-OpenSSH_9.2\r\n | account: not SMTP: SSH-2.0
greeting | \x15\x03\x01\x00\x02\x02\x0a\n | account: not SMTP
greeting | 354 go on\r\n | account: replied 354 go on
greeting* | 220 relay\x20 | account: longer than 64 KiB: 220 relay
greeting* | 220-relay\r\n | account: longer than 64 KiB
greeting* | x | account: longer than 64 KiB: xxx
greeting* | \n | account: not SMTP
greeting! | 220-relay | account: closed the connection
greeting! | | account: closed the connection
EHLO* | 250-X\r\n | account: longer than 64 KiB
EHLO | 354 go on\r\n | account: replied 354
RCPT* | 250\x20 | denied: longer than 64 KiB
RCPT* | 550-5.1.1 x\r\n | denied: longer than 64 KiB
RCPT | ok ada.lovelace\r\n | denied: not SMTP: ok (address)
RCPT | 354 go on\r\n | denied: replied 354
DATA | 250 ok\r\n | denied: replied 250 ok
.* | 250- | later: longer than 64 KiB
. | ok\r\n | later: not SMTP: ok
. | 354 go on\r\n | later: replied 354
";

/// Behind the content it may have been accepted, so the fault is the moment's.
#[tokio::test]
async fn a_relay_that_does_not_speak_smtp_is_an_account_that_cannot_be_used() {
    check_rows(NO_SMTP, false).await;
}

const FAULTS: &str = r"
greeting | 554 no\r\n | account: 554 no
greeting! | 421 4.3.2 busy\r\n | account: 421 4.3.2 busy
EHLO | 521 no\r\n | account: 521 no
EHLO! | 421 4.3.2 busy\r\n | account: 421 4.3.2 busy
EHLO! | | account: closed the connection
MAIL | 550 5.1.1 not you\r\n | account: 550 5.1.1
MAIL | 452 4.3.1 disk full\r\n | account: 452 4.3.1
MAIL! | | account: closed the connection
RCPT | 553 5.7.1 <news@example.org>: Sender rejected\r\n | denied: 553 5.7.1 (address) Sender
RCPT | 553 nobody here (#5.1.1)\r\n | refused: 553 nobody
RCPT | 552 5.2.2 full\r\n | refused: 552 5.2.2
RCPT | 554 no\r\n | unclear 554: 554 no
RCPT | 450 5.1.1 of two minds\r\n | later: 450 5.1.1
RCPT | 451 4.7.1 quota\r\n | unclear 451: 451 4.7.1
RCPT! | 421 4.3.2 closing\r\n | denied: 421 4.3.2
RCPT! | | later: closed the connection
RCPT! | 55 | later: closed the connection
DATA | 554 5.6.0 no\r\n | unclear 554: 554 5.6.0
DATA! | | later: closed the connection
. | 552 5.2.3 too large\r\n | unclear 552: 552 5.2.3
. | 554 5.7.1 spam\r\n | denied: 554 5.7.1
. | 452 4.3.1 disk full\r\n | unclear 452: 452 4.3.1
.! | 421 4.3.0 stumbled\r\n | unclear 421: 421 4.3.0
.! | | later: closed the connection
.! | 25 | later: closed the connection
";

#[tokio::test]
async fn a_fault_is_the_accounts_the_recipients_or_the_moments() {
    check_rows(FAULTS, false).await;
}

/// The last but one is of a relay that repeats what it does not like.
const LOG_INS: &str = r"
EHLO | 250-relay\r\n250 auth plain login\r\n | taken
EHLO | 250-relay\r\n250 Auth=Plain\r\n | taken
EHLO | 250-relay\r\n250-AUTH=XOAUTH2\r\n250-AUTH\x09PLAIN\r\n250 X\r\n | taken
EHLO | 250-relay\r\n250 AUTH XOAUTH2 cram-md5\r\n | account: it offers: XOAUTH2 CRAM-MD5
EHLO | 250 relay\r\n | account: neither AUTH PLAIN nor LOGIN (it offers: none)
EHLO | 500 what?\r\n | account: 500 what?
AUTH | 535 5.7.8 no\r\n | account: 535 5.7.8 no
AUTH | 454 4.7.0 not now\r\n | account: 454 4.7.0
AUTH | 334 \r\n | account: replied 334
AUTH | 500 AUTH PLAIN AGFkYQBodW50ZXIy\r\n | account: 500 AUTH PLAIN (address)
AUTH! | | account: closed the connection
";

#[tokio::test]
async fn a_log_in_that_the_relay_offers_is_found() {
    check_rows(LOG_INS, true).await;
}

#[tokio::test]
async fn the_older_log_in_is_used_where_no_other_is_offered() {
    for (offered, log_in) in [
        // The relay does not know it, so it fails; what it was sent counts.
        ("LOGIN", "AUTH LOGIN"),
        ("LOGIN PLAIN", "AUTH PLAIN AGFkYQBodW50ZXIy"),
    ] {
        let bytes = format!("250-relay\r\n250 AUTH={offered}\r\n");
        let script = Script::saying("EHLO", bytes.leak().as_bytes(), GoOn);
        let (_, received) = sent(script, RelaySecurity::Clear, true).await;
        assert_eq!(received.commands[1], log_in);
    }
}

#[tokio::test]
async fn what_a_relay_says_in_clear_counts_no_more_after_starttls() {
    const EARLY: &[u8] = b"220 go\r\n250-relay\r\n250 AUTH PLAIN\r\n235 in\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n";
    let authority = Authority::new();
    const PLAIN: &[u8] = b"250-relay\r\n250 AUTH PLAIN\r\n";
    for (at, bytes, told) in [
        ("STARTTLS", EARLY, "sent data before TLS began"),
        ("STARTTLS", b"220 go\r\n\n", "sent data before TLS began"),
        ("STARTTLS", b"454 4.7.0 not now\r\n", "454 4.7.0"),
        ("EHLO", PLAIN, "does not offer STARTTLS"),
        ("EHLO", b"502 what?\r\n", "502 what?"),
    ] {
        let script = Script {
            starttls: Some(authority.acceptor("localhost")),
            ..Script::saying(at, bytes, GoOn)
        };
        let (result, received) = sent(script, RelaySecurity::StartTls, true).await;
        check(&result, &format!("account: {told}"), told);
        let last = received.commands.last().unwrap();
        assert!(last.starts_with(at), "{received:?}");
    }
    // The rest comes in the place of the handshake.
    let (result, received) = sent(Script::default(), RelaySecurity::Tls, true).await;
    let row = "clear in the place of TLS";
    check(&result, "account: need smtp://", row);
    assert!(!format!("{received:?}").contains("AUTH"), "{received:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_message_can_be_sent_to_every_relay(subject: String, text: String, html in "\\PC{0,2000}") {
        let sender = sender(([127, 0, 0, 1], 25).into(), RelaySecurity::Tls, None);
        let message = sender.write(&letter(&subject, &text, &html)).unwrap();
        prop_assert!(message.is_ascii());
        let mut lines = message.split('\n');
        prop_assert!(lines.all(|line| line.len() < 999));
    }
}
