//! A relay that records what it takes.

use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use landing_api::domain::EmailAddress;
use landing_api::domain::mail::Letter;
use landing_api::ports::{MailError, MailSender};

use super::lock;

/// Takes every mail, but for those that it was told to answer otherwise.
#[derive(Debug, Default)]
pub(crate) struct ScriptedMailSender {
    taken: Mutex<Vec<(String, String)>>,
    errors: Mutex<VecDeque<MailError>>,
}

impl ScriptedMailSender {
    /// Answers the next mails with these errors.
    pub(crate) fn fail_with(&self, errors: impl IntoIterator<Item = MailError>) {
        lock(&self.errors).extend(errors);
    }

    /// The recipients of what it took so far, and what that was, oldest first.
    pub(crate) fn taken(&self) -> Vec<(String, String)> {
        lock(&self.taken).clone()
    }
}

#[async_trait]
impl MailSender for ScriptedMailSender {
    fn write(&self, letter: &Letter) -> Result<String, MailError> {
        let leave = letter.leave_url.as_deref().unwrap_or_default();
        let content = &letter.content;
        Ok([&*content.subject, &content.text, &content.html, leave].join("\n"))
    }

    async fn send(&self, to: &EmailAddress, message: &str) -> Result<(), MailError> {
        if let Some(error) = lock(&self.errors).pop_front() {
            return Err(error);
        }
        lock(&self.taken).push((to.as_str().to_owned(), message.to_owned()));
        Ok(())
    }
}
