//! A ledger's first line.

use std::io;

use serde::{Deserialize, Serialize};

use super::line;

/// The newest format that is read, and the only one that is written.
pub(crate) const FORMAT: u64 = 1;

/// What a ledger says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The format of all lines.
    pub(crate) format: u64,
    /// Counts how often the ledger was written anew.
    pub(crate) generation: u64,
    /// How many lines were synced before this generation took the ledger's name. None of them
    /// can be the rest of a batch that was never acknowledged, even if they are the last.
    pub(crate) base: u64,
    /// The id of the secret that the events' hashes were made with.
    pub(crate) secret: String,
}

/// Why a line is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadFlaw {
    /// It is of that format, which is newer than this version.
    Newer(u64),
    /// It is not as it was written.
    Damaged,
}

impl Head {
    /// Reads a head without its newline.
    pub(super) fn parse(line: &[u8]) -> Result<Self, HeadFlaw> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        // A later format may be sealed in another way: what it is comes before whether it is good.
        if let Ok(Format { format }) = serde_json::from_slice(line)
            && format > FORMAT
        {
            return Err(HeadFlaw::Newer(format));
        }
        let head = serde_json::from_slice(line).ok();
        head.filter(|_| line::checked(line).is_some())
            .ok_or(HeadFlaw::Damaged)
    }

    /// Appends the head with its newline to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let members = serde_json::to_vec(self)?;
        let members = members.strip_prefix(b"{").unwrap_or(&members);
        line::seal(out, &[b",", members]);
        Ok(())
    }
}
