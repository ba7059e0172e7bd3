//! The operations: each reads its request, calls one use case, and writes its answer.

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

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::Bytes;
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::domain::client::Client;
use crate::domain::time::Timestamp;
use crate::usecases::chat::Asker;

use super::documents::Documents;
use super::mcp::{self, Catalogue};
use super::panics::panicked;
use super::problem::{Code, Problem};
use super::reply::Reply;
use super::request_id::RequestId;
use super::route::Endpoint;

pub(crate) use tools::{call_tool, endpoint};

/// What is given away for free.
const TIER: &str = "free";

/// One request that has come through the door.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: RequestId,
    /// For what goes on after the answer's head.
    pub(crate) detached: TaskTracker,
    /// Cancelled once nobody waits for the answer's head any more: it has gone, or the client has.
    /// Nothing for an operation that ends with its client anyway.
    pub(crate) unawaited: Option<CancellationToken>,
    pub(crate) app: Arc<App>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) client: Client,
    /// Whom a chat turn counts for.
    pub(crate) asker: Asker,
    pub(crate) headers: HeaderMap,
    pub(crate) path: String,
    /// Read after the body had arrived.
    pub(crate) now: Timestamp,
}

impl Call {
    /// Ready once nobody waits for the answer's head any more.
    fn unawaited(&self) -> impl Future<Output = ()> + use<> {
        let unawaited = self.unawaited.clone();
        async move {
            match unawaited {
                Some(unawaited) => unawaited.cancelled().await,
                None => std::future::pending().await,
            }
        }
    }
}

/// Does what `endpoint` does.
///
/// # Errors
/// The problem to be answered.
pub(crate) async fn handle(endpoint: Endpoint, call: Call, body: Bytes) -> Result<Reply, Problem> {
    match endpoint {
        Endpoint::Health => health::health(&call).await,
        Endpoint::IssueKey => keys::issue(&call, &body).await,
        Endpoint::DescribeKeys => keys::describe(&call),
        Endpoint::Echo => sandbox::echo(&call, &body),
        Endpoint::DescribeEcho => sandbox::describe(),
        Endpoint::Subscribe => newsletter::subscribe(&call, &body).await,
        Endpoint::Chat => assistant::chat(call, &body).await,
        Endpoint::Quota => assistant::quota(&call).await,
        Endpoint::RegisterAgent => agent::register(&call, &body).await,
        Endpoint::Claim => Err(Problem::of(Code::ClaimNotEnabled)),
        Endpoint::Revoke => agent::revoke(&call, &body).await,
        Endpoint::Token => oauth::token(&call, &body).await,
        // Never a redirect: nobody can sign in here.
        Endpoint::Authorize => Err(Problem::of(Code::UnsupportedResponseType)),
        // Rare beside the others, and by far the largest to hold.
        Endpoint::Mcp => Box::pin(mcp::answer(call, &body)).await,
        Endpoint::Document => pages::document(&call),
    }
}

/// Runs what `endpoint` does under its deadline, detached if it has effects: then it finishes even
/// if nobody waits for it any more, of which it is told by the token that it is given.
///
/// # Errors
/// The problem to be answered.
pub(crate) async fn run<F>(
    detached: &TaskTracker,
    endpoint: Endpoint,
    operation: impl FnOnce(Option<CancellationToken>) -> F,
) -> Result<Reply, Problem>
where
    F: Future<Output = Result<Reply, Problem>> + Send + 'static,
{
    let outcome = if endpoint.has_effects() {
        let unawaited = CancellationToken::new();
        let task = detached.spawn(operation(Some(unawaited.clone())));
        // Dropped with this future, which the connection drops when the client hangs up.
        let _waiting = unawaited.drop_guard();
        timeout(endpoint.deadline(), task).await.map(finished)
    } else {
        timeout(endpoint.deadline(), operation(None)).await
    };
    outcome.unwrap_or_else(|_elapsed| {
        Err(Problem::of(Code::HandlerTimeout).because("deadline passed"))
    })
}

/// What came of a detached operation.
fn finished(joined: Result<Result<Reply, Problem>, JoinError>) -> Result<Reply, Problem> {
    joined.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => Err(panicked(&*panic)),
        Err(cancelled) => Err(Problem::of(Code::InternalError).because(cancelled)),
    })
}
