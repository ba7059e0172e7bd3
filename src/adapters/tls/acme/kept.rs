//! The files in `DATA_DIR/tls`: the account, the certificate with its key, and the last order.
//!
//! The certificate and its key are in one file, so that they always match.

use std::io;
use std::path::{Path, PathBuf};

use instant_acme::AccountCredentials;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::adapters::files::data_dir::create_private;
use crate::adapters::files::operator_file;
use crate::adapters::files::{SystemFiles, if_there, remove_for_good, write_whole};
use crate::domain::certificate_order::LastOrder;
use crate::domain::time::Timestamp;

/// The last order and its result. Stored before the order begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Order {
    /// The authority, and the names.
    pub(super) directory: String,
    pub(super) names: Vec<String>,
    pub(super) at_ms: u64,
    pub(super) failures: u32,
    /// The reason why it failed.
    pub(super) error: Option<String>,
    /// The authority that issued the certificate in use.
    pub(super) issued_by: Option<String>,
}

impl Order {
    pub(super) fn last(&self) -> LastOrder {
        LastOrder {
            at: Timestamp::from_ms(self.at_ms),
            failures: self.failures,
        }
    }
}

/// An account, its authority, and the contact address known to the authority.
#[derive(Serialize, Deserialize)]
pub(super) struct KeptAccount {
    pub(super) directory: String,
    pub(super) email: Option<String>,
    pub(super) credentials: AccountCredentials,
}

/// The directory.
#[derive(Clone, Debug)]
pub(super) struct Kept(pub(super) PathBuf);

impl Kept {
    pub(super) fn certificate(&self) -> io::Result<Option<String>> {
        if_there(operator_file::read(&self.path("certificate.pem")))
    }

    pub(super) fn keep_certificate(&self, pem: &str) -> io::Result<()> {
        self.write("certificate.pem", pem.as_bytes())
    }

    /// The last order; `None` if there was none.
    pub(super) fn order(&self) -> io::Result<Option<Order>> {
        self.json("order.json")
    }

    pub(super) fn keep_order(&self, order: &Order) -> io::Result<()> {
        self.write("order.json", &serde_json::to_vec(order)?)
    }

    pub(super) fn account(&self) -> io::Result<Option<KeptAccount>> {
        self.json("account.json")
    }

    pub(super) fn keep_account(&self, account: &KeptAccount) -> io::Result<()> {
        self.write("account.json", &serde_json::to_vec(account)?)
    }

    /// Records the contact address known to the authority.
    pub(super) fn keep_email(&self, email: Option<String>) -> io::Result<()> {
        match self.account()? {
            Some(account) => self.keep_account(&KeptAccount { email, ..account }),
            None => Ok(()),
        }
    }

    pub(super) fn forget_account(&self) -> io::Result<()> {
        remove_for_good(&SystemFiles, &self.path("account.json"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        let path = self.path(name);
        let Some(text) = if_there(operator_file::read(&path))? else {
            return Ok(None);
        };
        // The parser's error might quote a key.
        let parsed = serde_json::from_str(&text);
        parsed.map(Some).map_err(|_error| broken(&path))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        create_private(&SystemFiles, &self.0)?;
        write_whole(&SystemFiles, &self.path(name), bytes)
    }
}

fn broken(path: &Path) -> io::Error {
    io::Error::other(format!("{} is damaged: remove it", path.display()))
}
