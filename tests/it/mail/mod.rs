//! Mail: its form, the relay's answers, and what the operator sees.

mod program;
mod relay;

use std::path::Path;
use std::sync::Arc;

use landing_api::adapters::files::operator_file::PasswordFile;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::outbound::smtp::{SmtpMailSender, SmtpSettings};
use landing_api::domain::{EmailAddress, Letter, LetterContent, RelaySecurity, Sender, mail};
use landing_api::ports::{MailError, MailSender as _};
use rcgen::CertificateParams;
use tokio_rustls::TlsAcceptor;

use crate::harness::NOW;
use crate::program::private_dir;
use crate::tls::{Authority, write_private};

use self::relay::{Relay, Script};

fn to() -> EmailAddress {
    EmailAddress::parse("ada@example.com").unwrap()
}

fn letter(subject: &str) -> Letter {
    Letter {
        to: to(),
        content: LetterContent {
            subject: subject.to_owned(),
            text: format!("Grüße, {}", "wort ".repeat(300)),
            html: "<p>Grüße".to_owned(),
        },
        at: NOW,
        id: [7; 16],
        leave_url: Some("https://landing.example/newsletter/leave/token".to_owned()),
    }
}

/// A sender by `relay`.
fn settings(relay: &Relay, security: RelaySecurity) -> SmtpSettings {
    SmtpSettings {
        relay: mail::Relay {
            host: relay.address.ip().to_string(),
            port: relay.address.port(),
            security,
            user: None,
        },
        password_file: None,
        sender: Sender::parse("Café <news@example.org>").unwrap(),
    }
}

fn in_clear(relay: &Relay) -> SmtpMailSender {
    SmtpMailSender::open(settings(relay, RelaySecurity::Clear), Roots::of([])).unwrap()
}

/// The same with ada's log-in, who has this password.
fn logging_in(
    relay: &Relay,
    security: RelaySecurity,
    (dir, password): (&Path, &str),
    authority: Option<&Authority>,
) -> SmtpMailSender {
    let file = dir.join("password");
    write_private(&file, password);
    let mut settings = settings(relay, security);
    settings.relay.user = Some("ada".to_owned());
    settings.password_file = Some(PasswordFile::open(&file).unwrap());
    let roots = authority.map(|authority| authority.root.clone());
    SmtpMailSender::open(settings, Roots::of(roots)).unwrap()
}

fn acceptor(authority: &Authority) -> TlsAcceptor {
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let pair = authority.sign("relay", &params);
    TlsAcceptor::from(pair.open().unwrap().tls().unwrap())
}

#[tokio::test]
async fn a_mail_is_handed_over_as_it_was_written() {
    let relay = Relay::start(Script::default()).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Grüße 🎉")).unwrap();
    assert_eq!(sender.send(&to(), &mail).await, Ok(()));
    // A second try sends the same bytes.
    assert_eq!(sender.send(&to(), &mail).await, Ok(()));
    let received = relay.received();
    let once = [
        "EHLO example.org",
        "MAIL FROM:<news@example.org>",
        "RCPT TO:<ada@example.com>",
        "DATA",
        "QUIT",
    ];
    assert_eq!(received.commands, [once, once].concat());
    let [first, second] = &received.messages[..] else {
        panic!("{received:?}");
    };
    assert_eq!(first, second);
    for header in [
        "To: ada@example.com\n",
        "Message-ID: <07070707070707070707070707070707@example.org>\n",
        "Auto-Submitted: auto-generated\n",
        "MIME-Version: 1.0\n",
        "Content-Type: multipart/alternative;",
        "List-Unsubscribe: <https://landing.example/newsletter/leave/token>\n",
        "List-Unsubscribe-Post: List-Unsubscribe=One-Click\n",
        "Date: ",
        "<news@example.org>\n",
    ] {
        assert!(first.contains(header), "{header}: {first}");
    }
    assert!(first.is_ascii(), "{first}");
    assert!(first.lines().all(|line| line.len() <= 78), "{first}");
}

#[tokio::test]
async fn a_subject_brings_no_header_along() {
    let relay = Relay::start(Script::default()).await;
    for end in ["\r\n", "\n", "\r", "\u{2028}"] {
        let subject = format!("Hello{end}Bcc: eve@example.com");
        let text = in_clear(&relay).write(&letter(&subject)).unwrap();
        assert!(!text.lines().any(|line| line.starts_with("Bcc")), "{text}");
        assert!(!text.contains("\r\r"), "{text}");
    }
}

/// One of the errors.
type Kind = fn(String) -> MailError;

/// What the relay answers to a command, and what that is.
#[tokio::test]
async fn each_answer_of_the_relay_concerns_the_mail_or_the_account() {
    let (refused, account): (Kind, Kind) = (MailError::Refused, MailError::Account);
    let denied: Kind = |error| MailError::Unclear { code: None, error };
    let unclear: Kind = |error| {
        let code = error.split(' ').find_map(|word| word.parse().ok());
        assert!(code.is_some());
        MailError::Unclear { code, error }
    };
    let kinds: [(&str, &str, Kind); 10] = [
        ("EHLO", "554 5.3.2 no service here", account),
        ("MAIL", "550 5.7.1 not your address", account),
        ("MAIL", "451 4.3.0 try later", account),
        ("RCPT", "450 4.7.1 greylisted", unclear),
        ("RCPT", "550 5.1.1 nobody of that name", refused),
        ("RCPT", "552 5.2.2 mailbox full", refused),
        ("DATA", "554 5.6.0 no", unclear),
        ("DATA", "421 4.3.2 shutting down", denied),
        (".", "554 5.7.1 spam", denied),
        (".", "452 4.3.1 disk full", unclear),
    ];
    for (command, answer, kind) in kinds {
        let script = Script {
            answer: Some((command, answer)),
            ..Script::default()
        };
        let relay = Relay::start(script).await;
        let sender = in_clear(&relay);
        let mail = sender.write(&letter("Hello")).unwrap();
        let expected = kind(format!("the relay replied {answer}"));
        assert_eq!(sender.send(&to(), &mail).await, Err(expected), "{command}");
        assert_eq!(relay.received().messages, Vec::<String>::new(), "{command}");
    }
}

