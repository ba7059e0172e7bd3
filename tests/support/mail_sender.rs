//! A relay that records what it takes.

use async_trait::async_trait;
use landing_api::domain::EmailAddress;
use landing_api::domain::mail::Letter;
use landing_api::ports::{MailError, MailSender};

use super::record::Record;

/// Records recipients and messages.
pub(crate) type ScriptedMailSender = Record<(String, String), MailError>;

#[async_trait]
impl MailSender for ScriptedMailSender {
    fn write(&self, letter: &Letter) -> Result<String, MailError> {
        let leave = letter.leave_url.as_deref().unwrap_or_default();
        let content = &letter.content;
        Ok([&*content.subject, &content.text, &content.html, leave].join("\n"))
    }

    async fn send(&self, to: &EmailAddress, message: &str) -> Result<(), MailError> {
        self.take((to.as_str().to_owned(), message.to_owned()))
    }
}
