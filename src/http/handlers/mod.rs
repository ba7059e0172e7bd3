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

use std::future;
use std::ops::Deref;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{HeaderMap, Uri};
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::app::App;
use crate::domain::client::Client;
use crate::domain::time::Timestamp;
use crate::ports::Answer;
use crate::site::Site;
use crate::usecases::chat::Asker;

use super::documents::Documents;
use super::mcp::{self, Catalogue};
use super::panics::{catch_panic, panicked};
use super::problem::{Code, Problem};
use super::reply::Reply;
use super::request_id::RequestId;
use super::route::{Endpoint, Plain};

use self::health::Healthy;
pub(crate) use self::tools::{call_tool, endpoint};

/// What is given away for free.
const TIER: &str = "free";

/// What all operations work with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) app: Arc<App>,
    pub(crate) documents: Documents,
    pub(crate) catalogue: Catalogue,
    pub(crate) healthy: Healthy,
    /// What a stop waits for beside the connections: operations with effects that have begun, and
    /// what goes on after an answer's head.
    pub(crate) unfinished: TaskTracker,
}

impl Context {
    pub(crate) fn new(app: Arc<App>, site: &Site) -> Self {
        Self {
            healthy: Healthy::new(&app.settings),
            app,
            documents: Documents::new(site.documents()),
            catalogue: Catalogue::new(site.toolbox()),
            unfinished: TaskTracker::new(),
        }
    }
}

/// The context as one connection holds it. Its requests that wait count themselves here: a count
/// that every core changes with each request would make them wait for each other.
#[derive(Debug)]
pub(crate) struct HeldContext(pub(crate) Arc<Context>);

impl Deref for HeldContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.0
    }
}

/// One request that has come through the door.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: RequestId,
    pub(crate) context: Arc<HeldContext>,
    /// Cancelled once nobody waits for the answer's head any more: it has gone, or the client has.
    /// Nothing unless the answer may be streamed.
    pub(crate) unawaited: Option<CancellationToken>,
    pub(crate) client: Client,
    /// Whom a chat turn counts for.
    pub(crate) asker: Asker,
    pub(crate) headers: HeaderMap,
    pub(crate) uri: Uri,
    /// When the operation begins, once the body has arrived; until then, when the request came.
    pub(crate) now: Timestamp,
}

impl Call {
    fn app(&self) -> &App {
        &self.context.app
    }

    /// Ready once nobody waits for the answer's head any more.
    fn unawaited(&self) -> impl Future<Output = ()> + use<> {
        let unawaited = self.unawaited.clone();
        async move {
            match unawaited {
                Some(unawaited) => unawaited.cancelled().await,
                None => future::pending().await,
            }
        }
    }
}

/// What an operation answers: the problem if it fails.
pub(crate) type Outcome = Answer<'static, Reply, Problem>;

/// What `operation` answers to a request for `path` with these headers: at once, unless the stores
/// have to be asked how they are.
pub(crate) fn answer(
    operation: Plain,
    context: &Arc<HeldContext>,
    path: &str,
    headers: &HeaderMap,
) -> Outcome {
    match operation {
        Plain::Health => match health::at_once(context) {
            Some(outcome) => Answer::decided(outcome),
            None => {
                let context = Arc::clone(context);
                Answer::pending(async move { health::health(&context).await })
            }
        },
        Plain::DescribeKeys => Answer::decided(keys::describe(context)),
        Plain::DescribeEcho => Answer::decided(sandbox::describe()),
        // Never a redirect: nobody can sign in here.
        Plain::Authorize => Answer::decided(Err(Problem::of(Code::UnsupportedResponseType))),
        Plain::Document => Answer::decided(pages::document(context, path, headers)),
    }
}

