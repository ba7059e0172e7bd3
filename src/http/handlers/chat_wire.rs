//! The parts shared by whole and streamed chats: request, response, cookie, problems.

use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue, SET_COOKIE};
use serde::Serialize;
use serde_json::{Value, json};

use crate::domain::{
    Content, Conversation, Decision, MESSAGES_MAX, Message, PolicyName, Quota, QuotaToken, Role,
    Standing,
};
use crate::http::request::json;
use crate::http::server::shares::Share;
use crate::http::{Code, Errors, JsonValue, Problem, RequestContext, Unknown};
use crate::ports::ModelError;
use crate::site::facts::quota_cookie_name;
use crate::usecases::ask_assistant::{self as usecase, Answered, ChatError, Turn};

/// The endpoint's name in the log.
pub(super) const NAME: &str = "assistant.chat";

/// Longer than any model may take.
pub(super) const DEADLINE: Duration = Duration::from_secs(330);

/// The quota of the `assistant` policy, in messages. If the policy is off: the largest possible quota, unused.
#[derive(Serialize)]
pub(super) struct QuotaResponse {
    used: u32,
    max: u32,
    remaining: u32,
}

impl QuotaResponse {
    pub(super) fn of(decision: &Decision) -> Self {
        let standing = decision.standing(PolicyName::Assistant);
        let max = standing.map_or(Quota::COUNT_MAX, |standing| standing.quota.count());
        Self {
            used: standing.map_or(0, Standing::used),
            max,
            remaining: standing.map_or(max, Standing::remaining),
        }
    }
}

/// Takes one of the concurrent turns of the client's network, then charges a turn. Dropping the share
/// releases the former.
pub(super) async fn take_turn(
    context: &RequestContext,
    visitor: Option<QuotaToken>,
) -> Result<(Option<Share>, Turn), Problem> {
    let (app, client) = (context.app(), &context.client);
    let turns = context.state().turns.as_ref();
    let share = match turns.map(|turns| turns.take(client.network)).transpose() {
        Ok(share) => share,
        Err(cause) => {
            let detail = "Too many questions from this network are being answered at once.";
            let problem = Problem::new(Code::ModelUnavailable, detail).because(cause);
            let subject = usecase::subject(visitor, client);
            let turns = usecase::remaining_turns(app.meter(), context.now, client.network, subject);
            return Err(problem.with_decision(turns.await?));
        }
    };
    let begun = usecase::begin_turn(app.assistant(), context.now, client, visitor);
    let turn = begun.await.map_err(|error| problem(context, error))?;
    Ok((share, turn))
}

/// Cause of a problem that nobody reads.
pub(super) const HUNG_UP: &str = "the client hung up";

/// The response of the API, or of its tool, which has no deprecated names.
pub(super) fn chat_response(answered: &Answered, is_tool: bool) -> Value {
    let quota = QuotaResponse::of(&answered.decision);
    let message = &answered.reply;
    json!({
        "message": message,
        "used": quota.used,
        "max": quota.max,
        "remaining": quota.remaining,
        "reply": (!is_tool).then_some(message),
        "quota": (!is_tool).then_some(quota),
    })
}

/// The model's failure for the log, if the fallback answered.
pub(super) fn fallback_cause(failure: Option<ModelError>) -> Option<Box<Problem>> {
    let problem = Problem::of(Code::ModelUnavailable).because(failure?);
    Some(Box::new(problem))
}

/// The `Set-Cookie` header that renews the visitor's cookie for another window, so that it outlives every
/// counted turn.
pub(super) fn set_cookie(
    context: &RequestContext,
    visitor: Option<QuotaToken>,
) -> Option<(HeaderName, HeaderValue)> {
    let app = context.app();
    let quota = app.settings.policies.quota(PolicyName::Assistant)?;
    let (is_https, key) = (app.settings.is_https(), &app.secrets.quota_token);
    let (name, max_age_s) = (quota_cookie_name(is_https), quota.window_s());
    let (id, secure) = (visitor?.encode(key), if is_https { "; Secure" } else { "" });
    let value = format!("{name}={id}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Lax{secure}");
    Some((SET_COOKIE, HeaderValue::try_from(value).ok()?))
}

/// Reads a chat request, or the arguments of its tool, which rejects unknown fields.
pub(super) fn read_request(body: &[u8], unknown: Unknown) -> Result<Conversation, Problem> {
    json::read(body, unknown, |object, errors| {
        // It has no effect.
        if unknown == Unknown::Ignored
            && let Some(client_used) = object.optional("clientUsed")
        {
            client_used.number(errors);
        }
        let items = object.required("messages", errors)?;
        let items = items.array(MESSAGES_MAX, errors)?.into_iter();
        let messages = items.filter_map(|item| read_message(item, unknown, errors));
        // It fails only when an item is missing, which already has its error.
        Conversation::parse(messages.collect())
    })
}

fn read_message(item: JsonValue<'_>, unknown: Unknown, errors: &mut Errors) -> Option<Message> {
    let mut object = item.object(errors)?;
    let role = object.required("role", errors).and_then(|value| {
        let name = value.string(errors)?;
        let role = Role::from_name(&name);
        if role.is_none() {
            errors.push(&value.pointer, "enum", "must be user or assistant");
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
        ChatError::Refused(decision) => Problem::rate_limited(decision),
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
    }
}
