//! Relays: bytes that no library expects, and whose fault a mail is.

use std::io;
use std::sync::{Arc, Mutex};

use landing_api::adapters::files::operator_file::PasswordFile;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::outbound::smtp::{SmtpMailSender, SmtpSettings};
use landing_api::domain::{EmailAddress, Letter, LetterContent, RelaySecurity, Sender, mail};
use landing_api::ports::{MailError, MailSender as _};
use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::NOW;
use crate::program::private_dir;
use crate::tls::write_private;

use self::Outcome::{Account, Denied, Later, Refused, Taken, Unclear};
use self::Then::{Close, GoOn, Repeat};

/// Where a relay says something else than the usual: at a command, at `greeting`, or at the dot.
#[derive(Clone, Copy)]
struct Saying {
    at: &'static str,
    bytes: &'static [u8],
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    GoOn,
    Close,
    /// It says it again and again, up to [`REPEATED_MAX`] bytes.
    Repeat,
}

/// More than the buffers of both sockets hold.
const REPEATED_MAX: usize = 64 << 20;

/// What becomes of a mail, with words of the error.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Taken,
    Account(&'static str),
    Denied(&'static str),
    Later(&'static str),
    Refused(&'static str),
    Unclear(u16, &'static str),
}

fn check(sent: &Result<(), MailError>, outcome: Outcome, row: &str) {
    let (words, told) = match (sent, outcome) {
        (Ok(()), Taken) => return,
        (Err(MailError::Account(words)), Account(told))
        | (Err(MailError::Later(words)), Later(told))
        | (Err(MailError::Refused(words)), Refused(told)) => (words, told),
        (Err(MailError::Unclear { code: None, error }), Denied(told)) => (error, told),
        (Err(MailError::Unclear { code, error }), Unclear(expected, told))
            if *code == Some(expected) =>
        {
            (error, told)
        }
        _ => panic!("{row}: {sent:?}, not {outcome:?}"),
    };
    assert!(words.contains(told), "{row}: {words:?}, not {told:?}");
    let length = words.chars().count();
    assert!(length < 300, "{row}: {length}");
    assert!(!words.contains(char::is_control), "{row}: {words:?}");
    assert!(!words.contains('@'), "{row}: {words:?}");
}

/// The commands that a relay was sent, and how many bytes it could repeat.
#[derive(Debug, Default)]
struct Heard {
    commands: Vec<String>,
    repeated: usize,
}

async fn converse(stream: TcpStream, saying: Saying, heard: &Mutex<Heard>) -> io::Result<()> {
    let mut wire = BufReader::new(stream);
    let mut line = "greeting".to_owned();
    loop {
        if line == saying.at || line.split(' ').next() == Some(saying.at) {
            let mut repeated = 0;
            while repeated < REPEATED_MAX {
                wire.write_all(saying.bytes).await?;
                repeated += saying.bytes.len();
                heard.lock().unwrap().repeated = repeated;
                if saying.then != Repeat {
                    break;
                }
            }
            if saying.then != GoOn {
                return Ok(());
            }
        } else {
            let answer = match line.split(' ').next() {
                Some("greeting") => "220 relay ESMTP",
                Some("EHLO") => "250-relay\r\n250-STARTTLS\r\n250 AUTH PLAIN",
                Some("STARTTLS") => "220 go on",
                Some("AUTH") => "235 welcome",
                Some("DATA") => "354 go on",
                Some("QUIT") => "221 bye",
                _ => "250 ok",
            };
            wire.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
        let is_data = line == "DATA";
        line.clear();
        while line.is_empty() || (is_data && line != ".") {
            let mut bytes = Vec::new();
            if wire.read_until(b'\n', &mut bytes).await? == 0 {
                return Ok(());
            }
            line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        }
        heard.lock().unwrap().commands.push(line.clone());
    }
}

/// Sends a mail by a relay that says this, with a log-in if `security` or `user` asks for it.
async fn sent(
    saying: Saying,
    security: RelaySecurity,
    user: bool,
) -> (Result<(), MailError>, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Arc::<Mutex<Heard>>::default();
    let relay = tokio::spawn({
        let heard = Arc::clone(&heard);
        async move {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that goes ends it.
            let _ = converse(stream, saying, &heard).await;
        }
    });
    let dir = private_dir();
    let file = dir.path().join("password");
    write_private(&file, "hunter2");
    let settings = SmtpSettings {
        relay: mail::Relay {
            host: "localhost".to_owned(),
            port: address.port(),
            security,
            user: user.then(|| "news".to_owned()),
        },
        password_file: user.then(|| PasswordFile::open(&file).unwrap()),
        sender: Sender::parse("news@example.org").unwrap(),
    };
    let sender = SmtpMailSender::open(settings, Roots::of([])).unwrap();
    let letter = letter("Hello", ".\r\n.text", "<p>");
    let message = sender.write(&letter).unwrap();
    let result = sender.send(&letter.to, &message).await;
    relay.await.unwrap();
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (result, heard)
}

fn letter(subject: &str, text: &str, html: &str) -> Letter {
    Letter {
        to: EmailAddress::parse("ada.lovelace@example.com").unwrap(),
        content: LetterContent {
            subject: subject.to_owned(),
            text: text.to_owned(),
            html: html.to_owned(),
        },
        at: NOW,
        id: [7; 16],
        leave_url: None,
    }
}

async fn check_rows(rows: &[(&'static str, &'static [u8], Then, Outcome)], user: bool) {
    for &(at, bytes, then, outcome) in rows {
        let saying = Saying { at, bytes, then };
        let row = format!("{at}: {}", String::from_utf8_lossy(bytes));
        let (result, heard) = sent(saying, RelaySecurity::Clear, user).await;
        check(&result, outcome, &row);
        assert!(heard.repeated < REPEATED_MAX, "{row}: read without an end");
        if outcome == Taken {
            assert!(heard.commands.contains(&".".to_owned()), "{row}: {heard:?}");
        }
    }
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
async fn replies_are_bytes_whose_code_counts() {
    let rows: &[(_, &[u8], _, _)] = &[
        ("greeting", b"220\r\n", GoOn, Taken),
        ("greeting", b"220 relay\n", GoOn, Taken),
        (
            "greeting",
            b"220-M\xfcller\r\n220 \x1b$B%a!<%k\x1b(B\r\n",
            GoOn,
            Taken,
        ),
        ("greeting", b"220-a\r\n\r\n  more\r\n220 b\r\n", GoOn, Taken),
        (
            "EHLO",
            b"250-relay\r\n250- \r\n250 SMTPUTF8\r\n",
            GoOn,
            Taken,
        ),
        (
            "EHLO",
            b"250-relay\r\n250-\r\n250-=\r\n250 \r\n",
            GoOn,
            Taken,
        ),
        ("EHLO", b"250-relay\n250-SIZE\n250 8BITMIME\n", GoOn, Taken),
        (
            "EHLO",
            b"250-relay\r\n250-\xff\xfe\0\r\n250 OK\r\n",
            GoOn,
            Taken,
        ),
        ("EHLO", b"500 5.5.1 what?\r\n", GoOn, Taken),
        ("EHLO", b"502 no\r\n", GoOn, Taken),
        ("EHLO", b"550 no\r\n", GoOn, Taken),
        ("MAIL", b"250\r\n", GoOn, Taken),
        ("RCPT", b"251 forwarded\r\n", GoOn, Taken),
        ("DATA", b"354\n", GoOn, Taken),
        (".", b"250-2.0.0 \xa4\r\n250 2.0.0 taken\r\n", GoOn, Taken),
        (".", b"250 taken", Close, Taken),
        ("QUIT", b"what?", Close, Taken),
        (
            "RCPT",
            b"550 5.1.1 Empf\xe4nger unbekannt\r\n",
            GoOn,
            Refused("550 5.1.1 Empf\u{fffd}nger unbekannt"),
        ),
        (
            "RCPT",
            b"550 5.1.1 \x1b$B$\"$F@h\x1b(B\r\n",
            GoOn,
            Refused("550 5.1.1"),
        ),
        (
            "RCPT",
            b"550 5.1.1 no\0body\r\n",
            GoOn,
            Refused("550 5.1.1 no body"),
        ),
        (
            "RCPT",
            b"550-5.1.1 The account\r\n550 5.1.1 does not exist\r\n",
            GoOn,
            Refused("550 5.1.1 The account 5.1.1 does not exist"),
        ),
        (
            "RCPT",
            b"550 5.1.1 unknown",
            Close,
            Refused("550 5.1.1 unknown"),
        ),
        (
            "RCPT",
            b"550 5.1.1 user=ada.lovelace <ada.lovelace> unknown\r\n",
            GoOn,
            Refused("550 5.1.1 (address) (address) unknown"),
        ),
        (
            "RCPT",
            b"550\r\n",
            GoOn,
            Unclear(550, "the relay replied 550"),
        ),
        (
            "RCPT",
            b"550 \xe2\x80\xae\xc2\x9b31m no\r\n",
            GoOn,
            Unclear(550, "the relay replied 550"),
        ),
    ];
    check_rows(rows, false).await;
}

#[tokio::test]
async fn a_relay_that_does_not_speak_smtp_is_an_account_that_cannot_be_used() {
    let rows: &[(_, &[u8], _, _)] = &[
        ("greeting", b"25 ok\r\n", GoOn, Account("not SMTP: 25 ok")),
        ("greeting", b"\r\n", GoOn, Account("not SMTP")),
        (
            "greeting",
            b"SSH-2.0-OpenSSH_9.2\r\n",
            GoOn,
            Account("not SMTP: SSH-2.0"),
        ),
        (
            "greeting",
            b"\x15\x03\x01\0\x02\x02\x0a\n",
            GoOn,
            Account("not SMTP"),
        ),
        (
            "greeting",
            b"220 relay ",
            Repeat,
            Account("longer than 64 KiB: 220 relay"),
        ),
        (
            "greeting",
            b"220-relay\r\n",
            Repeat,
            Account("longer than 64 KiB"),
        ),
        ("greeting", b"x", Repeat, Account("longer than 64 KiB: xxx")),
        ("greeting", b"\n", Repeat, Account("not SMTP")),
        (
            "greeting",
            b"220-relay",
            Close,
            Account("closed the connection"),
        ),
        ("greeting", b"", Close, Account("closed the connection")),
        (
            "greeting",
            b"354 go on\r\n",
            GoOn,
            Account("replied 354 go on"),
        ),
        ("EHLO", b"250-X\r\n", Repeat, Account("longer than 64 KiB")),
        ("EHLO", b"354 go on\r\n", GoOn, Account("replied 354")),
        ("RCPT", b"250 ", Repeat, Denied("longer than 64 KiB")),
        (
            "RCPT",
            b"550-5.1.1 x\r\n",
            Repeat,
            Denied("longer than 64 KiB"),
        ),
        (
            "RCPT",
            b"ok ada.lovelace\r\n",
            GoOn,
            Denied("not SMTP: ok (address)"),
        ),
        ("RCPT", b"354 go on\r\n", GoOn, Denied("replied 354")),
        ("DATA", b"250 ok\r\n", GoOn, Denied("replied 250 ok")),
        // It may have been accepted.
        (".", b"250-", Repeat, Later("longer than 64 KiB")),
        (".", b"ok\r\n", GoOn, Later("not SMTP: ok")),
        (".", b"354 go on\r\n", GoOn, Later("replied 354")),
    ];
    check_rows(rows, false).await;
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "rows of a table")]
async fn a_fault_is_the_accounts_the_recipients_or_the_moments() {
    let rows: &[(_, &[u8], _, _)] = &[
        (
            "greeting",
            b"554 no service\r\n",
            GoOn,
            Account("554 no service"),
        ),
        (
            "greeting",
            b"421 4.3.2 busy\r\n",
            Close,
            Account("421 4.3.2 busy"),
        ),
        ("EHLO", b"521 no mail\r\n", GoOn, Account("521 no mail")),
        (
            "EHLO",
            b"421 4.7.0 slow down\r\n",
            Close,
            Account("421 4.7.0"),
        ),
        ("EHLO", b"", Close, Account("closed the connection")),
        ("MAIL", b"550 5.1.1 not you\r\n", GoOn, Account("550 5.1.1")),
        (
            "MAIL",
            b"452 4.3.1 disk full\r\n",
            GoOn,
            Account("452 4.3.1"),
        ),
        ("MAIL", b"", Close, Account("closed the connection")),
        (
            "RCPT",
            b"553 5.7.1 <news@example.org>: Sender address rejected\r\n",
            GoOn,
            Denied("553 5.7.1 (address) Sender"),
        ),
        (
            "RCPT",
            b"550 5.4.5 daily limit\r\n",
            GoOn,
            Denied("550 5.4.5"),
        ),
        (
            "RCPT",
            b"530 5.7.0 authenticate first\r\n",
            GoOn,
            Denied("530 5.7.0"),
        ),
        (
            "RCPT",
            b"503 5.5.1 MAIL first\r\n",
            GoOn,
            Denied("503 5.5.1"),
        ),
        (
            "RCPT",
            b"550 5.1.8 sender's domain\r\n",
            GoOn,
            Denied("550 5.1.8"),
        ),
        ("RCPT", b"421 4.3.2 closing\r\n", Close, Denied("421 4.3.2")),
        (
            "RCPT",
            b"550 #5.1.1 nobody\r\n",
            GoOn,
            Refused("550 #5.1.1"),
        ),
        (
            "RCPT",
            b"553 nobody here (#5.1.1)\r\n",
            GoOn,
            Refused("553 nobody"),
        ),
        ("RCPT", b"552 5.2.2 full\r\n", GoOn, Refused("552 5.2.2")),
        (
            "RCPT",
            b"550 5.7.1. Access denied\r\n",
            GoOn,
            Denied("550 5.7.1."),
        ),
        (
            "RCPT",
            b"550 <5.1.1> unknown\r\n",
            GoOn,
            Refused("550 <5.1.1>"),
        ),
        (
            "RCPT",
            b"550 5.1.90 Your message can't be sent: daily limit\r\n",
            GoOn,
            Denied("550 5.1.90"),
        ),
        (
            ".",
            b"552 5.2.3 too large\r\n",
            GoOn,
            Unclear(552, "552 5.2.3"),
        ),
        (
            "RCPT",
            b"550 5.1.0 rejected\r\n",
            GoOn,
            Unclear(550, "550 5.1.0"),
        ),
        ("RCPT", b"554 no\r\n", GoOn, Unclear(554, "554 no")),
        (
            "RCPT",
            b"450 5.1.1 of two minds\r\n",
            GoOn,
            Later("450 5.1.1"),
        ),
        (
            "RCPT",
            b"451 4.7.1 quota\r\n",
            GoOn,
            Unclear(451, "451 4.7.1"),
        ),
        ("RCPT", b"", Close, Later("closed the connection")),
        ("RCPT", b"55", Close, Later("closed the connection")),
        ("DATA", b"554 5.6.0 no\r\n", GoOn, Unclear(554, "554 5.6.0")),
        ("DATA", b"", Close, Later("closed the connection")),
        (".", b"554 5.7.1 spam\r\n", GoOn, Denied("554 5.7.1")),
        (
            ".",
            b"554 5.2.252 SendAsDenied\r\n",
            GoOn,
            Denied("554 5.2.252"),
        ),
        (
            ".",
            b"421 4.3.0 stumbled\r\n",
            Close,
            Unclear(421, "421 4.3.0"),
        ),
        (".", b"", Close, Later("closed the connection")),
        (".", b"25", Close, Later("closed the connection")),
    ];
    check_rows(rows, false).await;
}

#[tokio::test]
async fn a_log_in_that_the_relay_offers_is_found() {
    let rows: &[(_, &[u8], _, _)] = &[
        (
            "EHLO",
            b"250-relay\r\n250 auth plain login\r\n",
            GoOn,
            Taken,
        ),
        ("EHLO", b"250-relay\r\n250 Auth=Plain\r\n", GoOn, Taken),
        (
            "EHLO",
            b"250-relay\r\n250-AUTH=XOAUTH2\r\n250-AUTH\tPLAIN\r\n250 X\r\n",
            GoOn,
            Taken,
        ),
        (
            "EHLO",
            b"250-relay\r\n250 AUTH XOAUTH2 cram-md5\r\n",
            GoOn,
            Account("it offers: XOAUTH2 CRAM-MD5"),
        ),
        (
            "EHLO",
            b"250 relay\r\n",
            GoOn,
            Account("neither AUTH PLAIN nor LOGIN (it offers: none)"),
        ),
        ("EHLO", b"500 what?\r\n", GoOn, Account("500 what?")),
        ("AUTH", b"535 5.7.8 no\r\n", GoOn, Account("535 5.7.8 no")),
        ("AUTH", b"454 4.7.0 not now\r\n", GoOn, Account("454 4.7.0")),
        ("AUTH", b"334 \r\n", GoOn, Account("replied 334")),
        ("AUTH", b"", Close, Account("closed the connection")),
    ];
    check_rows(rows, true).await;
    // A relay that repeats what it does not like.
    let bytes = b"500 unknown: AUTH PLAIN AG5ld3MAaHVudGVyMg==\r\n";
    let saying = Saying {
        at: "AUTH",
        bytes,
        then: GoOn,
    };
    let (result, _) = sent(saying, RelaySecurity::Clear, true).await;
    check(
        &result,
        Account("500 unknown: AUTH PLAIN (address)"),
        "AUTH",
    );
}

#[tokio::test]
async fn the_older_log_in_is_used_where_no_other_is_offered() {
    // The relay answers `250 ok` to user and password, so a step fails; what it was sent counts.
    let bytes = b"250-relay\r\n250 AUTH=LOGIN\r\n";
    let saying = Saying {
        at: "EHLO",
        bytes,
        then: GoOn,
    };
    let (_, heard) = sent(saying, RelaySecurity::Clear, true).await;
    assert_eq!(heard.commands, ["EHLO example.org", "AUTH LOGIN"]);
    let relay = |at, bytes| {
        sent(
            Saying {
                at,
                bytes,
                then: GoOn,
            },
            RelaySecurity::Clear,
            true,
        )
    };
    let (_, heard) = relay("EHLO", b"250-relay\r\n250 AUTH=LOGIN PLAIN\r\n").await;
    assert_eq!(heard.commands[1], "AUTH PLAIN AG5ld3MAaHVudGVyMg==");
}

#[tokio::test]
async fn what_a_relay_says_in_clear_counts_no_more_after_starttls() {
    for (at, bytes, told, last) in [
        ("STARTTLS", &b"220 go\r\n250-relay\r\n250 AUTH PLAIN\r\n235 in\r\n250 ok\r\n250 ok\r\n354 go\r\n250 taken\r\n"[..], "sent data before TLS began", "STARTTLS"),
        ("STARTTLS", b"220 go\r\n\n", "sent data before TLS began", "STARTTLS"),
        ("STARTTLS", b"454 4.7.0 not now\r\n", "454 4.7.0", "STARTTLS"),
        ("EHLO", b"250-relay\r\n250 AUTH PLAIN\r\n", "does not offer STARTTLS", "EHLO example.org"),
        ("EHLO", b"502 what?\r\n", "502 what?", "EHLO example.org"),
    ] {
        let saying = Saying { at, bytes, then: GoOn };
        let (result, heard) = sent(saying, RelaySecurity::StartTls, true).await;
        check(&result, Account(told), told);
        assert_eq!(heard.commands.last().unwrap(), last, "{heard:?}");
    }
    // The rest comes in the place of the handshake.
    let saying = Saying {
        at: "nothing",
        bytes: b"",
        then: GoOn,
    };
    let (result, heard) = sent(saying, RelaySecurity::Tls, true).await;
    check(
        &result,
        Account("need smtp://"),
        "clear in the place of TLS",
    );
    assert!(!format!("{heard:?}").contains("AUTH"), "{heard:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_message_can_be_sent_to_every_relay(subject: String, text: String, html in "\\PC{0,2000}") {
        let settings = SmtpSettings {
            relay: mail::Relay {
                host: "relay.example".to_owned(),
                port: 25,
                security: RelaySecurity::Tls,
                user: None,
            },
            password_file: None,
            sender: Sender::parse("Müller, \"Ada\" <news@bücher.example>").unwrap(),
        };
        let sender = SmtpMailSender::open(settings, Roots::of([])).unwrap();
        let message = sender.write(&letter(&subject, &text, &html)).unwrap();
        prop_assert!(message.is_ascii());
        let mut lines = message.split('\n');
        prop_assert!(lines.all(|line| line.len() < 999));
    }
}
