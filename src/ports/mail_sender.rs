//! Outgoing email.

use async_trait::async_trait;

use crate::domain::{Letter, Mail};

/// Sends email through the operator's account at a relay.
#[async_trait]
pub trait MailSender: Send + Sync {
    /// Renders a letter as the message that is sent.
    ///
    /// [`MailError::Refused`] if it cannot be rendered.
    /// [`MailError::Refused`] when it has none.
    fn write(&self, letter: &Letter) -> Result<Mail, MailError>;

    /// `Ok` means that the relay has accepted it, which may take twenty minutes. After an error the relay may
    /// still have accepted it: its reply can be lost.
    async fn send(&self, mail: &Mail) -> Result<(), MailError>;
}

/// The relay did not accept an email. The text is for the operator and contains no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// A later attempt may succeed: the relay did not reply in time, or it closed the connection.
    #[error("not accepted yet: {0}")]
    Later(String),
    /// The relay will never accept this email.
    #[error("refused: {0}")]
    Refused(String),
    /// A refusal from RCPT on that leaves open whether the recipient or the account is at fault: for now (4xx), or
    /// for good (5xx) without an enhanced code (RFC 3463) that says so.
    #[error("refused: {error}")]
    Unclear {
        /// The reply code.
        code: u16,
        /// The relay's words, with the code.
        error: String,
    },
    /// Refused from RCPT on with a code that blames the account, such as 5.7.1: every other email fails as well,
    /// unless the relay accepts some.
    #[error("refused: {0}")]
    Denied(String),
    /// The account, the relay or TLS is at fault, so every other email would fail as well.
    #[error("the account cannot be used: {0}")]
    Account(String),
}
