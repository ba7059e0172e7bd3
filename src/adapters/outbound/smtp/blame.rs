//! Failures of a relay: their words, and the blame for an email that it does not accept: account, recipient or
//! temporary.

use std::io::{self, ErrorKind};

use crate::domain::quoted;
use crate::ports::MailError;

use super::reply::Reply;

/// A failure of the relay.
#[derive(Debug)]
pub(super) struct Fault {
    /// The cause in our words, which the relay's follow.
    cause: String,
    /// The relay's reply, if it replied; without a code if it sent something that is not a reply.
    reply: Option<Reply>,
}

impl Fault {
    /// A connection or a relay that cannot be used.
    pub(super) fn new(cause: impl Into<String>) -> Self {
        let (cause, reply) = (cause.into(), None);
        Self { cause, reply }
    }

    /// An unexpected reply.
    pub(super) fn of_reply(reply: Reply) -> Self {
        let cause = format!("the relay replied {}", reply.code);
        let reply = Some(reply);
        Self { cause, reply }
    }

    /// Bytes that are not a reply.
    pub(super) fn of_garbage(why: &str, text: Vec<u8>) -> Self {
        let (cause, reply) = (format!("{why}:"), Some(Reply { code: 0, text }));
        Self { cause, reply }
    }

    /// One line for the operator, without addresses and `name` ([`quoted`]).
    pub(super) fn words(&self, name: Option<&str>) -> String {
        let reply = self.reply.as_ref();
        let words = reply.map(|reply| quoted(&reply.text, name));
        let words = format!("{} {}", self.cause, words.unwrap_or_default());
        words.trim_end().to_owned()
    }