#[tokio::test]
async fn the_words_of_the_relay_hold_no_address_and_have_an_end() {
    let long = format!(
        "550 <ada@example.com> <ADA>... unknown \u{1b}[31m{}",
        "x".repeat(400)
    );
    let script = Script {
        answer: Some(("RCPT", String::leak(long))),
        ..Script::default()
    };
    let relay = Relay::start(script).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Hello")).unwrap();
    let words = sender.send(&to(), &mail).await.unwrap_err().to_string();
    assert!(
        words.starts_with("refused: the relay replied 550 (address) (address) unknown"),
        "{words}"
    );
    assert!(words.chars().count() < 300, "{words}");
    assert!(!words.contains(['@', '\u{1b}']), "{words:?}");
}

#[tokio::test]
async fn a_relay_that_cannot_be_reached_is_a_matter_of_the_account() {
    let relay = Relay::start(Script::default()).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Hello")).unwrap();
    drop(relay);
    // Its last connections may still be in the kernel.
    tokio::task::yield_now().await;
    let error = sender.send(&to(), &mail).await.unwrap_err();
    let told = "Connection refused (os error 111)";
    assert_eq!(error, MailError::Account(told.to_owned()));
}

/// What becomes of a mail to a relay that is silent after this command, as soon as it is.
async fn sent_to_silence(command: &'static str) -> Result<(), MailError> {
    let script = Script {
        silent_after: Some(command),
        ..Script::default()
    };
    let relay = Relay::start(script).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Hello")).unwrap();
    let sent = tokio::spawn(async move { sender.send(&to(), &mail).await });
    while !relay.is_silent() {
        tokio::task::yield_now().await;
    }
    // From here on nothing but a deadline can happen.
    tokio::time::pause();
    let sent = sent.await.unwrap();
    tokio::time::resume();
    sent
}

#[tokio::test]
async fn a_silent_relay_is_given_up_after_a_minute_and_with_a_message_after_ten() {
    let (later, account): (Kind, Kind) = (MailError::Later, MailError::Account);
    for (command, told, kind) in [
        ("EHLO", "no reply to EHLO within 60 seconds", account),
        ("MAIL", "no reply to MAIL within 60 seconds", account),
        ("RCPT", "no reply to RCPT within 60 seconds", later),
        ("DATA", "no reply to DATA within 60 seconds", later),
        (".", "no reply to the message within 600 seconds", later),
    ] {
        let sent = sent_to_silence(command).await;
        assert_eq!(sent, Err(kind(told.to_owned())), "{command}");
    }
    // It has the mail.
    assert_eq!(sent_to_silence("QUIT").await, Ok(()));
}

#[tokio::test]
async fn the_password_is_read_for_each_log_in() {
    let (relay, dir) = (Relay::start(Script::default()).await, private_dir());
    let wrong = (dir.path(), "hunter1");
    let sender = logging_in(&relay, RelaySecurity::Clear, wrong, None);
    let told = "the relay replied 535 5.7.8 wrong password".to_owned();
    assert_eq!(sender.check().await, Err(MailError::Account(told)));
    write_private(&dir.path().join("password"), "hunter2\n");
    assert_eq!(sender.check().await, Ok(()));
}

#[tokio::test]
async fn the_password_goes_over_tls_alone() {
    use RelaySecurity::{StartTls, Tls};
    let (authority, dir) = (Authority::new(), private_dir());
    let login = (dir.path(), "hunter2");
    let plain = Script::default();
    let tls = Script {
        tls: Some(acceptor(&authority)),
        ..Script::default()
    };
    let starttls = Script {
        starttls: Some(acceptor(&authority)),
        ..Script::default()
    };
    let refusing = Script {
        answer: Some(("STARTTLS", "454 4.7.0 not now")),
        ..starttls.clone()
    };
    for (script, security, trusted, is_sent) in [
        (&tls, Tls, true, true),
        (&tls, Tls, false, false),
        (&plain, StartTls, true, false),
        (&starttls, StartTls, true, true),
        (&starttls, StartTls, false, false),
        (&refusing, StartTls, true, false),
    ] {
        let relay = Relay::start(script.clone()).await;
        let authority = trusted.then_some(&authority);
        let sender = Arc::new(logging_in(&relay, security, login, authority));
        let mail = sender.write(&letter("Hello")).unwrap();
        let sent = sender.send(&to(), &mail).await;
        assert_eq!(sent.is_ok(), is_sent, "{security:?} {trusted}: {sent:?}");
        let received = relay.received();
        let logged_in = received.commands.iter().any(|it| it.starts_with("AUTH"));
        assert_eq!(logged_in, is_sent, "{security:?}: {received:?}");
        if !is_sent {
            assert!(!matches!(sent, Err(MailError::Refused(_))), "{sent:?}");
        }
    }
}
