//! Mail that leaves the house.

use async_trait::async_trait;

use crate::domain::{Letter, Mail};

/// Sends mail: the operator's account with a relay.
#[async_trait]
pub trait MailSender: Send + Sync {
    /// Gives a letter the form in which it is sent.
    ///
    /// # Errors
    /// [`MailError::Refused`] when it has none.
    fn write(&self, letter: &Letter) -> Result<Mail, MailError>;

    /// `Ok` means that the relay has accepted it, which may take twenty minutes. After an error it may have it
    /// nonetheless: its answer can be lost.
    async fn send(&self, mail: &Mail) -> Result<(), MailError>;
}

/// The relay did not take a mail. The text is for the operator, and holds no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// It may take it later: it did not answer in time, or it went away.
    #[error("not accepted yet: {0}")]
    Later(String),
    /// It will never take this one.
    #[error("refused: {0}")]
    Refused(String),
    /// A refusal from RCPT on that does not tell the recipient's fault from the account's: for now (4xx), or for good
    /// (5xx) without an enhanced code (RFC 3463) that does.
    #[error("refused: {error}")]
    Unclear {
        /// The reply code.
        code: u16,
        /// The relay's words, with the code.
        error: String,
    },
    /// Refused from RCPT on with a code of the account's, such as 5.7.1: every other mail fails as well, unless the
    /// relay accepts some.
    #[error("refused: {0}")]
    Denied(String),
    /// The account, the relay or TLS is at fault, and so every other mail would fail as well.
    #[error("the account cannot be used: {0}")]
    Account(String),
}
