//! A chat answer as server-sent events: `delta` events with its pieces, then one `message` event with the
//! JSON response, or one `problem` event.
//!
//! The head of the response is sent with the first piece. A failure before that is an ordinary problem, with
//! its refund, or an answer of the fallback. From the model's first piece on the turn stays charged. A client
//! that hangs up, at any time, ends the model's work and stays charged: otherwise it could use the model for
//! free.
//!
//! The request's log line is written with the head. Another line reports how the stream ended.

use parking_lot::Mutex;

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::domain::{Conversation, Decision};
use crate::http::answer::sse::{self, SseSink};
use crate::http::endpoint::{catch_panic, panicked};
use crate::http::log_throttle::milliseconds;
use crate::http::server::shares::Share;
use crate::http::{Area, Code, Problem, Reply, RequestContext};
use crate::ports::{AnswerSink, ModelError, SinkClosed};
use crate::usecases::ask_assistant::{self as usecase, Turn};

use crate::http::handlers::chat_wire::{self, chat_response, problem, set_cookie, take_turn};

/// Beginning of an answer: the model's first piece; the fallback's answer, with the decision for the head and
/// the model's failure; or a problem.
type Beginning = Result<Option<(Decision, ModelError)>, Problem>;

/// Charges a turn and streams its answer.
pub(super) async fn chat(
    context: RequestContext,
    conversation: Conversation,
) -> Result<Reply, Problem> {
    let (share, turn) = take_turn(&context, context.visitor()).await?;
    let decision = turn.charged.decision.clone();
    let cookie = set_cookie(&context, turn.visitor);
    let (events, stream) = sse::channel();
    let (begun, has_begun) = oneshot::channel();
    let sink = DeltaSink {
        events,
        begun: Mutex::new(Some(begun)),
    };
    let writer = write_stream(context.clone(), (share, turn), conversation, sink);
    context.state().unfinished.spawn(writer);
    let fallback = tokio::select! {
        begun = has_begun => begun.map_err(Problem::fault)??,
        // Dropping the stream stops the writer task.
        () = context.abandoned() => return Err(Problem::fault(chat_wire::HUNG_UP)),
    };
    let (of_fallback, failure) = fallback.unzip();
    let mut reply = Reply::events(stream).with_decision(of_fallback.unwrap_or(decision));
    reply.response.headers_mut().extend(cookie);
    reply.problem = chat_wire::fallback_cause(failure);
    Ok(reply)
}

/// Writes the stream from its first event to its last.
async fn write_stream(
    context: RequestContext,
    (_share, turn): (Option<Share>, Turn),
    conversation: Conversation,
    sink: DeltaSink,
) {
    let started = Instant::now();
    let (app, deadline) = (context.app(), chat_wire::DEADLINE);
    let answer = usecase::answer(app.assistant(), turn, &conversation, Some(&sink));
    let outcome = tokio::select! {
        outcome = catch_panic(timeout(deadline, answer)) => outcome,
        // Dropping the answer ends the model's work and frees its permit.
        () = sink.events.left() => return log_end(&context, started, Err(SinkClosed), None),
    };
    let answered = match outcome {
        Ok(Ok(answered)) => answered.map_err(|error| problem(&context, error)),
        Ok(Err(_elapsed)) => Err(Problem::of(Code::HandlerTimeout).because("deadline passed")),
        Err(panic) => Err(panicked(&*panic)),
    };
    match answered {
        Ok(answered) => {
            let message = chat_response(&answered, false).to_string();
            if let Some(failure) = answered.model_error {
                // The sink has nothing of the fallback's answer. A reader who doesn't accept it doesn't accept the last
                // event either, which is logged.
                sink.begin(Ok(Some((answered.decision, failure))));
                let _ = sink.push(&answered.reply).await;
            }
            sink.begin(Ok(None));
            let sent = sink.events.finish("message", message.as_bytes()).await;
            log_end(&context, started, sent, None);
        }
        Err(problem) => {
            let Some(problem) = sink.begin(Err(problem)) else {
                // It became the ordinary response, and is logged as such.
                return;
            };
            let (base_url, decision) = (&app.settings.base_url, &problem.decision);
            let body = problem.body(base_url, context.id, decision, Area::Api);
            let sent = sink.events.finish("problem", &body).await;
            log_end(&context, started, sent, Some(&problem));
        }
    }
}

/// Sends the pieces of an answer. The first one releases the head.
struct DeltaSink {
    events: SseSink,
    begun: Mutex<Option<oneshot::Sender<Beginning>>>,
}

impl DeltaSink {
    /// Releases the head, or a problem in its place. Returns the problem if the head has been sent.
    fn begin(&self, beginning: Beginning) -> Option<Problem> {
        let Some(begun) = self.begun.lock().take() else {
            return beginning.err();
        };
        // Fails only if the client has hung up.
        let _ = begun.send(beginning);
        None
    }
}

#[async_trait]
impl AnswerSink for DeltaSink {
    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        self.begin(Ok(None));
        let delta = json!({ "text": text }).to_string();
        self.events.send("delta", delta.as_bytes()).await
    }
}

/// Logs the end of a stream, without personal data. `sent` is the result of its last event.
fn log_end(
    context: &RequestContext,
    started: Instant,
    sent: Result<(), SinkClosed>,
    problem: Option<&Problem>,
) {
    let (endpoint, duration_ms) = (chat_wire::NAME, milliseconds(started.elapsed()));
    let outcome = match (sent, problem) {
        (Err(SinkClosed), _) => "reader left",
        (Ok(()), None) => "answered",
        (Ok(()), Some(problem)) => {
            tracing::warn!(
                request.id = %context.id.0,
                endpoint,
                duration_ms,
                outcome = "failed",
                code = problem.code.as_str(),
                cause = problem.cause.as_deref(),
                "stream ended"
            );
            return;
        }
    };
    tracing::info!(request.id = %context.id.0, endpoint, duration_ms, outcome, "stream ended");
}
