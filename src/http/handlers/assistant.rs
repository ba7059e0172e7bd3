//! `POST /api/v1/assistant/chat` answers a visitor, at once or as a stream; `GET` tells what is left
//! of the quota. Both have a legacy alias.

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, SET_COOKIE};
use serde::Serialize;

use crate::domain::chat::{Content, Conversation, MESSAGES_MAX, Message, Role};
use crate::domain::policy::PolicyName;
use crate::domain::quota_token::QuotaToken;
use crate::http::context::RequestContext;
use crate::http::cookie::QuotaCookie;
use crate::http::negotiate::prefers_events;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::wire::{self, Errors, JsonObject, JsonValue, Unknown};
use crate::ports::NullSink;
use crate::usecases::chat::{self as usecase, Allowance, Answered, Asker, ChatError, Turn};

use super::stream;

#[derive(Serialize)]
struct ChatResponse<'a> {
    message: &'a str,
    #[serde(flatten)]
    numbers: QuotaResponse,
    /// Deprecated alias of `message` (spec 2.11).
    reply: &'a str,
    quota: QuotaResponse,
}

/// The same for who asks by a tool, which never had the alias.
#[derive(Serialize)]
struct ToolAnswer<'a> {
    message: &'a str,
    #[serde(flatten)]
    numbers: QuotaResponse,
}

#[derive(Clone, Copy, Serialize)]
struct QuotaResponse {
    used: u32,
    max: u32,
    remaining: u32,
}

impl From<Allowance> for QuotaResponse {
    fn from(allowance: Allowance) -> Self {
        let Allowance {
            used,
            max,
            remaining,
        } = allowance;
        Self {
            used,
            max,
            remaining,
        }
    }
}

pub(super) async fn chat(context: RequestContext, body: &[u8]) -> Result<Reply, Problem> {
    let conversation = read_request(body)?;
    if prefers_events(context.headers()) {
        return stream::chat(context, conversation).await;
    }
    let turn = reserve(&context, context.visitor()).await?;
    let app = context.app();
    let answered = usecase::answer(app.assistant(), app.meter(), turn, &conversation, &NullSink)
        .await
        .map_err(|error| problem(&context, error))?;
    let mut reply = Reply::json(StatusCode::OK, &chat_response(&answered))?;
    reply.headers.extend(set_cookie(&context, answered.visitor));
    Ok(reply.with_decision(answered.decision))
}

/// Answers who asks by a tool.
pub(super) async fn ask(context: &RequestContext, arguments: &[u8]) -> Result<Reply, Problem> {
    let conversation = read_arguments(arguments)?;
    let turn = reserve(context, Asker::Program).await?;
    let app = context.app();
    let answered = usecase::answer(app.assistant(), app.meter(), turn, &conversation, &NullSink)
        .await
        .map_err(|error| problem(context, error))?;
    let answer = ToolAnswer {
        message: &answered.reply,
        numbers: QuotaResponse::from(Allowance::of(&answered.decision)),
    };
    Ok(Reply::json(StatusCode::OK, &answer)?.with_decision(answered.decision))
}

/// Charges a turn.
pub(super) async fn reserve(context: &RequestContext, asker: Asker) -> Result<Turn, Problem> {
    let app = context.app();
    usecase::reserve(
        app.assistant(),
        app.meter(),
        context.now,
        &context.client,
        asker,
    )
    .await
    .map_err(|error| problem(context, error))
}

/// An answer as spec 2.11 has it.
pub(super) fn chat_response(answered: &Answered) -> impl Serialize {
    let numbers = QuotaResponse::from(Allowance::of(&answered.decision));
    ChatResponse {
        message: &answered.reply,
        numbers,
        reply: &answered.reply,
        quota: numbers,
    }
}

pub(super) async fn quota(context: &RequestContext, asker: Asker) -> Result<Reply, Problem> {
    let meter = context.app().meter();
    let decision = usecase::quota(meter, context.now, &context.client, asker).await?;
    let response = QuotaResponse::from(Allowance::of(&decision));
    Ok(Reply::json(StatusCode::OK, &response)?.with_decision(decision))
}

/// The header that names the visitor for one more window, so that the cookie outlives every counted
/// turn.
pub(super) fn set_cookie(
    context: &RequestContext,
    visitor: Option<QuotaToken>,
) -> Option<(HeaderName, HeaderValue)> {
    let visitor = visitor?;
    let quota = context
        .app()
        .settings
        .policies
        .quota(PolicyName::Assistant)?;
    let cookie = QuotaCookie::new(context.app().settings.is_https());
    let value = cookie.write(
        &visitor,
        &context.app().secrets.quota_cookie,
        quota.window_s(),
    );
    Some((SET_COOKIE, HeaderValue::try_from(value).ok()?))
}

/// Reads a chat request (spec 2.10). Members that it does not name are ignored, and `clientUsed`
/// is only looked at: it may be any number.
fn read_request(body: &[u8]) -> Result<Conversation, Problem> {
    let mut errors = Errors::default();
    let conversation = wire::parse(body)?
        .object(&mut errors)
        .and_then(|mut object| {
            if let Some(client_used) = object.optional("clientUsed") {
                client_used.number(&mut errors);
            }
            read_conversation(object, Unknown::Ignored, &mut errors)
        });
    errors.finish(conversation)
}

/// Reads the arguments of the tool: a conversation and nothing else.
fn read_arguments(arguments: &[u8]) -> Result<Conversation, Problem> {
    let mut errors = Errors::default();
    let conversation = wire::parse(arguments)?
        .object(&mut errors)
        .and_then(|object| read_conversation(object, Unknown::Rejected, &mut errors));
    errors.finish(conversation)
}

/// Reads the member `messages`, and settles what all others are.
fn read_conversation(
    mut object: JsonObject<'_>,
    unknown: Unknown,
    errors: &mut Errors,
) -> Option<Conversation> {
    let messages = object.required("messages", errors);
    object.finish(unknown, errors);
    let items = messages?.array(MESSAGES_MAX, errors)?;
    let messages: Vec<_> = items
        .into_iter()
        .filter_map(|item| read_message(item, unknown, errors))
        .collect();
    // Only lists from which an item is missing, which is named already, do not fit.
    Conversation::parse(messages).ok()
}

fn read_message(item: JsonValue<'_>, unknown: Unknown, errors: &mut Errors) -> Option<Message> {
    let mut object = item.object(errors)?;
    let role = object.required("role", errors).and_then(|value| {
        let name = value.string(errors)?;
        let role = Role::from_name(&name);
        if role.is_none() {
            errors.push(value.pointer(), "enum", "must be user or assistant");
        }
        role
    });
    let content = object
        .required("content", errors)
        .and_then(|value| value.parsed(errors, Content::parse));
    object.finish(unknown, errors);
    Some(Message {
        role: role?,
        content: content?,
    })
}

pub(super) fn problem(context: &RequestContext, error: ChatError) -> Problem {
    match error {
        ChatError::QuotaExhausted(decision) => {
            Problem::refused(Code::AssistantQuotaExhausted, &decision).with_decision(decision)
        }
        ChatError::Refused(decision) => {
            Problem::refused(Code::RateLimited, &decision).with_decision(decision)
        }
        ChatError::Model {
            decision,
            charged,
            error,
        } => {
            let mut problem = Problem::of(Code::ModelUnavailable)
                .with_decision(decision)
                .because(error);
            problem.headers.extend(set_cookie(context, charged));
            problem
        }
        ChatError::Limiter(cause) => Problem::from(cause),
        ChatError::Entropy(cause) => Problem::of(Code::InternalError).because(cause),
    }
}
