//! Connecting to the host that takes writes.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_util::sync::CancellationToken;

use crate::adapters::files::operator_file::PasswordFile;
use crate::adapters::outbound::tls_config;

use super::address::{PostgresAddress, PostgresSettings};
use super::error::PostgresOpenError;
use super::schema::check;

/// The deadline of looking a host up, connecting, TLS and logging in together, which takes seven round trips.
pub(super) const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// The deadline of a connection that was left over to show that it still works.
const SPARE_DEADLINE: Duration = Duration::from_secs(1);

/// How long the other hosts may take once one has refused. A host that is gone would hold the next attempt
/// up, and by then a standby may have been promoted.
const OTHERS_DEADLINE: Duration = Duration::from_secs(3);

/// A connection. It ends with this value.
pub(super) struct PostgresConnection {
    pub(super) client: Client,
    /// Cancelled when it is of no use any more.
    gone: CancellationToken,
}

impl PostgresConnection {
    /// Drops the connection, and with it all that others wait for on it.
    pub(super) fn give_up(&self) {
        self.gone.cancel();
    }

    /// It answers, and changes can be made on it.
    pub(super) async fn takes_writes(&self) -> bool {
        let asked = self.client.query_typed("SHOW transaction_read_only", &[]);
        asked.await.is_ok_and(|rows| {
            rows.first()
                .is_some_and(|row| row.try_get(0).is_ok_and(|is_on: &str| is_on == "off"))
        })
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Waits until it is of no use any more.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }
}

impl Drop for PostgresConnection {
    fn drop(&mut self) {
        self.gone.cancel();
    }
}

/// What connections are made with.
pub(super) struct Connector {
    address: PostgresAddress,
    password_file: Option<PasswordFile>,
    tls: MakeRustlsConnect,
    secret_ids: Vec<String>,
    /// One that nobody uses: most work on a connection of its own is short, such as one click.
    spare: Mutex<Option<PostgresConnection>>,
}

impl Connector {
    pub(super) fn new(settings: &PostgresSettings) -> Result<Self, PostgresOpenError> {
        let tls = tls_config(settings.roots.clone());
        let tls = tls.map_err(|error| PostgresOpenError::Tls(error.to_string()))?;
        if settings.address.has_password() && settings.password_file.is_some() {
            return Err(PostgresOpenError::TwoPasswords);
        }
        Ok(Self {
            address: settings.address.clone(),
            password_file: settings.password_file.clone(),
            tls: MakeRustlsConnect::new(tls),
            secret_ids: settings.secret_ids.clone(),
            spare: Mutex::default(),
        })
    }

    /// The hosts and the database, for the log.
    pub(super) fn name(&self) -> &str {
        &self.address.name
    }

    /// A connection for work of its own: the one that is left over, if it works, or a new one.
    pub(super) async fn connection(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let spare = self.spare.lock().take();
        if let Some(spare) = spare.filter(|connection| !connection.is_gone())
            && let Ok(true) = timeout(SPARE_DEADLINE, spare.takes_writes()).await
        {
            return Ok(spare);
        }
        self.connect().await
    }

    /// Leaves a connection over on which nothing is under way.
    pub(super) fn leave(&self, connection: PostgresConnection) {
        *self.spare.lock() = Some(connection);
    }

    /// Connects to the first host that takes writes, and checks that its tables are the right ones.
    pub(super) async fn connect(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let connection = self.connect_unchecked().await?;
        let checked = timeout(
            CONNECT_DEADLINE,
            check(&connection.client, &self.secret_ids),
        )
        .await;
        checked.unwrap_or_else(|_elapsed| Err(silent()))?;
        Ok(connection)
    }

    /// Connects to the first host that takes writes. Of several errors the one that does not go away by
    /// itself is returned.
    pub(super) async fn connect_unchecked(&self) -> Result<PostgresConnection, PostgresOpenError> {
        let password = match &self.password_file {
            Some(file) => Some(file.read().await.map_err(PostgresOpenError::PasswordFile)?),
            None => None,
        };
        let hosts = self.address.configs(password.as_deref());
        let addresses = join_all(hosts.into_iter().map(by_address)).await.concat();
        let trials = addresses.iter().map(|address| self.try_address(address));
        let mut trials: FuturesUnordered<_> = trials.collect();
        let (mut refused, mut patience) = (None, CONNECT_DEADLINE);
        while let Ok(Some(tried)) = timeout(patience, trials.next()).await {
            match tried {
                Ok(connection) => return Ok(connection),
                Err(error) if refused.as_ref().is_none_or(PostgresOpenError::is_transient) => {
                    refused = Some(error);
                }
                Err(_) => {}
            }
            patience = OTHERS_DEADLINE;
        }
        Err(refused.unwrap_or_else(silent))
    }

    async fn try_address(&self, address: &Config) -> Result<PostgresConnection, PostgresOpenError> {
        let connected = timeout(CONNECT_DEADLINE, address.connect(self.tls.clone())).await;
        let connected = connected.map_err(|_elapsed| silent())?;
        let (client, driver) = connected?;
        let gone = CancellationToken::new();
        let connection = PostgresConnection {
            client,
            gone: gone.clone(),
        };
        tokio::spawn(async move {
            // Its errors are those of the statements.
            drop(gone.run_until_cancelled(driver).await);
            gone.cancel();
        });
        Ok(connection)
    }
}

/// A configuration for each address of a host: one that drops packets holds up no other. A name that is not found is
/// left to the driver, whose error says so.
async fn by_address(host: Config) -> Vec<Config> {
    let found = match (host.get_hosts(), host.get_ports()) {
        ([Host::Tcp(name)], [port]) => {
            let found = timeout(CONNECT_DEADLINE, lookup_host((name.as_str(), *port))).await;
            found.ok().and_then(Result::ok).map(Vec::from_iter)
        }
        _ => None,
    };
    let Some(addresses) = found else {
        return vec![host];
    };
    let of_address = |address: SocketAddr| host.clone().hostaddr(address.ip()).clone();
    addresses.into_iter().map(of_address).collect()
}

fn silent() -> PostgresOpenError {
    PostgresOpenError::Unreachable("no answer".to_owned())
}
