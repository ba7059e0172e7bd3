//! Keys and revocations that have expired.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::ports::StoreError;

use super::connection::Connector;
use super::dedicated::DedicatedConnection;

const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// How long expired rows stay, in days: as long as in the ledger (`RETENTION_MS`), by the server's clock. So a
/// node whose clock is ahead deletes nothing that others still need.
const KEPT_DAYS: u32 = 400;

/// Deletes expired keys and revocations every hour. Nodes that do it at once wait for each other, and for nobody
/// else.
pub(super) async fn sweep_hourly(connector: Arc<Connector>) {
    loop {
        sleep(SWEEP_INTERVAL).await;
        let swept = match DedicatedConnection::open(&connector).await {
            Ok(connection) => sweep(&connection).await.map(|()| connection.leave()),
            Err(error) => Err(error),
        };
        if let Err(error) = swept {
            tracing::warn!(%error, "expired keys stay in the database for another hour");
        }
    }
}

/// Deletes keys and revocations that expired more than [`KEPT_DAYS`] ago.
pub(super) async fn sweep(connection: &DedicatedConnection) -> Result<(), StoreError> {
    for table in ["api_key", "revocation"] {
        let statement =
            format!("DELETE FROM {table} WHERE expires_at <= now() - interval '{KEPT_DAYS} days'");
        connection.ask(&statement, &[]).await?;
    }
    Ok(())
}
