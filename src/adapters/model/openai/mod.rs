//! A model behind the chat completions API that OpenAI began and many servers speak, each in its
//! own way.
//!
//! | Module | Holds |
//! |---|---|
//! | `request` | what is sent: the prompt, the question with what was said before |
//! | `exchange` | one request and what comes back, under a deadline and a cap |
//! | `events`, `answer`, `surrogates` | reading streams, completions, and characters cut in two |
//! | `thoughts`, `marks`, `habit` | what is thought aloud, and whether the model begins with it |
//! | `collector` | the answer as it comes together and is handed out |
//! | `upstream_error`, `retry_after` | errors in all their forms |
//! | `failure` | what went wrong, and who bears the turn |
//! | `breaker` | leaving an upstream alone that cannot answer |

mod answer;
mod breaker;
mod collector;
mod events;
mod exchange;
mod failure;
mod habit;
mod marks;
mod request;
mod retry_after;
mod surrogates;
mod thoughts;
mod upstream_error;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Uri;
use hyper::header::HeaderValue;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::domain::chat::Conversation;
use crate::ports::{AnswerSink, ModelClient, ModelError, ModelPermit};

use breaker::{Breaker, BreakerOpen, Finding, Pass};
use collector::Collector;
pub use collector::HAND_OUT_GRACE;
use exchange::Upstream;
use failure::{Failure, Kind};
use habit::Habit;
use request::{RESERVED_PARAMS, RequestMaker, last_question, question_with_history};

pub use crate::adapters::outbound::Roots;

use crate::adapters::outbound;
pub use request::page_prompt;

/// Where the model is and how it is asked.
#[derive(Clone, Debug)]
pub struct OpenAiSettings {
    /// Where the API is.
    pub address: ModelAddress,
    /// The model's name.
    pub model: String,
    /// The key sent as a bearer token, if the upstream wants one.
    pub key: Option<ApiKey>,
    /// What comes first in every conversation.
    pub system_prompt: String,
    /// Further members of each request.
    pub params: Vec<(String, Value)>,
    /// How long an answer may take, from first to last.
    pub timeout: Duration,
    /// Turns that are answered at once.
    pub concurrency: usize,
}

/// Where completions are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAddress(Uri);

impl ModelAddress {
    /// Takes the base of the API, `http` or `https`, without a slash at its end.
    ///
    /// # Errors
    /// [`BadModelAddress`] when it cannot be asked.
    pub fn parse(base_url: &str) -> Result<Self, BadModelAddress> {
        let uri: Uri = format!("{base_url}/chat/completions").parse()?;
        Ok(Self(uri))
    }
}

/// There is no asking at that address. The text does not repeat it: it may hold a secret.
#[derive(Debug, thiserror::Error)]
#[error("is no address that can be asked: {0}")]
pub struct BadModelAddress(#[from] hyper::http::uri::InvalidUri);

/// The key to the operator's account, as a bearer token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(HeaderValue);

impl ApiKey {
    /// Takes a key, blanks around it cut off.
    ///
    /// # Errors
    /// [`BadApiKey`] when it cannot stand in a header.
    pub fn parse(text: &str) -> Result<Self, BadApiKey> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadApiKey);
        }
        let mut value =
            HeaderValue::try_from(format!("Bearer {text}")).map_err(|_error| BadApiKey)?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// What is given as a key is none. The text does not repeat it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must hold one key: printable ASCII without blanks")]
pub struct BadApiKey;

/// The settings make no client.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiError {
    /// A parameter that is not the operator's to set.
    #[error("the parameter {0} is set by the service")]
    Reserved(String),
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// Answers with a model on another server.
#[derive(Debug)]
pub struct OpenAiModelClient {
    upstream: Upstream,
    maker: RequestMaker,
    timeout: Duration,
    places: Arc<Semaphore>,
    breaker: Breaker,
    habit: Habit,
}

impl OpenAiModelClient {
    /// A client that trusts `roots` to say who the upstream is.
    ///
    /// # Errors
    /// [`OpenAiError`] when the settings make no client.
    pub fn new(settings: OpenAiSettings, roots: Roots) -> Result<Self, OpenAiError> {
        let mut params = Map::new();
        for (name, value) in settings.params {
            if RESERVED_PARAMS.contains(&name.as_str()) {
                return Err(OpenAiError::Reserved(name));
            }
            params.insert(name, value);
        }
        Ok(Self {
            upstream: Upstream {
                http: outbound::client(roots, settings.concurrency)?,
                uri: settings.address.0,
                authorization: settings.key.map(|key| key.0),
            },
            maker: RequestMaker::new(settings.model, settings.system_prompt, params),
            timeout: settings.timeout,
            places: Arc::new(Semaphore::new(settings.concurrency)),
            breaker: Breaker::default(),
            habit: Habit::default(),
        })
    }

    /// How many more turns could be answered now.
    #[must_use]
    pub fn places_free(&self) -> usize {
        self.places.available_permits()
    }

    /// Asks for an answer to `question`.
    async fn ask(
        &self,
        question: &str,
        deadline: Instant,
        collector: &mut Collector<'_>,
        is_streamed: bool,
        pass: &mut Pass<'_>,
    ) -> Result<(), Failure> {
        let body = self
            .maker
            .body(question, is_streamed)
            .map_err(|error| Failure::unusable(format!("the request has no JSON form: {error}")))?;
        self.upstream
            .exchange(body, is_streamed, deadline, collector, pass)
            .await
    }
}

#[async_trait]
impl ModelClient for OpenAiModelClient {
    fn is_metered(&self) -> bool {
        true
    }

    /// No place, too, while the upstream is left alone: an outage must not use up what a network may
    /// ask, which is not given back.
    fn reserve(&self) -> Result<ModelPermit, ModelError> {
        let not_started = |open: BreakerOpen| ModelError::NotStarted(open.to_string());
        self.breaker.check().map_err(not_started)?;
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => Ok(ModelPermit::held_by(permit)),
            Err(_full) => Err(ModelError::NotStarted(
                "as many turns as allowed are being answered".to_owned(),
            )),
        }
    }

    async fn reply(
        &self,
        conversation: &Conversation,
        sink: &dyn AnswerSink,
    ) -> Result<String, ModelError> {
        let mut pass = self
            .breaker
            .admit()
            .map_err(|open| ModelError::NotStarted(open.to_string()))?;
        let deadline = Instant::now() + self.timeout;
        let is_streamed = sink.is_streamed();
        let question = question_with_history(conversation);
        let mut collector = Collector::new(sink, &self.habit, deadline);
        let mut outcome = self
            .ask(&question, deadline, &mut collector, is_streamed, &mut pass)
            .await;
        let last = last_question(conversation);
        let is_overflow = matches!(&outcome, Err(failure) if failure.kind == Kind::Overflow);
        if is_overflow && !collector.was_read() && question != last {
            collector = Collector::new(sink, &self.habit, deadline);
            outcome = self
                .ask(last, deadline, &mut collector, is_streamed, &mut pass)
                .await;
        }
        match outcome {
            Ok(()) => {
                pass.report(Finding::Alive);
                Ok(collector.into_reply())
            }
            Err(failure) => {
                pass.report(failure.finding());
                Err(failure.into_error(collector.was_read()))
            }
        }
    }
}
