//! A ledger's first line.

use std::io;

use serde::{Deserialize, Serialize};

use super::line::{self, Flaw};

/// The only format that is read and written.
pub(crate) const FORMAT: u64 = 5;

/// The length of a head, in bytes.
pub(super) const LENGTH: usize = 128;

/// What a ledger states about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The format of all lines.
    pub(crate) format: u64,
    /// Counts compactions, from 1.
    pub(crate) generation: u64,
    /// How many lines were synced before this generation took the ledger's name. All of them are
    /// acknowledged, so none of them can be a torn end. Filled in then, so the head has a fixed length.
    pub(crate) base: u64,
    /// The id of the secret that the events' hashes were made with.
    pub(crate) secret: String,
}

impl Head {
    /// Reads a head without its newline.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Flaw> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let is_sealed = line::checked(line).is_some();
        // Another format may have another checksum. One that looks like ours has to match.
        if let Ok(Format { format }) = serde_json::from_slice(line)
            && format != FORMAT
            && (is_sealed || !line.starts_with(line::CRC_OPEN))
        {
            return Err(Flaw::Foreign(format));
        }
        let head = serde_json::from_slice(line).ok();
        head.filter(|_| is_sealed).ok_or_else(|| Flaw::Damaged {
            line: 1,
            reason: "the head is not as it was written".to_owned(),
        })
    }

    /// The head with its newline, which spaces before the last brace make 128 bytes long.
    pub(super) fn to_line(&self) -> io::Result<Vec<u8>> {
        line::seal(self, LENGTH)
    }
}
