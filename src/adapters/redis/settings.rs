//! Where the windows are, and how to get in.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::io::tcp::TcpSettings;
use redis::{
    Client, ConnectionAddr, IntoConnectionInfo as _, RedisConnectionInfo, RedisResult,
    TlsCertificates,
};

use crate::adapters::operator_file::PasswordFile;
use crate::adapters::outbound::Roots;

use super::address::RedisAddress;
use super::link::failure;

/// The deadline of a connection, with DNS, TLS and the log-in, which takes several round trips. Nobody
/// waits for it but a start.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// The deadline of an answer.
const ANSWER_DEADLINE: Duration = Duration::from_secs(1);
/// How many calls, and how many bytes of them, are collected for one write.
const COLLECTED_CALLS_MAX: usize = 1024;
const COLLECTED_BYTES_MAX: usize = 64 * 1024;

/// Where the windows are, and how to get in.
#[derive(Clone)]
pub struct RedisSettings {
    /// Where.
    pub address: RedisAddress,
    /// Has the password, unless the address does.
    pub password_file: Option<PasswordFile>,
    /// Whose certificates are believed, with TLS.
    pub roots: Roots,
}

/// Which of them holds is not guessed.
const TWO_PASSWORDS: &str = "the password is in the URL and in a file: remove one of them";
const NO_PASSWORD: &str = "the URL names a user, and the password is missing";

impl RedisSettings {
    /// A connection, which is made when it is first used. One that is lost is replaced in the background, and no
    /// call is repeated. All addresses of a name are tried.
    ///
    /// # Errors
    /// When the settings cannot be right, or the file of the password cannot be read.
    pub(super) async fn connection(&self) -> Result<ConnectionManager, String> {
        let password = match (&self.address.password, &self.password_file) {
            (Some(_), Some(_)) => return Err(TWO_PASSWORDS.to_owned()),
            (None, None) if self.address.user.is_some() => return Err(NO_PASSWORD.to_owned()),
            (None, Some(file)) => Some(file.read().await?),
            (password, None) => password.clone(),
        };
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(CONNECT_DEADLINE))
            .set_response_timeout(Some(ANSWER_DEADLINE))
            // The link tries again.
            .set_number_of_retries(0)
            .set_pipeline_buffer_size(COLLECTED_CALLS_MAX)
            .set_write_backpressure_boundary(COLLECTED_BYTES_MAX);
        let client = self.client(password);
        let connection = client.and_then(|client| client.get_connection_manager_lazy(config));
        connection.map_err(|error| failure(error).0)
    }

    fn client(&self, password: Option<String>) -> RedisResult<Client> {
        let RedisAddress {
            is_tls, host, port, ..
        } = self.address.clone();
        let address = if is_tls {
            ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host, port)
        };
        let mut login = RedisConnectionInfo::default().set_db(self.address.database);
        if let Some(user) = &self.address.user {
            login = login.set_username(user);
        }
        if let Some(password) = password {
            login = login.set_password(password);
        }
        let info = address
            .into_connection_info()?
            .set_redis_settings(login)
            .set_tcp_settings(TcpSettings::default().set_nodelay(true));
        if !is_tls {
            return Client::open(info);
        }
        let authorities = TlsCertificates {
            client_tls: None,
            root_cert: Some(self.roots.pem().into_bytes()),
        };
        Client::build_with_tls(info, authorities)
    }
}
