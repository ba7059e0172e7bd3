//! The handlers: each reads its request, calls one use case, and writes its answer.

mod agent;
mod assistant;
mod health;
mod keys;
mod newsletter;
mod oauth;
mod pages;
mod sandbox;
mod stream;
mod tools;

use std::pin::Pin;

use hyper::body::Bytes;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::context::RequestContext;
use super::panics::panicked;
use super::problem::{Code, Problem};
use super::reply::Reply;
use super::route::Endpoint;

/// The tier of every key and registration.
const TIER: &str = "free";

/// A running handler.
pub(crate) type Handling = Pin<Box<dyn Future<Output = Result<Reply, Problem>> + Send>>;

/// The handler of `endpoint`.
pub(crate) fn handle(endpoint: Endpoint, context: RequestContext, body: Bytes) -> Handling {
    match endpoint {
        Endpoint::Health => Box::pin(async move { health::health(&context).await }),
        Endpoint::DescribeKeys => Box::pin(async move { keys::describe(&context) }),
        Endpoint::DescribeEcho => Box::pin(async move { sandbox::describe() }),
        // Never a redirect: nobody can sign in here.
        Endpoint::Authorize => Box::pin(async { Err(Problem::of(Code::UnsupportedResponseType)) }),
        Endpoint::Document => Box::pin(async move { pages::document(&context) }),
        Endpoint::IssueKey => Box::pin(async move { keys::issue(&context, &body).await }),
        Endpoint::Echo => Box::pin(async move { sandbox::echo(&context, &body) }),
        Endpoint::Subscribe => {
            Box::pin(async move { newsletter::subscribe(&context, &body).await })
        }
        Endpoint::Chat => Box::pin(async move { assistant::chat(context, &body).await }),
        Endpoint::Quota => {
            Box::pin(async move { assistant::quota(&context, context.visitor()).await })
        }
        Endpoint::RegisterAgent => Box::pin(async move { agent::register(&context, &body).await }),
        Endpoint::Claim => Box::pin(async { Err(Problem::of(Code::ClaimNotEnabled)) }),
        Endpoint::Revoke => Box::pin(async move { agent::revoke(&context, &body).await }),
        Endpoint::Token => Box::pin(async move { oauth::token(&context, &body).await }),
        Endpoint::Mcp => Box::pin(async move { tools::answer(context, &body).await }),
    }
}

/// Runs a handler of `endpoint` under its deadline. One with effects is spawned: it finishes even
/// if its client hangs up or the deadline passes, and a stop waits for it.
///
/// # Errors
/// The problem to be answered.
pub(crate) async fn run(
    endpoint: Endpoint,
    mut context: RequestContext,
    handler: impl FnOnce(RequestContext) -> Handling,
) -> Result<Reply, Problem> {
    let deadline = endpoint.deadline();
    let outcome = if endpoint.has_effects() {
        let abandoned = CancellationToken::new();
        context.abandoned = Some(abandoned.clone());
        let _guard = abandoned.drop_guard();
        let unfinished = context.state.unfinished.clone();
        let task = unfinished.spawn(handler(context));
        timeout(deadline, task).await.map(|joined| {
            joined.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => Err(panicked(&*panic)),
                Err(cancelled) => Err(Problem::of(Code::InternalError).because(cancelled)),
            })
        })
    } else {
        timeout(deadline, handler(context)).await
    };
    outcome.unwrap_or_else(|_elapsed| {
        Err(Problem::of(Code::HandlerTimeout).because("deadline passed"))
    })
}
