//! The ledger.

use serde::{Deserialize, Serialize};

use super::operation::{Answer, Operation, OperatorError, OperatorRequest};

pub static COMPACT: Operation =
    Operation::new("ledger compact", |request| Box::pin(compact(request)));

#[derive(Debug, Serialize, Deserialize)]
pub struct CompactionReport {
    pub entries_before: u64,
    pub entries_after: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
}

async fn compact(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let done = request.app.maintenance.compact().await?;
    tracing::info!(
        command = COMPACT.name,
        entries.before = done.entries_before,
        entries.after = done.entries_after,
        "operator"
    );
    Answer::one(&CompactionReport {
        entries_before: done.entries_before,
        entries_after: done.entries_after,
        bytes_before: done.bytes_before,
        bytes_after: done.bytes_after,
    })
}
