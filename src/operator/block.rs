//! Blocked networks.

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;

use crate::domain::BlockedNetwork;

use super::operation::{Answer, OperatorError, OperatorRequest, Params};

pub const LIST: &str = "block list";
pub const ADD: &str = "block add";
pub const REMOVE: &str = "block remove";

/// Maximum number of blocked networks.
const BLOCKS_MAX: usize = 10_000;

/// Lists the blocked networks; `since` is in RFC 3339.
pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let blocks = request.app.blocks.list();
    tracing::info!(command = LIST, "operator");
    Answer::rows(stream::iter([Ok(blocks)]).boxed(), |block| {
        json!({
            "network": block.network.to_string(),
            "since": block.since.to_rfc3339(),
        })
    })
}

/// Blocks `network`. The result is `blocked` or `blocked before`.
pub(super) async fn add(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (blocks, network) = (&request.app.blocks, network(&request.params)?);
    if blocks.list().len() >= BLOCKS_MAX {
        let full =
            "10,000 networks are blocked, which is the maximum: replace some with larger ones";
        return Err(OperatorError::Input(full.to_owned()));
    }
    let is_new = blocks.add(network, request.app.clock.now()).await?;
    let result = if is_new { "blocked" } else { "blocked before" };
    // The log contains no address.
    tracing::info!(command = ADD, result, "operator");
    Answer::one(&json!({"network": network.to_string(), "result": result}))
}

/// Removes the block of `network`. Another one may still cover some of its addresses.
pub(super) async fn remove(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (blocks, network) = (&request.app.blocks, network(&request.params)?);
    if !blocks.remove(network).await? {
        let other = "this exact network is not blocked; see the list of blocks";
        return Err(OperatorError::NotFound(other.to_owned()));
    }
    let result = "removed";
    tracing::info!(command = REMOVE, result, "operator");
    Answer::one(&json!({"network": network.to_string(), "result": result}))
}

fn network(params: &Params) -> Result<BlockedNetwork, OperatorError> {
    let parse = |text: &str| {
        let parsed = BlockedNetwork::parse(text);
        parsed.map_err(|error| format!("the network {error}"))
    };
    let missing = || OperatorError::Input("give a network".to_owned());
    params.parsed("network", parse)?.ok_or_else(missing)
}
