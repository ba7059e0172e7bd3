//! The declaration of an endpoint, and running its handler.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper::body::Bytes;
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::{Decision, macros::names, panic_message};
use crate::site::tools::Tool;

use crate::http::{Code, Problem, Reply, RequestContext};

/// Placeholder for a token in the last segment of a path.
pub(crate) const TOKEN: &str = "{token}";

/// The future of a handler.
pub(crate) type HandlerFuture<T> = BoxFuture<'static, Result<T, Problem>>;

/// Reads a request and its body, calls one use case, and writes the response.
pub(crate) type Handler = fn(&RequestContext, Bytes) -> Handled;

/// A handler's outcome, or its future.
pub(crate) enum Handled {
    /// Answered without waiting.
    Now(Result<Reply, Problem>),
    Later(HandlerFuture<Reply>),
}

/// Boxes the future of a handler that waits.
pub(crate) fn later(
    future: impl Future<Output = Result<Reply, Problem>> + Send + 'static,
) -> Handled {
    Handled::Later(Box::pin(future))
}

impl Handled {
    /// The outcome, if it comes within `deadline`.
    ///
    /// # Errors
    /// The problem to respond with.
    pub(crate) async fn outcome_within(self, deadline: Duration) -> Result<Reply, Problem> {
        match self {
            Self::Now(outcome) => outcome,
            Self::Later(future) => within(deadline, future).await.unwrap_or_else(|_elapsed| {
                Err(Problem::of(Code::HandlerTimeout).because("deadline passed"))
            }),
        }
    }
}

/// One endpoint: a constant next to its handler, and a row of [`crate::http::router::ENDPOINTS`].
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// Its name in the log.
    pub name: &'static str,
    /// Its method.
    pub method: Verb,
    /// Its paths, matched exactly; none if `is_document`.
    pub paths: &'static [&'static str],
    /// True if it serves the documents, whose paths the site has.
    pub is_document: bool,
    /// The accepted body; `None` if a body is ignored.
    pub body: Option<BodyRule>,
    /// Deadline of the handler once the body has arrived.
    pub deadline: Duration,
    /// True if it changes more than counts, so that the handler must finish once it has begun.
    pub has_effects: bool,
    /// The pipeline counts nothing and checks no credential.
    pub is_free: bool,
    /// Looks up the standings that every response shows besides those of the door.
    pub(crate) shows: Option<fn(&RequestContext) -> HandlerFuture<Decision>>,
    /// The path to use instead, if this one will be removed. The API's description mentions it, and marks the
    /// operation as `deprecated`.
    pub replacement: Option<&'static str>,
    /// Earliest removal, as an HTTP date: at least 90 days after the notice.
    pub sunset: Option<&'static str>,
    /// True if pages of foreign origins are refused.
    pub checks_origin: bool,
    /// The same operation as a tool of the Model Context Protocol, whose arguments, a JSON object, are the body.
    pub(crate) tool: Option<(Tool, Handler)>,
    pub(crate) handler: Handler,
}

names! {
    /// The method of an endpoint.
    pub enum Verb {
        /// `HEAD`, too.
        Get => "GET",
        Post => "POST",
    }
}

impl Endpoint {
    /// Defaults of GET endpoints.
    pub(crate) const fn get(handler: Handler) -> Self {
        Self {
            name: "",
            method: Verb::Get,
            paths: &[],
            is_document: false,
            body: None,
            deadline: Duration::from_secs(30),
            has_effects: false,
            is_free: false,
            shows: None,
            replacement: None,
            sunset: None,
            checks_origin: false,
            tool: None,
            handler,
        }
    }

    /// Defaults of POST endpoints.
    pub(crate) const fn post(handler: Handler) -> Self {
        Self {
            method: Verb::Post,
            ..Self::get(handler)
        }
    }

    /// Runs `handler`. One with effects is spawned: it finishes even if the client hangs up or the deadline
    /// passes, and a stop waits for it.
    pub(crate) fn run(&self, handler: Handler, context: &RequestContext, body: Bytes) -> Handled {
        if !self.has_effects {
            return handler(context, body);
        }
        let abandoned = CancellationToken::new();
        let mut context = RequestContext {
            abandoned: Some(abandoned.clone()),
            ..context.clone()
        };
        later(async move {
            let _guard = abandoned.drop_guard();
            let unfinished = context.state().unfinished.clone();
            let task = unfinished.spawn(async move {
                // A busy scheduler may have delayed the request ([`RequestContext::now`]).
                context.now = context.app().clock.now();
                match handler(&context, body) {
                    Handled::Now(outcome) => outcome,
                    Handled::Later(future) => future.await,
                }
            });
            task.await
                .unwrap_or_else(|error| match error.try_into_panic() {
                    Ok(panic) => Err(panicked(&*panic)),
                    Err(cancelled) => Err(Problem::fault(cancelled)),
                })
        })
    }
}

/// The problem of a panic.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Problem {
    Problem::fault(format!("panicked: {}", panic_message(panic)))
}

/// Awaits `future` and catches its panic. State shared by requests is behind locks that a panic releases, or
/// is changed in one step.
pub(crate) fn catch_panic<F: Future>(
    future: F,
) -> impl Future<Output = Result<F::Output, Box<dyn Any + Send>>> {
    AssertUnwindSafe(future).catch_unwind()
}

/// Like [`timeout`], but sets no timer for futures that are ready at once, as most are.
pub(crate) async fn within<F: Future>(deadline: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut future = pin!(future);
    match future.as_mut().now_or_never() {
        Some(output) => Ok(output),
        None => timeout(deadline, future).await,
    }
}

/// The accepted body of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyRule {
    /// Accepted media types; the first one applies to a body without a type. An empty list accepts any.
    pub media_types: &'static [&'static str],
    /// Its largest size, in bytes.
    pub bytes_max: usize,
    /// A media type that is refused with a code of its own, before the body is read.
    pub refused: Option<(&'static str, Code)>,
}

const FORM: &str = "application/x-www-form-urlencoded";

impl BodyRule {
    const fn of(media_types: &'static [&'static str], kib_max: usize) -> Self {
        Self {
            media_types,
            bytes_max: kib_max * 1024,
            refused: None,
        }
    }

    pub(crate) const fn json(kib_max: usize) -> Self {
        Self::of(&["application/json"], kib_max)
    }

    pub(crate) const fn form(kib_max: usize) -> Self {
        Self::of(&[FORM], kib_max)
    }

    /// Any body: its content doesn't matter.
    pub(crate) const fn any(kib_max: usize) -> Self {
        Self::of(&[], kib_max)
    }

    /// A form as sent by browsers.
    pub(crate) const fn html_form(kib_max: usize) -> Self {
        Self::of(&[FORM, "multipart/form-data"], kib_max)
    }
}
