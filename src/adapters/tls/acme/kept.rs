//! The files in `DATA_DIR/tls`: `certificate.pem`, the certificate with its key, so that they always match; and
//! `acme.json`, the account and the last order.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::adapters::files::data_dir::create_private;
use crate::adapters::files::operator_file;
use crate::adapters::files::{SystemFiles, if_there, write_whole};
use crate::domain::certificate_order::LastOrder;
use crate::domain::macros::hidden;
use crate::domain::time::Timestamp;

/// The account and the last order.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) directory: String,
    pub(super) names: Vec<String>,
    /// Start of the last order. It is stored as failed before it begins.
    pub(super) at_ms: Option<u64>,
    pub(super) failures: u32,
    /// The reason why it failed.
    pub(super) error: Option<String>,
    /// The authority that issued the certificate in use.
    pub(super) issued_by: Option<String>,
    /// The account's contact address.
    pub(super) email: Option<String>,
    /// The account's credentials, which the library cannot copy.
    pub(super) account: Option<Value>,
}

hidden!(State);

impl State {
    /// The same for these settings: another authority or contact address needs another account, and orders of other
    /// names do not count.
    pub(super) fn of(self, directory: &str, names: &[String], email: Option<&str>) -> Self {
        let is_same_account = self.directory == directory && self.email.as_deref() == email;
        let order = if self.directory == directory && self.names == names {
            self.clone()
        } else {
            Self::default()
        };
        Self {
            directory: directory.to_owned(),
            names: names.to_vec(),
            email: email.map(str::to_owned),
            account: self.account.filter(|_| is_same_account),
            issued_by: self.issued_by,
            ..order
        }
    }

    pub(super) fn last(&self) -> Option<LastOrder> {
        self.at_ms.map(|at_ms| LastOrder {
            at: Timestamp::from_ms(at_ms),
            failures: self.failures,
        })
    }
}

/// The directory.
#[derive(Clone, Debug)]
pub(super) struct Kept(pub(super) PathBuf);

impl Kept {
    pub(super) fn certificate(&self) -> io::Result<Option<String>> {
        if_there(operator_file::read(&self.0.join("certificate.pem")))
    }

    pub(super) fn keep_certificate(&self, pem: &str) -> io::Result<()> {
        self.write("certificate.pem", pem.as_bytes())
    }

    pub(super) fn state(&self) -> io::Result<State> {
        let path = self.0.join("acme.json");
        let Some(text) = if_there(operator_file::read(&path))? else {
            return Ok(State::default());
        };
        // The parser's error might quote a key.
        serde_json::from_str(&text)
            .map_err(|_error| io::Error::other(format!("{} is damaged: remove it", path.display())))
    }

    pub(super) fn keep(&self, state: &State) -> io::Result<()> {
        self.write("acme.json", &serde_json::to_vec(state)?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        create_private(&SystemFiles, &self.0)?;
        write_whole(&SystemFiles, &self.0.join(name), bytes)
    }
}
