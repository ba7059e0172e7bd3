//! [`MailSender`] over SMTP (RFC 5321): the operator's account with a relay, by submission with TLS
//! (RFC 8314).
//!
//! A connection is made for each mail and ends with it. What went wrong before a recipient was named concerns
//! the account, and so every other mail; what came after concerns this one.

mod message;

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use lettre::Address;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Certificate, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail as MailFrom, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use tokio::time::timeout;

use crate::domain::{EmailAddress, Letter, Mail, Relay, RelaySecurity, Sender};
use crate::ports::{MailError, MailSender};

use super::operator_file::PasswordFile;
use super::outbound::{Certificates, root_cause};

/// The deadline of a mail: DNS, TCP, TLS, the log-in and each answer.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// How long the relay is waited for once it has taken a mail.
const QUIT_DEADLINE: Duration = Duration::from_secs(2);

/// How much of a relay's words is repeated, in characters.
const WORDS_MAX: usize = 200;

/// Where mail goes, and from whom.
#[derive(Clone, Debug)]
pub struct SmtpSettings {
    /// The relay.
    pub relay: Relay,
    /// The password of its user.
    pub password_file: Option<PasswordFile>,
    /// The sender.
    pub sender: Sender,
}

/// Sends mail by one relay.
pub struct SmtpMailSender {
    settings: SmtpSettings,
    tls: Option<TlsParameters>,
    from: Address,
    /// How the service calls itself: the sender's domain, because a relay knows the machine by its address.
    hello: ClientId,
}

impl SmtpMailSender {
    /// Prepares to send by these settings. Connects to nothing. The certificate authorities are the system's,
    /// or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, and `more`.
    ///
    /// # Errors
    /// Why mail cannot be sent so, in words.
    pub fn open(settings: SmtpSettings, more: Certificates) -> Result<Self, String> {
        let tls = match settings.relay.security {
            RelaySecurity::Clear => None,
            RelaySecurity::Tls | RelaySecurity::StartTls => {
                let tls = tls(&settings.relay.host, more);
                Some(tls.map_err(|error| format!("TLS cannot be set up: {error}"))?)
            }
        };
        let from = message::address(&settings.sender.address)?;
        Ok(Self {
            hello: ClientId::Domain(from.domain().to_owned()),
            settings,
            tls,
            from,
        })
    }

    /// Connects and logs in.
    ///
    /// # Errors
    /// [`MailError::Account`], or [`MailError::Later`] when the relay does not answer in time.
    pub async fn check(&self) -> Result<(), MailError> {
        let mut connection = within_deadline(self.connect()).await?;
        let _ = timeout(QUIT_DEADLINE, connection.quit()).await;
        Ok(())
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, MailError> {
        let relay = &self.settings.relay;
        let tls_first = self
            .tls
            .clone()
            .filter(|_| relay.security == RelaySecurity::Tls);
        // The deadline is that of the whole mail.
        let server = (relay.host.as_str(), relay.port);
        let connected =
            AsyncSmtpConnection::connect_tokio1(server, None, &self.hello, tls_first, None);
        let mut connection = connected.await.map_err(account)?;
        if let (RelaySecurity::StartTls, Some(tls)) = (relay.security, self.tls.clone()) {
            if !connection.can_starttls() {
                let why = "the relay does not offer STARTTLS, and nothing is sent without TLS";
                return Err(MailError::Account(why.to_owned()));
            }
            connection
                .starttls(tls, &self.hello)
                .await
                .map_err(account)?;
        }
        if let (Some(user), Some(password_file)) = (&relay.user, &self.settings.password_file) {
            let password = password_file.read().await.map_err(MailError::Account)?;
            let credentials = Credentials::new(user.clone(), password);
            let logged_in = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
            logged_in.map_err(account)?;
        }
        Ok(connection)
    }

    /// Hands it over. The connection is returned, to be ended.
    async fn hand_over(&self, mail: &Mail) -> Result<AsyncSmtpConnection, MailError> {
        let to = message::address(&mail.to).map_err(MailError::Refused)?;
        let mut connection = self.connect().await?;
        let from = MailFrom::new(Some(self.from.clone()), Vec::new());
        connection.command(from).await.map_err(account)?;
        let recipient = connection.command(Rcpt::new(to, Vec::new())).await;
        let of_mail = |error| of_mail(error, &mail.to);
        recipient.map_err(of_mail)?;
        connection.command(Data).await.map_err(of_mail)?;
        connection.message(&mail.message).await.map_err(of_mail)?;
        Ok(connection)
    }
}

#[async_trait]
impl MailSender for SmtpMailSender {
    fn write(&self, letter: &Letter) -> Result<Mail, MailError> {
        message::write(letter, &self.settings.sender).map_err(MailError::Refused)
    }

    async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let mut connection = within_deadline(self.hand_over(mail)).await?;
        // It has been taken, whatever the relay says now.
        let _ = timeout(QUIT_DEADLINE, connection.quit()).await;
        Ok(())
    }
}

fn tls(host: &str, more: Certificates) -> Result<TlsParameters, SmtpError> {
    let mut tls = TlsParameters::builder(host.to_owned());
    for certificate in more {
        tls = tls.add_root_certificate(Certificate::from_der(certificate.to_vec())?);
    }
    tls.build()
}

async fn within_deadline<T>(
    work: impl Future<Output = Result<T, MailError>>,
) -> Result<T, MailError> {
    timeout(DEADLINE, work).await.unwrap_or_else(|_elapsed| {
        let seconds = DEADLINE.as_secs();
        Err(MailError::Later(format!(
            "no answer within {seconds} seconds"
        )))
    })
}

/// What went wrong before a recipient was named. Only what the relay calls temporary is no matter of the
/// account.
fn account(error: SmtpError) -> MailError {
    let words = in_words(&error, None);
    match error.is_transient() {
        true => MailError::Later(words),
        false => MailError::Account(words),
    }
}

/// What went wrong with the mail to `to`.
fn of_mail(error: SmtpError, to: &EmailAddress) -> MailError {
    let words = in_words(&error, Some(to));
    match error.is_permanent() {
        true => MailError::Refused(words),
        false => MailError::Later(words),
    }
}

/// An error in a line without addresses, which relays like to repeat, some of them without the recipient's domain.
fn in_words(error: &SmtpError, to: Option<&EmailAddress>) -> String {
    let Some(code) = error.status() else {
        return error.source().map_or_else(|| error.to_string(), root_cause);
    };
    let words = error.source().map(ToString::to_string).unwrap_or_default();
    let is_plain = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = words.chars().map(is_plain).collect();
    let name = to.and_then(|to| Some(to.as_str().rsplit_once('@')?.0));
    let is_name = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        name.is_some_and(|name| word.eq_ignore_ascii_case(name))
    };
    let without_addresses = |word| {
        if str::contains(word, '@') || is_name(word) {
            "(address)"
        } else {
            word
        }
    };
    let words: Vec<_> = words.split_whitespace().map(without_addresses).collect();
    let words: String = words.join(" ").chars().take(WORDS_MAX).collect();
    format!("the relay answered {code} {words}")
        .trim_end()
        .to_owned()
}
