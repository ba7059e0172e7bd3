//! The model behind an API, against an upstream that does everything upstreams do.

mod breaker;
mod fallback;
mod program;
mod request;
mod streams;
mod tls;
mod trouble;
pub(crate) mod upstream;
pub(crate) mod whole;

use landing_api::adapters::model::openai::{OpenAiSettings, Roots, bearer_token, chat_completions};
use landing_api::domain::chat::{Content, Conversation, Message};
use landing_api::ports::AnswerSink;
use serde_json::Map;

use upstream::{Script, Upstream};

use crate::prelude::*;

const PATH: &str = "/api/v1/assistant/chat";
/// What the visitor says; no log line may repeat it.
const QUESTION: &str = "where is my hidden treasure";

pub(crate) fn settings(upstream: &Upstream) -> OpenAiSettings {
    settings_at(&upstream.base_url())
}

pub(crate) fn settings_at(base_url: &str) -> OpenAiSettings {
    OpenAiSettings {
        address: chat_completions(base_url).unwrap(),
        model: "small".to_owned(),
        key: Some(bearer_token("sk-test-key").unwrap()),
        system_prompt: "Be brief.".to_owned(),
        params: Map::new(),
        thinks_first: false,
        timeout: Duration::from_secs(30),
        concurrency: 4,
    }
}

pub(crate) fn client(settings: OpenAiSettings) -> Arc<OpenAiModelClient> {
    Arc::new(OpenAiModelClient::new(
        settings,
        Roots::of([]),
        CancellationToken::new(),
    ))
}

/// An upstream with these scripts, and the model that it is.
async fn model(scripts: impl IntoIterator<Item = Script>) -> (Upstream, Arc<OpenAiModelClient>) {
    model_with(scripts, |_settings| ()).await
}

async fn model_with(
    scripts: impl IntoIterator<Item = Script>,
    change: impl FnOnce(&mut OpenAiSettings),
) -> (Upstream, Arc<OpenAiModelClient>) {
    let upstream = Upstream::start(scripts).await;
    let mut settings = settings(&upstream);
    change(&mut settings);
    (upstream, client(settings))
}

/// The service before `upstream`, its visitors unlimited but for the chat quota.
fn app(upstream: &Upstream) -> TestApp {
    app_with(client(settings(upstream)))
}

fn app_with(model: Arc<OpenAiModelClient>) -> TestApp {
    Setup::with_model(model).start()
}

/// A server before `upstream`; what interrupts the server interrupts its turns.
pub(crate) async fn server_before(upstream: &Upstream, limits: ServerLimits) -> Server {
    let (roots, interrupt) = (Roots::of([]), CancellationToken::new());
    let model = OpenAiModelClient::new(settings(upstream), roots, interrupt.clone());
    Server::start_with(Setup::with_model(Arc::new(model)), limits, interrupt).await
}

/// Fails unless the model was of no use, and the visitor has all ten messages.
fn check_refund(reply: &Reply, about: &str) {
    assert_eq!(reply.code(), "model_unavailable", "{about}");
    assert_eq!(reply.remaining(), 10, "{about}");
    assert_eq!(reply.header("set-cookie"), None, "{about}");
    assert_eq!(reply.header("retry-after"), None, "theirs is not ours");
}

fn ask() -> Call {
    Call::question(QUESTION)
}

fn ask_for_stream() -> Call {
    ask().header("accept", "text/event-stream")
}

pub(crate) fn conversation(turns: &[(Role, &str)]) -> Conversation {
    let message = |(role, text): &(Role, &str)| Message {
        role: *role,
        content: Content::parse((*text).to_owned()).unwrap(),
    };
    Conversation::parse(turns.iter().map(message).collect()).unwrap()
}

/// The text of what the model answers to the usual question.
pub(crate) async fn text(
    model: &dyn ModelClient,
    sink: Option<&dyn AnswerSink>,
) -> Result<String, ModelError> {
    let reply = model.reply(&question(), sink).await;
    reply.map(|reply| reply.text)
}

pub(crate) fn question() -> Conversation {
    conversation(&[(Role::User, QUESTION)])
}
