//! The operations as tools: the same parsers, the same use cases, the same answers.

use crate::http::context::RequestContext;
use crate::http::mcp;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::route::Endpoint;
use crate::http::wire::{self, Errors, Unknown};
use crate::site::tools::Tool;
use crate::usecases::chat::Asker;

use super::{assistant, health, keys, newsletter, run, sandbox};

/// `POST /mcp`. A tool runs as its endpoint does; its arguments take the place of the body.
pub(super) async fn answer(context: RequestContext, body: &[u8]) -> Result<Reply, Problem> {
    let run_tool = |tool, arguments: String| {
        run(endpoint(tool), context.clone(), move |context| {
            Box::pin(async move { call(tool, &context, arguments.as_bytes()).await })
        })
    };
    let toolbox = &context.state.toolbox;
    mcp::answer(toolbox, context.id, context.headers(), body, run_tool).await
}

const fn endpoint(tool: Tool) -> Endpoint {
    match tool {
        Tool::CheckHealth => Endpoint::Health,
        Tool::Echo => Endpoint::Echo,
        Tool::SubscribeNewsletter => Endpoint::Subscribe,
        Tool::AskAssistant => Endpoint::Chat,
        Tool::GetAssistantQuota => Endpoint::Quota,
        Tool::CreateApiKey => Endpoint::IssueKey,
    }
}

async fn call(tool: Tool, context: &RequestContext, arguments: &[u8]) -> Result<Reply, Problem> {
    match tool {
        Tool::CheckHealth => {
            read_nothing(arguments)?;
            health::health(context).await
        }
        Tool::Echo => sandbox::echo(context, arguments),
        Tool::SubscribeNewsletter => newsletter::subscribe(context, arguments).await,
        Tool::AskAssistant => assistant::ask(context, arguments).await,
        Tool::GetAssistantQuota => {
            read_nothing(arguments)?;
            assistant::quota(context, Asker::Program).await
        }
        Tool::CreateApiKey => keys::issue(context, arguments).await,
    }
}

/// Reads the arguments of a tool that takes none.
fn read_nothing(arguments: &[u8]) -> Result<(), Problem> {
    let mut errors = Errors::default();
    let nothing = wire::parse(arguments)?
        .object(&mut errors)
        .map(|object| object.finish(Unknown::Rejected, &mut errors));
    errors.finish(nothing)
}
