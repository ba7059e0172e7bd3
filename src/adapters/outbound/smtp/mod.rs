//! [`MailSender`] over SMTP (RFC 5321): submission with TLS (RFC 8314) through the operator's account at a
//! relay.
//!
//! A connection is opened for each email and ends with it. The client is our own: existing ones misread
//! replies that are not UTF-8, read lines without a limit, or have one deadline for all steps. It needs no
//! extensions except STARTTLS and AUTH: addresses and messages are ASCII with short lines.

mod blame;
mod connection;
mod reply;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::domain::{EmailAddress, Letter, Relay, RelaySecurity, Sender};
use crate::ports::{MailError, MailSender};

use self::blame::Fault;
use self::connection::{Connection, Tls};

use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::{Roots, connect};

/// Longest wait for the relay after it has accepted an email.
const QUIT_DEADLINE: Duration = Duration::from_secs(2);

/// The relay and the sender.
#[derive(Clone, Debug)]
pub struct SmtpSettings {
    /// The relay.
    pub relay: Relay,
    /// Password of the relay's user.
    pub password_file: Option<PasswordFile>,
    /// The sender.
    pub sender: Sender,
}

/// Sends email through one relay.
pub struct SmtpMailSender {
    settings: SmtpSettings,
    tls: Tls,
    /// Its domain is the service's name in EHLO: relays identify the machine by its IP address.
    from: Address,
}

impl SmtpMailSender {
    /// Prepares to send with these settings. Does not connect.
    ///
    /// # Errors
    /// The reason why the settings cannot work.
    pub fn open(settings: SmtpSettings, roots: Roots) -> Result<Self, String> {
        let host = settings.relay.host.trim_end_matches('.').to_owned();
        let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
        let from = address(&settings.sender.address)?;
        Ok(Self {
            tls: (Arc::new(roots.tls()).into(), name),
            settings,
            from,
        })
    }

    /// Connects and logs in.
    ///
    /// # Errors
    /// [`MailError::Account`].
    pub async fn check(&self) -> Result<(), MailError> {
        end(self.connect().await?).await;
        Ok(())
    }

    async fn connect(&self) -> Result<Connection, Fault> {
        let relay = &self.settings.relay;
        let stream = connect(&relay.host, relay.port).await;
        let stream = stream.map_err(|error| Fault::new(format!("cannot connect: {error}")))?;
        let mut connection = Connection::over(stream);
        if relay.security == RelaySecurity::Tls {
            connection = connection.secured(&self.tls).await?;
        }
        connection.greeting().await?;
        let ehlo = format!("EHLO {}", self.from.domain());
        let mut hello = connection.command(&ehlo, 2).await?;
        if relay.security == RelaySecurity::StartTls {
            if hello.extension("STARTTLS").is_none() {
                let why = "the relay does not offer STARTTLS, and nothing is sent without TLS";
                return Err(Fault::new(why));
            }
            connection.command("STARTTLS", 2).await?;
            connection = connection.secured(&self.tls).await?;
            hello = connection.command(&ehlo, 2).await?;
        }
        if let (Some(user), Some(password_file)) = (&relay.user, &self.settings.password_file) {
            let password = password_file.read().await.map_err(Fault::new)?;
            connection.log_in(&hello, user, &password).await?;
        }
        Ok(connection)
    }
}

#[async_trait]
impl MailSender for SmtpMailSender {
    fn write(&self, letter: &Letter) -> Result<String, MailError> {
        written(letter, &self.settings.sender).map_err(MailError::Refused)
    }

    async fn send(&self, to: &EmailAddress, message: &str) -> Result<(), MailError> {
        // The relay has rejected nobody.
        let to = address(to).map_err(MailError::Later)?;
        let mut connection = self.connect().await?;
        let sender = format!("MAIL FROM:<{}>", self.from);
        connection.command(&sender, 2).await?;
        for (line, expected) in [(&*format!("RCPT TO:<{to}>"), 2), ("DATA", 3)] {
            let answered = connection.command(line, expected).await;
            answered.map_err(|fault| fault.blame(to.user(), false))?;
        }
        let taken = connection.message(message).await;
        taken.map_err(|fault| fault.blame(to.user(), true))?;
        // It has been accepted, whatever the relay says now.
        end(connection).await;
        Ok(())
    }
}

async fn end(mut connection: Connection) {
    let _ = timeout(QUIT_DEADLINE, connection.command("QUIT", 2)).await;
}

/// The email with this content (RFC 5322, MIME).
fn written(letter: &Letter, sender: &Sender) -> Result<String, String> {
    let content = &letter.content;
    let from = address(&sender.address)?;
    let id = u128::from_be_bytes(letter.id);
    let id = format!("<{id:032x}@{}>", from.domain());
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(letter.at.as_ms());
    // They tell auto-responders that no human wrote it (RFC 3834, section 5), and offer one-click unsubscribing (RFC 2369,
    // RFC 8058).
    let header = |name, value: &str| {
        HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
    };
    let mut message = Message::builder()
        .from(Mailbox::new(sender.name.clone(), from))
        .to(Mailbox::new(None, address(&letter.to)?))
        .subject(&content.subject)
        .date(at)
        .message_id(Some(id))
        .raw_header(header("Auto-Submitted", "auto-generated"));
    if let Some(url) = &letter.leave_url {
        let post = header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
        message = message
            .raw_header(header("List-Unsubscribe", &format!("<{url}>")))
            .raw_header(post);
    }
    let body = MultiPart::alternative_plain_html(content.text.clone(), content.html.clone());
    let message = message.multipart(body).map_err(|error| error.to_string())?;
    String::from_utf8(message.formatted()).map_err(|error| error.to_string())
}

fn address(address: &EmailAddress) -> Result<Address, String> {
    // No difference between the two grammars is known.
    let parsed = address.as_str().parse();
    parsed.map_err(|_wrong| "email cannot be sent to this address".to_owned())
}
