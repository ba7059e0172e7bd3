//! [`ModelClient`] over the chat completions API of OpenAI, which many servers speak.
//!
//! | Module | Contents |
//! |---|---|
//! | `request` | the model and the key, the system prompt, the question with its history |
//! | `round` | a request and its answer, under a deadline and size limits |
//! | `events` | the events of a body |
//! | `collector` | assembling the answer from completions |
//! | `think_tags` | cutting off the thinking |
//! | `failure` | errors, and who pays for the turn |
//! | `breaker` | the circuit breaker |

mod breaker;
mod collector;
mod events;
mod failure;
mod request;
mod round;
mod think_tags;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::adapters::outbound::{self, HttpClient};
use crate::domain::Conversation;
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelPermit, ModelReply};

use breaker::{Breaker, Verdict};
use failure::{Remedy, paid, unusable};
use request::{last_question, question_with_history, request_body};
use round::Round;

pub use crate::adapters::outbound::Roots;
pub use request::{OpenAiSettings, bearer_token, chat_completions, page_prompt};

/// Answers with a model on another server.
#[derive(Debug)]
pub struct OpenAiModelClient {
    /// Model and server, for the operator.
    name: String,
    settings: OpenAiSettings,
    http: HttpClient,
    /// The model does not accept the role `system`.
    joins_prompt: AtomicBool,
    permits: Arc<Semaphore>,
    breaker: Breaker,
    interrupt: CancellationToken,
}

impl OpenAiModelClient {
    /// A client that trusts the certificate authorities in `roots`. Once `interrupt` is cancelled, turns that
    /// wait for the upstream fail at once.
    pub fn new(settings: OpenAiSettings, roots: Roots, interrupt: CancellationToken) -> Self {
        let host = settings.address.host().unwrap_or_default();
        Self {
            name: format!("{} at {host}", settings.model),
            http: outbound::client(roots, settings.concurrency),
            joins_prompt: AtomicBool::default(),
            permits: Arc::new(Semaphore::new(settings.concurrency)),
            breaker: Breaker::default(),
            settings,
            interrupt,
        }
    }

    /// Number of free permits.
    pub fn permits_free(&self) -> usize {
        self.permits.available_permits()
    }
}

fn not_started(cause: &str) -> ModelError {
    ModelError::NotStarted(cause.to_owned())
}

const BREAKER_OPEN: &str = "the breaker is open: the upstream failed a moment ago";

#[async_trait]
impl ModelClient for OpenAiModelClient {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_metered(&self) -> bool {
        true
    }

    fn is_paused(&self) -> bool {
        self.breaker.is_open()
    }

    fn turns_max(&self) -> Option<usize> {
        Some(self.settings.concurrency)
    }

    /// Also refuses while the breaker is open: an outage must not use up the limit of a network, which is not
    /// refunded.
    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        if self.breaker.is_open() {
            return Err(not_started(BREAKER_OPEN));
        }
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let full = |_full| not_started("the limit of concurrent turns is reached");
        Ok(Box::new(permit.map_err(full)?))
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        if self.interrupt.is_cancelled() {
            return Err(not_started("the service is stopping"));
        }
        let Some(began) = self.breaker.admit() else {
            return Err(not_started(BREAKER_OPEN));
        };
        let last = last_question(conversation);
        let mut question = Cow::Owned(question_with_history(conversation));
        let mut joins_prompt = self.joins_prompt.load(Relaxed);
        // If the model does not accept the history, or a message of the role `system`, it is asked again without it.
        loop {
            let body = request_body(&self.settings, &question, joins_prompt, sink.is_some());
            let mut round = Round::new(&self.settings, sink, &self.breaker, began);
            let outcome = tokio::select! {
                // An answer that has already arrived is delivered.
                biased;
                outcome = round.ask(&self.http, body) => outcome,
                () = self.interrupt.cancelled() => {
                    Err(unusable("interrupted because the service is stopping").into())
                }
            };
            let Err(failure) = outcome else {
                self.breaker.report(began, Verdict::Alive);
                self.joins_prompt.store(joins_prompt, Relaxed);
                return Ok(round.collector.text.into());
            };
            match failure.remedy.filter(|_| round.pushed == 0) {
                Some(Remedy::LessHistory) if question != last => question = last.into(),
                Some(Remedy::JoinedPrompt) if !joins_prompt => joins_prompt = true,
                _ => {
                    self.breaker.report(began, failure.verdict);
                    let error = failure.error;
                    return Err(if round.pushed > 0 { paid(error) } else { error });
                }
            }
        }
    }
}
