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
use crate::http::log::milliseconds;
use crate::http::{Area, Code, Problem, Reply, RequestContext};
use crate::ports::{AnswerSink, ModelError, SinkClosed};
use crate::usecases::ask_assistant::{self as usecase, Answered, Turn};

use crate::http::handlers::chat_wire::{self, chat_response, problem, set_cookie, take_turn};

/// Longer pieces are split, in bytes: so the length of the queue bounds its size.
const PIECE_LEN_MAX: usize = 4096;

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
    let unfinished = &context.state().unfinished;
    let writer = write_stream(context.clone(), turn, conversation, sink);
    unfinished.spawn(async move {
        let _share = share;
        writer.await;
    });
    let fallback = tokio::select! {
        begun = has_begun => begun.map_err(Problem::fault)??,
        // Dropping the stream stops the writer task.
        () = context.abandoned() => return Err(Problem::fault(chat_wire::HUNG_UP)),
    };
    let (of_fallback, failure) = fallback.unzip();
    let mut reply = Reply::events(stream).with_decision(of_fallback.unwrap_or(decision));
    reply.headers.extend(cookie);
    reply.problem = chat_wire::fallback_cause(failure);
    Ok(reply)
}

/// Writes the stream from its first event to its last.
async fn write_stream(
    context: RequestContext,
    turn: Turn,
    conversation: Conversation,
    sink: DeltaSink,
) {
    let started = Instant::now();
    let (app, deadline) = (context.app(), chat_wire::DEADLINE);
    let answer = usecase::answer(app.assistant(), app.meter(), turn, &conversation, &sink);
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
            sink.complete(answered).await;
            let sent = sink.events.finish("message", message.as_bytes()).await;
            log_end(&context, started, sent, None);
        }
        Err(problem) => {
            let Some(problem) = sink.begin(Err(problem)) else {
                // It became the ordinary response, and is logged as such.
                return;
            };
            let body = problem.body(
                &app.settings.base_url,
                context.id,
                &problem.decision,
                Area::Api,
            );
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
        match self.begun.lock().take() {
            // Fails only if the client has hung up.
            Some(begun) => {
                let _ = begun.send(beginning);
                None
            }
            None => beginning.err(),
        }
    }

    /// Sends the rest of an answer: all of it if it is the fallback's.
    async fn complete(&self, answered: Answered) {
        let fallback = answered
            .model_error
            .map(|failure| (answered.decision, failure));
        let is_unsent = fallback.is_some();
        self.begin(Ok(fallback));
        if is_unsent {
            // A reader who doesn't accept it doesn't accept the last event either, which is logged.
            let _ = self.push(&answered.reply).await;
        }
    }
}

/// Length of the first piece of `text`, in bytes: at most [`PIECE_LEN_MAX`], whole characters.
fn piece_len(text: &str) -> usize {
    (0..=text.len().min(PIECE_LEN_MAX))
        .rev()
        .find(|&end| text.is_char_boundary(end))
        .unwrap_or(text.len())
}

#[async_trait]
impl AnswerSink for DeltaSink {
    fn is_streamed(&self) -> bool {
        true
    }

    async fn push(&self, text: &str) -> Result<(), SinkClosed> {
        self.begin(Ok(None));
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(piece_len(rest));
            rest = others;
            let delta = json!({ "text": piece }).to_string();
            self.events.send("delta", delta.as_bytes()).await?;
        }
        Ok(())
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
    let code = problem.map(|problem| problem.code.kind().name);
    let cause = problem.and_then(|problem| problem.cause.as_deref());
    let outcome = match (sent, problem) {
        (Err(SinkClosed), _) => "reader left",
        (Ok(()), Some(_)) => {
            tracing::warn!(
                request.id = %context.id, endpoint, duration_ms, outcome = "failed", code, cause,
                "stream ended"
            );
            return;
        }
        (Ok(()), None) => "answered",
    };
    tracing::info!(
        request.id = %context.id, endpoint, duration_ms, outcome, code, cause, "stream ended"
    );
}
