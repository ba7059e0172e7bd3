//! The ledger.

use serde::{Deserialize, Serialize};

use crate::http::admin::reply::{self, AdminAnswer};
use crate::http::admin::request::AdminRequest;

/// What a compaction did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionReport {
    /// Entries before.
    pub entries_before: u64,
    /// Entries after.
    pub entries_after: u64,
    /// Size before, in bytes.
    pub bytes_before: u64,
    /// Size after, in bytes.
    pub bytes_after: u64,
}

/// Compacts the ledger.
pub(in crate::http::admin) async fn compact(request: AdminRequest) -> AdminAnswer {
    let done = request.app.maintenance.compact().await?;
    let report = CompactionReport {
        entries_before: done.entries_before,
        entries_after: done.entries_after,
        bytes_before: done.bytes_before,
        bytes_after: done.bytes_after,
    };
    tracing::info!(
        command = "ledger compact",
        entries.before = report.entries_before,
        entries.after = report.entries_after,
        "operator"
    );
    reply::json(&report)
}
