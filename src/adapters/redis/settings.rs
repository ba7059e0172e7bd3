//! Where the windows are, and how to get in.

use std::sync::Arc;

use redis::RedisConnectionInfo;

use crate::adapters::operator_file::PasswordFile;
use crate::adapters::outbound::{Roots, tls_config};

use super::address::RedisAddress;
use super::link::Access;
use super::script::hash;

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
    /// How the server is connected to.
    ///
    /// # Errors
    /// When the settings cannot be right.
    pub(super) fn access(self) -> Result<Access, String> {
        let address = self.address;
        match (&address.password, &self.password_file) {
            (Some(_), Some(_)) => return Err(TWO_PASSWORDS.to_owned()),
            (None, None) if address.user.is_some() => return Err(NO_PASSWORD.to_owned()),
            (_, _) => {}
        }
        let mut login = RedisConnectionInfo::default().set_db(address.database);
        if let Some(password) = address.password {
            login = login.set_password(password);
        }
        if let Some(user) = address.user {
            login = login.set_username(user);
        }
        let tls = address.is_tls.then(|| tls_config(self.roots)).transpose();
        let tls = tls.map_err(|error| format!("TLS: {error}"))?;
        Ok(Access {
            login,
            password_file: self.password_file,
            tls: tls.map(Arc::new),
            hash: hash(),
        })
    }
}
