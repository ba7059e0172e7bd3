//! The format of an email (RFC 5322, MIME).

use std::time::{Duration, SystemTime};

use lettre::error::Error;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};

use crate::domain::{EmailAddress, Letter, Mail, Sender};

/// Tell auto-responders that no human wrote it (RFC 3834, section 5), and offer one-click unsubscribing
/// (RFC 2369, RFC 8058).
const AUTO_SUBMITTED: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");
const LIST_UNSUBSCRIBE: HeaderName = HeaderName::new_from_ascii_str("List-Unsubscribe");
const LIST_UNSUBSCRIBE_POST: HeaderName = HeaderName::new_from_ascii_str("List-Unsubscribe-Post");

pub(super) fn write(letter: &Letter, sender: &Sender) -> Result<Mail, String> {
    let in_words = |error: Error| error.to_string();
    let from = address(&sender.address)?;
    let id = u128::from_be_bytes(letter.id);
    let id = format!("<{id:032x}@{}>", from.domain());
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(letter.at.as_ms());
    let header = |name, value: &str| HeaderValue::new(name, value.to_owned());
    let mut message = Message::builder()
        .from(Mailbox::new(sender.name.clone(), from))
        .to(Mailbox::new(None, address(&letter.to)?))
        .subject(&letter.subject)
        .date(at)
        .message_id(Some(id))
        .raw_header(header(AUTO_SUBMITTED, "auto-generated"));
    if let Some(url) = &letter.leave_url {
        let post = header(LIST_UNSUBSCRIBE_POST, "List-Unsubscribe=One-Click");
        message = message
            .raw_header(header(LIST_UNSUBSCRIBE, &format!("<{url}>")))
            .raw_header(post);
    }
    let body = MultiPart::alternative_plain_html(letter.text.clone(), letter.html.clone());
    let message = message.multipart(body).map_err(in_words)?;
    Ok(Mail {
        to: letter.to.clone(),
        message: message.formatted(),
    })
}

pub(super) fn address(address: &EmailAddress) -> Result<Address, String> {
    // No difference between the two grammars is known.
    let parsed = address.as_str().parse();
    parsed.map_err(|_wrong| "email cannot be sent to this address".to_owned())
}
