//! Where the windows are, and how to get in.

use std::fmt;
use std::sync::Arc;

use redis::RedisConnectionInfo;

use crate::adapters::outbound::{Roots, tls_config};

use super::address::RedisAddress;
use super::link::Access;
use super::script::WindowScript;

/// Where the windows are, and how to get in.
#[derive(Clone)]
pub struct RedisSettings {
    /// Where.
    pub address: RedisAddress,
    /// The password, unless the address has one.
    pub password: Option<String>,
    /// Whose certificates are believed, with TLS.
    pub roots: Roots,
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedisSettings(..)")
    }
}

/// The settings cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedisSettingsError {
    /// Which of them holds is not guessed.
    #[error("the password is in the URL and in a file: remove one of them")]
    TwoPasswords,
    /// A user alone cannot log in.
    #[error("the URL names a user, and the password is missing")]
    NoPassword,
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
}

impl RedisSettings {
    /// How the servers are connected to.
    pub(super) fn access(self, script: Arc<WindowScript>) -> Result<Access, RedisSettingsError> {
        let address = self.address;
        let password = match (address.password, self.password) {
            (Some(_), Some(_)) => return Err(RedisSettingsError::TwoPasswords),
            (one, other) => one.or(other),
        };
        let mut login = RedisConnectionInfo::default().set_db(address.database);
        match (address.user, password) {
            (Some(_), None) => return Err(RedisSettingsError::NoPassword),
            (user, Some(password)) => {
                login = login.set_password(password);
                if let Some(user) = user {
                    login = login.set_username(user);
                }
            }
            (None, None) => {}
        }
        let tls = match address.is_tls {
            true => {
                let config = tls_config(self.roots);
                let config = config.map_err(|error| RedisSettingsError::Tls(error.to_string()))?;
                Some(Arc::new(config))
            }
            false => None,
        };
        Ok(Access { login, tls, script })
    }
}
