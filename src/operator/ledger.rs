//! The ledger.

use serde_json::json;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const COMPACT: &str = "ledger compact";

pub(super) async fn compact(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let done = request.app.maintenance.compact().await?;
    tracing::info!(
        command = COMPACT,
        entries.before = done.entries_before,
        entries.after = done.entries_after,
        "operator"
    );
    Answer::one(&json!({
        "entries_before": done.entries_before,
        "entries_after": done.entries_after,
        "bytes_before": done.bytes_before,
        "bytes_after": done.bytes_after,
    }))
}