    /// The error of an email to a mailbox with this `name`, from the recipient's address on. Once it is sent whole, it
    /// may have been accepted: no error may cause endless retries.
    pub(super) fn blame(&self, name: &str, is_sent: bool) -> MailError {
        let words = self.words(Some(name));
        let Some(reply) = &self.reply else {
            return MailError::Later(words);
        };
        let code = reply.code;
        match (code, reply.status()) {
            // The service is closing, unless the message itself made it fail.
            (421, _) if !is_sent => unclear(None, words),
            // This address or mailbox, temporarily; 1.0, 1.7 and 1.8 concern the sender.
            (400..=499, Some((1, 1..=6 | 9 | 10) | (2, _))) if !is_sent => MailError::Later(words),
            (400..=499, _) => unclear(Some(code), words),
            // A reply to another command, or none.
            (..=399 | 600.., _) if is_sent => MailError::Later(words),
            (..=399 | 600.., _) => unclear(None, words),
            // The sender's address (RFC 3463), and Exchange's daily limit and SendAsDenied.
            (_, Some((1, 7 | 8 | 90) | (2, 252))) => unclear(None, words),
            // Mailbox or domain has a new owner (RFC 7293).
            (_, Some((7, 17 | 18))) => MailError::Refused(words),
            // The address. Postfix uses 5.1.0 for senders, Cisco for recipients.
            (_, Some((1, 1..))) => MailError::Refused(words),
            // The mailbox, or after the message was sent, the message: all emails have the same content.
            (_, Some((2, _))) if !is_sent => MailError::Refused(words),
            // System, routing, protocol, policy.
            (_, Some((3 | 4 | 5 | 7, _))) => unclear(None, words),
            // Unknown command, no email accepted here (RFC 7504), or login required (RFC 4954).
            (500 | 502..=504 | 521 | 530..=538, _) => unclear(None, words),
            (500..=599, _) => unclear(Some(code), words),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::UnexpectedEof {
            return Self::new("the relay closed the connection");
        }
        Self::new(error.to_string())
    }
}

/// Before the recipient's address every other email would fail as well.
impl From<Fault> for MailError {
    fn from(fault: Fault) -> Self {
        Self::Account(fault.words(None))
    }
}

const fn unclear(code: Option<u16>, error: String) -> MailError {
    MailError::Unclear { code, error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Kind {
        Account,
        Denied,
        Later,
        Refused,
        Unclear,
    }

    fn kind(error: &MailError) -> Kind {
        match error {
            MailError::Account(_) => Kind::Account,
            MailError::Unclear { code: None, .. } => Kind::Denied,
            MailError::Later(_) => Kind::Later,
            MailError::Refused(_) => Kind::Refused,
            MailError::Unclear { .. } => Kind::Unclear,
        }
    }

    fn blamed(reply: &str, is_sent: bool) -> Kind {
        let mut read = Reply::default();
        assert_eq!(read.push(reply.as_bytes()), Some(true));
        kind(&Fault::of_reply(read).blame("ada", is_sent))
    }

    #[test]
    fn an_answer_concerns_recipient_account_or_moment() {
        use Kind::{Denied, Later, Refused, Unclear};
        for (reply, from_rcpt, after_dot) in [
            ("550 5.1.1 nobody", Refused, Refused),
            ("550 5.1.2 no such domain", Refused, Refused),
            ("501 5.1.3 bad address", Refused, Refused),
            ("550 5.1.6 moved", Refused, Refused),
            ("556 5.1.10 null MX", Refused, Refused),
            ("550 4.1.1 of two minds", Refused, Refused),
            ("550 5.1.0 rejected", Unclear, Unclear),
            ("553 5.1.7 bad sender", Denied, Denied),
            ("550 5.1.8 sender's domain not found", Denied, Denied),
            ("550 5.1.90 daily limit", Denied, Denied),
            ("550 5.2.1 disabled", Refused, Unclear),
            ("552 5.2.2 full", Refused, Unclear),
            ("552 5.2.3 too large", Refused, Unclear),
            ("554 5.2.252 SendAsDenied", Denied, Denied),
            ("550 5.3.0 system", Denied, Denied),
            ("552 5.3.4 too big", Denied, Denied),
            ("550 5.4.5 daily limit", Denied, Denied),
            ("550 5.4.1 no answer from host", Denied, Denied),
            ("503 5.5.1 not now", Denied, Denied),
            ("554 5.6.0 content", Unclear, Unclear),
            ("553 5.7.1 sender rejected", Denied, Denied),
            ("550 5.7.26 no DMARC", Denied, Denied),
            ("530 5.7.0 authenticate first", Denied, Denied),
            ("550 5.7.17 new owner", Refused, Refused),
            ("554 5.0.0 failed", Unclear, Unclear),
            ("554 5.9.9 unheard of", Unclear, Unclear),
            ("550 2.1.5 of two minds", Refused, Refused),
            ("550 no", Unclear, Unclear),
            ("550", Unclear, Unclear),
            ("551 elsewhere", Unclear, Unclear),
            ("552 full", Unclear, Unclear),
            ("553 no", Unclear, Unclear),
            ("554 no valid recipients", Unclear, Unclear),
            ("501 syntax", Unclear, Unclear),
            ("500 unknown", Denied, Denied),
            ("502 not implemented", Denied, Denied),
            ("503 bad sequence", Denied, Denied),
            ("521 no mail here", Denied, Denied),
            ("530 log in", Denied, Denied),
            ("535 no", Denied, Denied),
            ("450 4.7.1 greylisted", Unclear, Unclear),
            ("450 5.1.1 of two minds", Later, Unclear),
            ("450 4.1.2 domain not found", Later, Unclear),
            ("450 4.1.8 sender's domain not found", Unclear, Unclear),
            ("450 4.2.0 greylisted", Later, Unclear),
            ("451 4.7.1 quota", Unclear, Unclear),
            ("452 4.2.2 full", Later, Unclear),
            ("421 4.3.2 closing", Denied, Unclear),
            ("250 ok", Denied, Later),
            ("354 go on", Denied, Later),
            ("150 hm", Denied, Later),
        ] {
            assert_eq!(blamed(reply, false), from_rcpt, "{reply}");
            assert_eq!(blamed(reply, true), after_dot, "{reply}");
        }
    }

    #[test]
    fn a_connection_that_fails_is_the_accounts_until_a_recipient_is_named() {
        use Kind::{Account, Denied, Later};
        for (fault, from_rcpt, after_dot) in [
            (Fault::of_garbage("no reply", b"x".to_vec()), Denied, Later),
            (Fault::new("reset"), Later, Later),
        ] {
            assert_eq!(kind(&fault.blame("ada", false)), from_rcpt, "{fault:?}");
            assert_eq!(kind(&fault.blame("ada", true)), after_dot, "{fault:?}");
            assert_eq!(kind(&fault.into()), Account);
        }
    }
}
