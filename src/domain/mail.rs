//! Emails sent by the service.

use super::email::EmailAddress;
use super::macros::hidden;
use super::text::Text;
use super::time::Timestamp;

/// Maximum length of a sender's name, in characters.
const NAME_LENGTH_MAX: usize = 100;

/// The operator's account with a mail relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// Host name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Protection of the connection.
    pub security: RelaySecurity,
    /// Account name, if the relay requires a login.
    pub user: Option<String>,
}

/// Protection of a connection to a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaySecurity {
    /// TLS from the first byte.
    Tls,
    /// TLS after `STARTTLS`; without it nothing is sent.
    StartTls,
    /// None: the relay is on this machine.
    Clear,
}

/// Sender of emails: an address, and optionally a display name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    /// Display name.
    pub name: Option<String>,
    /// The address.
    pub address: EmailAddress,
}

/// The fault of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be 'NAME <ADDRESS>' or an address such as news@example.com; the name has up to {NAME_LENGTH_MAX} \
     characters, none of them a control character"
)]
pub struct SenderError;

impl Sender {
    /// Parses `NAME <ADDRESS>` or an address alone.
    ///
    /// # Errors
    /// [`SenderError`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, SenderError> {
        let (name, address) = match text.strip_suffix('>') {
            Some(text) => text.rsplit_once('<').ok_or(SenderError)?,
            None => ("", text),
        };
        let name = name.trim().trim_matches('"');
        if name.contains(['<', '>']) {
            return Err(SenderError);
        }
        if !name.is_empty() {
            let parsed = Text::<NAME_LENGTH_MAX>::parse_name(name.to_owned());
            parsed.map_err(|_wrong| SenderError)?;
        }
        Ok(Self {
            name: (!name.is_empty()).then(|| name.to_owned()),
            address: EmailAddress::parse(address).map_err(|_wrong| SenderError)?,
        })
    }
}

/// An email's content, before it is encoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Letter {
    /// Recipient.
    pub to: EmailAddress,
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// When it was written.
    pub at: Timestamp,
    /// Identifies the email, so that relays and mailboxes recognise a second copy.
    pub id: [u8; 16],
    /// One-click unsubscribe URL (RFC 8058).
    pub leave_url: Option<String>,
}

/// An email's content in one language, except for its link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LetterTemplate {
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
}

impl LetterTemplate {
    /// Placeholder for the link in text and HTML.
    pub const LINK: &str = "https://link.invalid/";

    /// The letter with its link, which has no character special to HTML.
    pub fn fill(
        &self,
        to: EmailAddress,
        link: &str,
        leave_url: Option<String>,
        id: [u8; 16],
        at: Timestamp,
    ) -> Letter {
        Letter {
            to,
            subject: self.subject.clone(),
            text: self.text.replace(Self::LINK, link),
            html: self.html.replace(Self::LINK, link),
            at,
            id,
            leave_url,
        }
    }
}

/// An encoded email (RFC 5322), encoded once: each attempt sends the same bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// Recipient.
    pub to: EmailAddress,
    /// Header and body, with CRLF line endings.
    pub message: Vec<u8>,
}

hidden!(Letter, Mail);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        for (text, name, address) in [
            ("news@example.com", None, "news@example.com"),
            ("<news@example.com>", None, "news@example.com"),
            (
                "Ada & Co. <News@example.com>",
                Some("Ada & Co."),
                "news@example.com",
            ),
            (
                "\"Café, Köln\" <a@example.com>",
                Some("Café, Köln"),
                "a@example.com",
            ),
        ] {
            let sender = Sender::parse(text).unwrap();
            assert_eq!(sender.name.as_deref(), name, "{text}");
            assert_eq!(sender.address.as_str(), address, "{text}");
        }
    }

    #[test]
    fn what_is_no_sender_is_refused() {
        let long = format!("{} <a@example.com>", "n".repeat(101));
        for text in [
            "",
            "Ada",
            "Ada <>",
            "Ada <a@example.com",
            "Ada a@example.com",
            "Ada <a@example.com>, Eve <e@example.com>",
            "<Ada> <a@example.com>",
            "Ada\r\nBcc: e@example.com <a@example.com>",
            "Ada\u{2028}x <a@example.com>",
            &long,
        ] {
            assert_eq!(Sender::parse(text), Err(SenderError), "{text:?}");
        }
    }
}
