//! The operations as tools: the same parsers, the same use cases, the same answers.

use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::route::{Endpoint, Plain};
use crate::http::wire::{self, Errors, Unknown};
use crate::site::tools::Tool;

use super::{Call, assistant, health, keys, newsletter, sandbox};

/// The operation that a tool is.
pub(crate) const fn endpoint(tool: Tool) -> Endpoint {
    match tool {
        Tool::CheckHealth => Endpoint::Plain(Plain::Health),
        Tool::Echo => Endpoint::Echo,
        Tool::SubscribeNewsletter => Endpoint::Subscribe,
        Tool::AskAssistant => Endpoint::Chat,
        Tool::GetAssistantQuota => Endpoint::Quota,
        Tool::CreateApiKey => Endpoint::IssueKey,
    }
}

/// Does what `tool` does, with `arguments`, a JSON object, in place of a body. The answer is JSON.
///
/// # Errors
/// The problem to be told.
pub(crate) async fn call_tool(tool: Tool, call: &Call, arguments: &[u8]) -> Result<Reply, Problem> {
    match tool {
        Tool::CheckHealth => {
            read_nothing(arguments)?;
            health::health(&call.context).await
        }
        Tool::Echo => sandbox::echo(call, arguments),
        Tool::SubscribeNewsletter => newsletter::subscribe(call, arguments).await,
        Tool::AskAssistant => assistant::ask(call, arguments).await,
        Tool::GetAssistantQuota => {
            read_nothing(arguments)?;
            assistant::quota(call).await
        }
        Tool::CreateApiKey => keys::issue(call, arguments).await,
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