/// Does what `endpoint` does: at once if that waits for nothing, otherwise as the answer is awaited.
pub(crate) fn handle(endpoint: Endpoint, call: Call, body: Bytes) -> Outcome {
    match endpoint {
        Endpoint::Plain(plain) => answer(plain, &call.context, call.uri.path(), &call.headers),
        Endpoint::IssueKey => Answer::pending(async move { keys::issue(&call, &body).await }),
        Endpoint::Echo => Answer::decided(sandbox::echo(&call, &body)),
        Endpoint::Subscribe => {
            Answer::pending(async move { newsletter::subscribe(&call, &body).await })
        }
        Endpoint::Chat => Answer::pending(async move { assistant::chat(call, &body).await }),
        Endpoint::Quota => Answer::pending(async move { assistant::quota(&call).await }),
        Endpoint::RegisterAgent => {
            Answer::pending(async move { agent::register(&call, &body).await })
        }
        Endpoint::Claim => Answer::decided(Err(Problem::of(Code::ClaimNotEnabled))),
        Endpoint::Revoke => Answer::pending(async move { agent::revoke(&call, &body).await }),
        Endpoint::Token => Answer::pending(async move { oauth::token(&call, &body).await }),
        Endpoint::Mcp => Answer::pending(async move { mcp::answer(call, &body).await }),
    }
}

/// Runs what `endpoint` does under its deadline. If it has effects, a stop waits for it once it has
/// begun, and it is detached when nobody waits for it any more: then it finishes nevertheless. One
/// whose answer may be streamed is told so by the token that it is given. While it does not wait for
/// anything it knows no deadline: whoever asked for a lone commit waits as long as the disk does.
pub(crate) fn run(
    unfinished: &TaskTracker,
    endpoint: Endpoint,
    operation: impl FnOnce(Option<CancellationToken>) -> Outcome,
) -> Outcome {
    let deadline = endpoint.deadline();
    if endpoint.has_effects() {
        let unawaited = endpoint.may_be_streamed().then(CancellationToken::new);
        let effect = Effect {
            operation: Some(operation(unawaited.clone())),
            begun: None,
            _unawaited: unawaited.map(CancellationToken::drop_guard),
            unfinished: unfinished.clone(),
        };
        return Answer::pending(in_time(deadline, effect));
    }
    match operation(None) {
        Answer::Ready(outcome) => Answer::Ready(outcome),
        Answer::Pending(operation) => Answer::pending(in_time(deadline, operation)),
    }
}

/// An operation with effects, which finishes once it has begun: when this is dropped, because the
/// client has hung up or the deadline passed, it goes on by itself.
struct Effect {
    /// Nothing once it has finished.
    operation: Option<Outcome>,
    /// From then on a stop waits for it: whose task this is part of may be none that a stop knows.
    begun: Option<TaskTrackerToken>,
    _unawaited: Option<DropGuard>,
    unfinished: TaskTracker,
}

impl Future for Effect {
    type Output = Result<Reply, Problem>;

    fn poll(self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let Some(operation) = &mut this.operation else {
            // Nobody asks again.
            return Poll::Pending;
        };
        this.begun.get_or_insert_with(|| this.unfinished.token());
        let polled = pin!(catch_panic(operation)).poll(context);
        polled.map(|outcome| {
            this.operation = None;
            outcome.unwrap_or_else(|panic| Err(panicked(&*panic)))
        })
    }
}

impl Drop for Effect {
    fn drop(&mut self) {
        // Without a runtime there is nothing that it could go on with.
        if self.begun.is_some()
            && let Some(operation) = self.operation.take()
            && let Ok(runtime) = Handle::try_current()
        {
            self.unfinished.spawn_on(operation, &runtime);
        }
    }
}

