//! Keys and revocations that have expired.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_postgres::types::Type;

use crate::domain::time::Timestamp;
use crate::ports::{Clock, StoreError};

use super::connection::Connector;
use super::dedicated::DedicatedConnection;
use super::link::Parameters;
use super::values::instant;

const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// Deletes expired keys and revocations every hour. Nodes that do it at once wait for each other, and for nobody
/// else.
pub(super) async fn sweep_hourly(connector: Arc<Connector>, clock: Arc<dyn Clock>) {
    loop {
        sleep(SWEEP_INTERVAL).await;
        let swept = match DedicatedConnection::open(&connector).await {
            Ok(connection) => sweep(&connection, clock.now()).await,
            Err(error) => Err(error),
        };
        if let Err(error) = swept {
            tracing::warn!(%error, "expired keys stay in the database for another hour");
        }
    }
}

/// Deletes them.
pub(super) async fn sweep(
    connection: &DedicatedConnection,
    now: Timestamp,
) -> Result<(), StoreError> {
    let now = instant(now);
    for table in ["api_key", "revocation"] {
        let statement = format!("DELETE FROM {table} WHERE expires_at <= $1");
        let parameters: Parameters<'_> = &[(&now, Type::TIMESTAMPTZ)];
        connection.ask(&statement, parameters).await?;
    }
    Ok(())
}
