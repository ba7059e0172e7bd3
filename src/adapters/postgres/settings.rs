//! What the store is opened with.

use std::fmt;

use crate::adapters::outbound::Roots;
use crate::domain::secret::MacKey;

use super::address::PostgresAddress;

/// What the store is opened with.
#[derive(Clone)]
pub struct PostgresSettings {
    /// Where the database is.
    pub address: PostgresAddress,
    /// The password, if the address has none.
    pub password: Option<String>,
    /// The authorities that certify the servers, if [`PostgresAddress::may_use_tls`].
    pub roots: Roots,
    /// The keys that hash forgotten addresses, the current one first.
    pub tombstone_keys: Vec<MacKey>,
    /// The ids of the secrets that are believed, the current one first.
    pub secret_ids: Vec<String>,
}

impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresSettings(..)")
    }
}