/// What `operation` answers, or that it took too long.
async fn in_time(
    deadline: Duration,
    operation: impl Future<Output = Result<Reply, Problem>>,
) -> Result<Reply, Problem> {
    let too_late = |_elapsed| Err(Problem::of(Code::HandlerTimeout).because("deadline passed"));
    timeout(deadline, operation).await.unwrap_or_else(too_late)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::oneshot;
    use tokio::task::yield_now;

    use super::*;

    fn tasks() -> usize {
        Handle::current().metrics().num_alive_tasks()
    }

    /// A sign-up's operation that waits so often, and then tells how many tasks there are.
    fn counting(unfinished: &TaskTracker, waits: usize) -> Outcome {
        run(unfinished, Endpoint::Subscribe, move |_unawaited| {
            Answer::pending(async move {
                for _ in 0..waits {
                    yield_now().await;
                }
                Err(Problem::of(Code::InternalError).because(tasks()))
            })
        })
    }

    /// A sign-up's operation that goes on when it is told to, and then says so.
    fn waiting(unfinished: &TaskTracker) -> (Outcome, oneshot::Sender<()>, oneshot::Receiver<()>) {
        let ((go_on, told), (finished, is_finished)) = (oneshot::channel(), oneshot::channel());
        let operation = run(unfinished, Endpoint::Subscribe, |unawaited| {
            assert!(unawaited.is_none(), "nothing is streamed");
            Answer::pending(async move {
                told.await.unwrap();
                finished.send(()).unwrap();
                Err(Problem::of(Code::InternalError))
            })
        });
        (operation, go_on, is_finished)
    }

    async fn begin(operation: &mut Outcome) {
        let begun = poll_fn(|context| Poll::Ready(Pin::new(&mut *operation).poll(context)));
        assert!(begun.await.is_pending());
    }

    #[tokio::test]
    async fn an_operation_with_effects_is_not_detached_while_it_is_waited_for() {
        let unfinished = TaskTracker::new();
        for waits in 0..3 {
            let problem = counting(&unfinished, waits).await.unwrap_err();
            assert_eq!(problem.cause, Some(tasks().to_string().into()), "{waits}");
        }
        assert!(unfinished.is_empty());
    }

    #[tokio::test]
    async fn what_has_begun_finishes_without_whoever_asked() {
        let unfinished = TaskTracker::new();
        let (mut operation, go_on, is_finished) = waiting(&unfinished);
        begin(&mut operation).await;
        drop(operation);
        assert_eq!(unfinished.len(), 1);
        go_on.send(()).unwrap();
        assert_eq!(is_finished.await, Ok(()));
        unfinished.close();
        unfinished.wait().await;
    }

    #[tokio::test]
    async fn what_has_not_begun_never_does() {
        let unfinished = TaskTracker::new();
        let (operation, _go_on, is_finished) = waiting(&unfinished);
        drop(operation);
        assert!(unfinished.is_empty());
        assert!(is_finished.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_answered_and_finishes() {
        let unfinished = TaskTracker::new();
        let (operation, go_on, is_finished) = waiting(&unfinished);
        let problem = operation.await.unwrap_err();
        assert_eq!(problem.code, Code::HandlerTimeout);
        go_on.send(()).unwrap();
        assert_eq!(is_finished.await, Ok(()));
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_leaves_nothing_to_finish() {
        for waits in 0..2 {
            let unfinished = TaskTracker::new();
            let operation = run(&unfinished, Endpoint::Subscribe, |_unawaited| {
                Answer::pending(async move {
                    for _ in 0..waits {
                        yield_now().await;
                    }
                    panic!("a bug")
                })
            });
            let problem = operation.await.unwrap_err();
            assert_eq!(problem.code, Code::InternalError);
            assert!(problem.cause.unwrap().contains("a bug"));
            assert!(unfinished.is_empty());
        }
    }

    #[tokio::test]
    async fn an_operation_is_told_that_nobody_waits_for_it() {
        let unfinished = TaskTracker::new();
        let (finished, is_finished) = oneshot::channel();
        let mut operation = run(&unfinished, Endpoint::Chat, |unawaited| {
            Answer::pending(async move {
                unawaited.unwrap().cancelled().await;
                finished.send(()).unwrap();
                Err(Problem::of(Code::InternalError))
            })
        });
        begin(&mut operation).await;
        drop(operation);
        assert_eq!(is_finished.await, Ok(()));
    }
}
