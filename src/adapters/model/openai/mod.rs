//! [`ModelClient`] over the chat completions API of OpenAI, which many servers speak.
//!
//! | Module | Contents |
//! |---|---|
//! | `prompt` | the request: system prompt, question, history |
//! | `upstream` | one HTTP exchange, under a deadline and size limits |
//! | `sse_parser` | parsing streams |
//! | `collector` | assembling the answer from completions, and streaming it |
//! | `think_tags` | cutting off the thinking |
//! | `failure` | errors, and who pays for the turn |
//! | `breaker` | the circuit breaker |

mod breaker;
mod collector;
mod failure;
mod prompt;
mod sse_parser;
mod think_tags;
mod upstream;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use hyper::Uri;
use hyper::header::HeaderValue;
use hyper::http::uri::InvalidUri;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapters::outbound;
use crate::domain::Conversation;
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelPermit, ModelReply};

use breaker::{Breaker, Pass, Verdict};
use collector::Collector;
use failure::{Remedy, TurnFailure};
use prompt::{last_question, messages, question_with_history};
use upstream::Upstream;

pub use crate::adapters::outbound::Roots;
pub use prompt::page_prompt;

/// The model and its endpoint.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// The endpoint.
    pub address: Uri,
    /// The model's name.
    pub model: String,
    /// The bearer token, if the upstream requires one.
    pub key: Option<BearerToken>,
    /// The first message of every request.
    pub system_prompt: String,
    /// Further fields of each request. Fields set by the service itself are overwritten.
    pub params: Vec<(String, Value)>,
    /// The server opens the model's thinking in its own prompt, so answers begin inside it.
    pub thinks_first: bool,
    /// Deadline of an answer.
    pub timeout: Duration,
    /// Limit of concurrent turns.
    pub concurrency: usize,
}

/// The address of the endpoint for chat completions below the base URL of the API, which is `http` or `https`
/// without a trailing slash.
///
/// # Errors
/// [`InvalidUri`] when it is not a URI. The text does not quote it: it may contain a secret.
pub fn chat_completions(base_url: &str) -> Result<Uri, InvalidUri> {
    format!("{base_url}/chat/completions").parse()
}

/// The bearer token of the operator's account. `Debug` does not reveal it.
#[derive(Clone, Debug)]
pub struct BearerToken(HeaderValue);

impl BearerToken {
    /// Parses a key without surrounding white space.
    ///
    /// # Errors
    /// When it is not a valid header value. The message does not quote it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const BAD: &str = "must contain one key: printable ASCII without spaces";
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BAD);
        }
        let value = HeaderValue::try_from(format!("Bearer {text}"));
        let mut value = value.map_err(|_error| BAD)?;
        // So that `Debug` omits the value.
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

/// Answers with a model on another server.
#[derive(Debug)]
pub struct OpenAiModelClient {
    /// Model and server, for the operator.
    name: String,
    upstream: Upstream,
    /// The members of every request, except the messages.
    members: Map<String, Value>,
    system_prompt: String,
    /// The model does not accept the role `system`.
    joins_prompt: AtomicBool,
    thinks_first: bool,
    timeout: Duration,
    permits: Arc<Semaphore>,
    permits_max: usize,
    breaker: Breaker,
    interrupt: CancellationToken,
}

impl OpenAiModelClient {
    /// A client that trusts the certificate authorities in `roots`. Once `interrupt` is cancelled, turns that
    /// wait for the upstream fail at once.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(
        settings: OpenAiSettings,
        roots: Roots,
        interrupt: CancellationToken,
    ) -> Result<Self, rustls::Error> {
        let mut members = Map::from_iter(settings.params);
        members.insert("model".to_owned(), settings.model.as_str().into());
        let host = settings.address.host().unwrap_or_default();
        Ok(Self {
            name: format!("{} at {host}", settings.model),
            upstream: Upstream {
                http: outbound::client(roots, settings.concurrency)?,
                uri: settings.address,
                authorization: settings.key.map(|key| key.0),
            },
            members,
            system_prompt: settings.system_prompt,
            joins_prompt: AtomicBool::default(),
            thinks_first: settings.thinks_first,
            timeout: settings.timeout,
            permits: Arc::new(Semaphore::new(settings.concurrency)),
            permits_max: settings.concurrency,
            breaker: Breaker::default(),
            interrupt,
        })
    }

    /// Number of free permits.
    pub fn permits_free(&self) -> usize {
        self.permits.available_permits()
    }

    /// Asks with the history and a message of the role `system`; if the model does not accept one of them, asks
    /// again without it.
    async fn ask(
        &self,
        conversation: &Conversation,
        collector: &mut Collector<'_>,
        pass: &Pass<'_>,
    ) -> Result<(), TurnFailure> {
        let mut question = Cow::Owned(question_with_history(conversation));
        let mut joins_prompt = self.joins_prompt.load(Relaxed);
        let last = last_question(conversation);
        loop {
            let is_streamed = collector.sink.is_streamed();
            let mut members = self.members.clone();
            let messages = messages(&self.system_prompt, &question, joins_prompt);
            members.insert("messages".to_owned(), messages);
            members.insert("stream".to_owned(), is_streamed.into());
            let body = Value::Object(members).to_string().into_bytes();
            let outcome = self.upstream.ask(body, collector, pass).await;
            match outcome.as_ref().map_err(|failure| failure.remedy) {
                Err(_) if collector.was_read() => return outcome,
                Err(Some(Remedy::LessHistory)) if question != last => question = last.into(),
                Err(Some(Remedy::JoinedPrompt)) if !joins_prompt => joins_prompt = true,
                Err(_) => return outcome,
                Ok(()) => {
                    self.joins_prompt.store(joins_prompt, Relaxed);
                    return outcome;
                }
            }
            *collector = Collector::new(collector.sink, self.thinks_first, collector.deadline);
        }
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
        Some(self.permits_max)
    }

    /// Also refuses while the breaker is open: an outage must not use up the limit of a network, which is not
    /// refunded.
    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        if self.breaker.is_open() {
            return Err(not_started(BREAKER_OPEN));
        }
        match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Ok(ModelPermit::held_by(permit)),
            Err(_full) => Err(not_started("the limit of concurrent turns is reached")),
        }
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<ModelReply, ModelError> {
        if self.interrupt.is_cancelled() {
            return Err(not_started("the service is stopping"));
        }
        let Some(pass) = self.breaker.admit() else {
            return Err(not_started(BREAKER_OPEN));
        };
        let deadline = Instant::now() + self.timeout;
        let mut collector = Collector::new(sink, self.thinks_first, deadline);
        let outcome = tokio::select! {
            // An answer that has already arrived is delivered.
            biased;
            outcome = self.ask(conversation, &mut collector, &pass) => outcome,
            () = self.interrupt.cancelled() => {
                Err(TurnFailure::unusable("interrupted because the service is stopping"))
            }
        };
        match outcome {
            Ok(()) => {
                pass.report(Verdict::Alive);
                Ok(collector.into_reply().into())
            }
            Err(failure) => {
                pass.report(failure.verdict);
                Err(failure.into_error(collector.was_read()))
            }
        }
    }
}
