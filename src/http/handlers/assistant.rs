//! `POST /api/v1/assistant/chat` answers a visitor, at once or as a stream; `GET` shows the remaining quota.
//! Both have a legacy alias.

use futures_util::TryFutureExt as _;
use hyper::StatusCode;
use hyper::body::Bytes;

use crate::domain::{Conversation, Decision, QuotaToken, Subject};
use crate::http::endpoint::{Handled, later};
use crate::http::request::json;
use crate::http::request::negotiate::prefers_events;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;
use crate::usecases::ask_assistant::{self as usecase, Answered};

use crate::http::handlers::chat_wire::{
    self, QuotaResponse, chat_response, fallback_cause, set_cookie,
};
use crate::http::handlers::stream;

pub(crate) const CHAT: Endpoint = Endpoint {
    name: chat_wire::NAME,
    paths: PATHS,
    // 12 messages of 2000 characters, each an escaped surrogate pair, are 288,000 bytes.
    body: Some(BodyRule::json(320)),
    deadline: chat_wire::DEADLINE,
    has_effects: true,
    shows: Some(|context| Box::pin(standing(context.clone(), RequestContext::quota_subject))),
    tool: Some((Tool::AskAssistant, |context, arguments| {
        later(ask(context.clone(), arguments))
    })),
    ..Endpoint::post(|context, body| later(chat(context.clone(), body)))
};

pub(crate) const QUOTA: Endpoint = Endpoint {
    name: "assistant.quota",
    paths: PATHS,
    shows: Some(|context| Box::pin(standing(context.clone(), RequestContext::quota_subject))),
    tool: Some((
        Tool::GetAssistantQuota,
        |context, arguments| match json::read_no_members(&arguments) {
            Ok(()) => show_quota(context, |context| context.client.subject()),
            Err(problem) => Handled::Now(Err(problem)),
        },
    )),
    ..Endpoint::get(|context, _body| show_quota(context, RequestContext::quota_subject))
};

/// Selects the subject that a request is counted by.
type SubjectOf = fn(&RequestContext) -> Subject<'_>;

const PATHS: &[&str] = &["/api/v1/assistant/chat", "/api/assistant/chat"];

async fn chat(context: RequestContext, body: Bytes) -> Result<Reply, Problem> {
    let mut conversation = chat_wire::read_request(&body, Unknown::Ignored)?;
    conversation.language = context.language();
    if prefers_events(context.headers()) {
        return stream::chat(context, conversation).await;
    }
    let answered = take_turn(&context, context.visitor(), &conversation).await?;
    Ok(answer(&context, answered, false))
}

/// Answers a client that calls the tool.
async fn ask(context: RequestContext, arguments: Bytes) -> Result<Reply, Problem> {
    let conversation = chat_wire::read_request(&arguments, Unknown::Rejected)?;
    let answered = take_turn(&context, None, &conversation).await?;
    Ok(answer(&context, answered, true))
}

fn answer(context: &RequestContext, answered: Answered, is_tool: bool) -> Reply {
    let mut reply = Reply::json(StatusCode::OK, chat_response(&answered, is_tool));
    let cookie = set_cookie(context, answered.visitor);
    reply.response.headers_mut().extend(cookie);
    reply.problem = fallback_cause(answered.model_error);
    reply.with_decision(answered.decision)
}

async fn take_turn(
    context: &RequestContext,
    visitor: Option<QuotaToken>,
    conversation: &Conversation,
) -> Result<Answered, Problem> {
    let (_share, turn) = chat_wire::take_turn(context, visitor).await?;
    let app = context.app();
    let answer = usecase::answer(app.assistant(), turn, conversation, None);
    tokio::select! {
        answered = answer => answered.map_err(|error| chat_wire::problem(context, error)),
        // Dropping the answer stops the model. The turn stays charged.
        () = context.abandoned() => Err(Problem::fault(chat_wire::HUNG_UP)),
    }
}

/// Shows the quota; at once, if the limiter is in this process.
fn show_quota(context: &RequestContext, subject: SubjectOf) -> Handled {
    let reply = |decision| Reply::ok(&QuotaResponse::of(&decision)).with_decision(decision);
    let (meter, network) = (context.app().meter(), context.client.network);
    match usecase::remaining_now(meter, context.now, network, subject(context)) {
        Some(decision) => Handled::Now(Ok(reply(decision))),
        None => later(standing(context.clone(), subject).map_ok(reply)),
    }
}

async fn standing(context: RequestContext, subject: SubjectOf) -> Result<Decision, Problem> {
    let (app, network) = (context.app(), context.client.network);
    let (now, subject) = (app.clock.now(), subject(&context));
    Ok(usecase::remaining_turns(app.meter(), now, network, subject).await?)
}
