//! The files in `DATA_DIR/tls`: `certificate.pem`, the certificate with its key, so that they always match; and
//! `acme.json`, the account and the last order.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::adapters::files::data_dir::create_private;
use crate::adapters::files::operator_file;
use crate::adapters::files::{SystemFiles, if_there, write_whole};
use crate::domain::macros::hidden;

pub(super) const CERTIFICATE: &str = "certificate.pem";
pub(super) const STATE: &str = "acme.json";

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
    /// The account's credentials, which the library cannot copy.
    pub(super) account: Option<Value>,
}

hidden!(State);

impl State {
    /// The same for these settings: another authority needs another account, and orders of other names do not count.
    pub(super) fn of(self, directory: &str, names: &[String]) -> Self {
        let is_same_authority = self.directory == directory;
        if is_same_authority && self.names == names {
            return self;
        }
        Self {
            directory: directory.to_owned(),
            names: names.to_vec(),
            account: self.account.filter(|_| is_same_authority),
            issued_by: self.issued_by,
            ..Self::default()
        }
    }

    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let path = dir.join(STATE);
        let Some(text) = if_there(operator_file::read(&path))? else {
            return Ok(Self::default());
        };
        // The parser's error might quote a key.
        serde_json::from_str(&text)
            .map_err(|_error| io::Error::other(format!("{} is damaged: remove it", path.display())))
    }
}

/// Replaces a file in the directory.
pub(super) async fn keep(dir: &Path, name: &'static str, bytes: Vec<u8>) -> io::Result<()> {
    let dir = dir.to_path_buf();
    let written = spawn_blocking(move || {
        create_private(&SystemFiles, &dir)?;
        write_whole(&SystemFiles, &dir.join(name), &bytes)
    });
    written
        .await
        .unwrap_or_else(|panic| Err(io::Error::other(panic)))
}
