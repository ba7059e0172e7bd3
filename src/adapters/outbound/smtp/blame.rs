//! Blame for an email that the relay does not accept: account, recipient or temporary.

use crate::ports::MailError;

use super::connection::Fault;

/// The last step of an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Before the recipient was sent: every other email would fail as well.
    Before,
    /// The relay was asked to accept the recipient, or for the go-ahead.
    Recipient,
    /// The whole email was sent and may have been accepted: no error may cause endless retries.
    Sent,
}

/// The error of an email to a mailbox with this `name`.
pub(super) fn blame(fault: &Fault, step: Step, name: Option<&str>) -> MailError {
    let words = fault.words(name);
    let (code, status) = match (fault, step) {
        (Fault::Unusable(_), _) | (_, Step::Before) => return MailError::Account(words),
        (Fault::Answer(reply), _) => (reply.code, reply.status()),
        (Fault::Garbled(..), Step::Recipient) => return unclear(None, words),
        (Fault::Garbled(..), Step::Sent) | (Fault::Lost(_), _) => return MailError::Later(words),
    };
    match (code, status) {
        // The service is closing, unless the message itself made it fail.
        (421, _) if step == Step::Recipient => unclear(None, words),
        // This address or mailbox, temporarily; 1.0, 1.7 and 1.8 concern the sender.
        (400..=499, Some((1, 1..=6 | 9 | 10) | (2, _))) if step == Step::Recipient => {
            MailError::Later(words)
        }
        (400..=499, _) => unclear(Some(code), words),
        // A reply to another command.
        (..=399 | 600.., _) if step == Step::Sent => MailError::Later(words),
        (..=399 | 600.., _) => unclear(None, words),
        // The sender's address (RFC 3463), and Exchange's daily limit and SendAsDenied.
        (_, Some((1, 7 | 8 | 90) | (2, 252))) => unclear(None, words),
        // Mailbox or domain has a new owner (RFC 7293).
        (_, Some((7, 17 | 18))) => MailError::Refused(words),
        // The address. Postfix uses 5.1.0 for senders, Cisco for recipients.
        (_, Some((1, 1..))) => MailError::Refused(words),
        // The mailbox, or after the message was sent, the message: all emails have the same content.
        (_, Some((2, _))) if step == Step::Recipient => MailError::Refused(words),
        // System, routing, protocol, policy.
        (_, Some((3 | 4 | 5 | 7, _))) => unclear(None, words),
        // Unknown command, no email accepted here (RFC 7504), or login required (RFC 4954).
        (500 | 502..=504 | 521 | 530..=538, _) => unclear(None, words),
        (500..=599, _) => unclear(Some(code), words),
    }
}

const fn unclear(code: Option<u16>, error: String) -> MailError {
    MailError::Unclear { code, error }
}

#[cfg(test)]
mod tests {
    use super::super::reply::Reply;
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

    fn blamed(reply: &str, step: Step) -> Kind {
        let mut read = Reply::default();
        assert_eq!(read.push(reply.as_bytes()), Some(true));
        kind(&blame(&Fault::Answer(read), step, None))
    }

    #[test]
    fn an_answer_concerns_recipient_account_or_moment() {
        use Kind::{Account, Denied, Later, Refused, Unclear};
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
            assert_eq!(blamed(reply, Step::Before), Account, "{reply}");
            assert_eq!(blamed(reply, Step::Recipient), from_rcpt, "{reply}");
            assert_eq!(blamed(reply, Step::Sent), after_dot, "{reply}");
        }
    }

    #[test]
    fn a_connection_that_fails_is_the_accounts_until_a_recipient_is_named() {
        use Kind::{Account, Denied, Later};
        for (fault, expected) in [
            (
                Fault::Unusable("file".to_owned()),
                [Account, Account, Account],
            ),
            (
                Fault::Garbled("no reply", b"x".to_vec()),
                [Account, Denied, Later],
            ),
            (Fault::Lost("reset".to_owned()), [Account, Later, Later]),
        ] {
            for (step, kind_of) in [Step::Before, Step::Recipient, Step::Sent]
                .iter()
                .zip(expected)
            {
                assert_eq!(
                    kind(&blame(&fault, *step, None)),
                    kind_of,
                    "{fault:?} {step:?}"
                );
            }
        }
    }
}
