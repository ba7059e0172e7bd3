//! Mail: its form, the relay's answers, and what the operator sees.

mod program;
pub(crate) mod relay;

use landing_api::adapters::files::operator_file::PasswordFile;
use landing_api::adapters::outbound::Roots;
use landing_api::adapters::outbound::smtp::{SmtpMailSender, SmtpSettings};
use landing_api::domain::{
    Channel, EmailAddress, Letter, LetterContent, RelaySecurity, Sender, mail,
};
use landing_api::ports::{MailError, MailSender as _, lease_ms};

use crate::prelude::*;

use self::relay::{Received, Relay, Script, Then};

fn to() -> EmailAddress {
    EmailAddress::parse("ada@example.com").unwrap()
}

fn letter(subject: &str) -> Letter {
    let words = format!("Grüße, {}", "wort ".repeat(300));
    let url = "https://landing.example/newsletter/leave/token";
    Letter {
        leave_url: Some(url.to_owned()),
        ..letter_of(subject, &words, "<p>Grüße")
    }
}

pub(crate) fn letter_of(subject: &str, text: &str, html: &str) -> Letter {
    let [subject, text, html] = [subject, text, html].map(str::to_owned);
    Letter {
        to: to(),
        content: LetterContent {
            subject,
            text,
            html,
        },
        at: NOW,
        id: [7; 16],
        leave_url: None,
    }
}

/// A sender by `relay`, with ada's log-in if there is a file of her password.
pub(crate) fn settings(
    relay: SocketAddr,
    security: RelaySecurity,
    password_file: Option<PasswordFile>,
) -> SmtpSettings {
    SmtpSettings {
        relay: mail::Relay {
            host: relay.ip().to_string(),
            port: relay.port(),
            security,
            user: password_file.as_ref().map(|_| "ada".to_owned()),
        },
        password_file,
        sender: Sender::parse("Café <news@example.org>").unwrap(),
    }
}

fn in_clear(relay: &Relay) -> SmtpMailSender {
    let settings = settings(relay.address, RelaySecurity::Clear, None);
    SmtpMailSender::open(settings, Roots::of([])).unwrap()
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
    let password_file = PasswordFile::open(&file).unwrap();
    let settings = settings(relay.address, security, Some(password_file));
    let roots = authority.map(|authority| authority.root.clone());
    SmtpMailSender::open(settings, Roots::of(roots)).unwrap()
}

/// Beginnings and ends of headers.
const HEADERS: &str = "
To: | ada@example.com
Message-ID: | <07070707070707070707070707070707@example.org>
Auto-Submitted: | auto-generated
MIME-Version: | 1.0
Content-Type: multipart/alternative; |
List-Unsubscribe: | <https://landing.example/newsletter/leave/token>
List-Unsubscribe-Post: | List-Unsubscribe=One-Click
Date: |
From: | <news@example.org>
";

#[tokio::test]
async fn a_mail_is_handed_over_as_it_was_written() {
    let relay = Relay::start(Script::default()).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Grüße 🎉")).unwrap();
    assert_eq!(sender.send(&to(), &mail).await, Ok(()));
    // A second try sends the same bytes.
    assert_eq!(sender.send(&to(), &mail).await, Ok(()));
    let received = relay.received();
    let once = "EHLO example.org|MAIL FROM:<news@example.org>|RCPT TO:<ada@example.com>|DATA|QUIT";
    assert_eq!(received.commands.join("|"), [once, once].join("|"));
    let [first, second] = &received.messages[..] else {
        panic!("{received:?}");
    };
    assert_eq!(first, second);
    for [header, end] in rows(HEADERS) {
        let line = first.lines().find(|line| line.starts_with(header));
        let line = line.unwrap_or_else(|| panic!("{header}: {first}"));
        assert!(line.ends_with(end), "{line}");
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

#[tokio::test]
async fn a_relay_that_cannot_be_reached_is_a_matter_of_the_account() {
    let relay = Relay::start(Script::default()).await;
    let sender = in_clear(&relay);
    let mail = sender.write(&letter("Hello")).unwrap();
    drop(relay);
    // Its last connections may still be in the kernel.
    tokio::task::yield_now().await;
    let error = sender.send(&to(), &mail).await.unwrap_err();
    let told = "cannot connect: Connection refused (os error 111)";
    assert_eq!(error, MailError::Account(told.to_owned()));
}

/// What becomes of a mail to a relay that is silent after this command, as soon as it is.
async fn sent_to_silence(command: &'static str) -> Result<(), MailError> {
    let script = Script::saying(command, b"", Then::Hold);
    sent_to_silent(script).await.0
}

/// The same for a relay that may say something later, and what it received.
async fn sent_to_silent(script: Script) -> (Result<(), MailError>, Received) {
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
    (sent, relay.received())
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
async fn a_relay_that_takes_almost_ten_minutes_for_a_message_has_it_once() {
    let script = Script::saying(".", b"250 ok\r\n", Then::Late(Duration::from_secs(599)));
    let (sent, received) = sent_to_silent(script).await;
    assert_eq!(sent, Ok(()));
    assert_eq!(received.messages.len(), 1, "{received:?}");
    // Nor does another node take the email meanwhile.
    assert!(lease_ms(Channel::Mail) > 2 * 600_000);
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
        tls: Some(authority.acceptor("127.0.0.1")),
        ..Script::default()
    };
    let starttls = Script {
        starttls: Some(authority.acceptor("127.0.0.1")),
        ..Script::default()
    };
    for (script, security, trusted, is_sent) in [
        (&tls, Tls, true, true),
        (&tls, Tls, false, false),
        (&plain, StartTls, true, false),
        (&starttls, StartTls, true, true),
        (&starttls, StartTls, false, false),
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
