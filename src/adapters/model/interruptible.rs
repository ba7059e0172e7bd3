//! A model that can be interrupted: when the service must end, a visitor who still waits is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::chat::Conversation;
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelPermit, SinkClosed};

/// Another client, until it is interrupted.
pub struct InterruptibleModelClient {
    model: Arc<dyn ModelClient>,
    interrupt: CancellationToken,
}

impl InterruptibleModelClient {
    /// `model`, until `interrupt` is cancelled.
    #[must_use]
    pub fn new(model: Arc<dyn ModelClient>, interrupt: CancellationToken) -> Self {
        Self { model, interrupt }
    }
}

impl std::fmt::Debug for InterruptibleModelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InterruptibleModelClient(..)")
    }
}

#[async_trait]
impl ModelClient for InterruptibleModelClient {
    fn is_metered(&self) -> bool {
        self.model.is_metered()
    }

    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        self.model.reserve()
    }

    /// The visitor gets an interrupted turn back unless some of the answer was read, as with an
    /// answer of no use: the model may have worked on it, which is not the visitor's fault.
    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<String, ModelError> {
        if self.interrupt.is_cancelled() {
            return Err(ModelError::NotStarted("the service stops".to_owned()));
        }
        let watched = Watched {
            sink,
            was_read: AtomicBool::new(false),
        };
        tokio::select! {
            // An answer that is there is given.
            biased;
            reply = self.model.reply(conversation, &watched) => reply,
            () = self.interrupt.cancelled() => {
                let cause = "interrupted, as the service stops".to_owned();
                Err(if watched.was_read.load(Ordering::Relaxed) {
                    ModelError::Started(cause)
                } else {
                    ModelError::Unusable(cause)
                })
            }
        }
    }
}

/// Remembers whether anybody has read a piece.
struct Watched<'a> {
    sink: &'a dyn AnswerSink,
    was_read: AtomicBool,
}

#[async_trait]
impl AnswerSink for Watched<'_> {
    fn is_streamed(&self) -> bool {
        self.sink.is_streamed()
    }

    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        self.was_read
            .fetch_or(self.is_streamed(), Ordering::Relaxed);
        self.sink.push(text).await
    }
}
