//! A ledger's first line.

use std::io;

use serde::{Deserialize, Serialize};

use super::line::{self, Flaw};

/// The only supported format.
pub(crate) const FORMAT: u64 = 7;

/// The length of a head, in bytes.
pub(super) const LENGTH: usize = 128;

/// The head of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The format of all lines.
    pub(crate) format: u64,
    /// Counts compactions, from 1.
    pub(crate) generation: u64,
    /// Number of lines synced before this generation was published. All of them are acknowledged, so none of
    /// them can be a torn end. Filled in when it is published, so the head has a fixed length.
    pub(crate) base: u64,
    /// Id of the secret with which the events' hashes were made.
    pub(crate) secret: String,
}

impl Head {
    /// Parses a head without its newline.
    pub(super) fn parse(line: &[u8]) -> Result<Self, Flaw> {
        #[derive(Deserialize)]
        struct Format {
            format: u64,
        }
        let is_sealed = line::checked(line).is_some();
        // Another format may have another checksum. One that looks like ours must match.
        if let Ok(Format { format }) = serde_json::from_slice(line)
            && format != FORMAT
            && (is_sealed || !line.starts_with(line::CRC_OPEN))
        {
            return Err(Flaw::Foreign(format));
        }
        let head = serde_json::from_slice(line).ok();
        head.filter(|_| is_sealed).ok_or_else(|| Flaw::Damaged {
            line: 1,
            reason: "the head is corrupt".to_owned(),
        })
    }

    /// The head with its newline, padded with spaces before the last brace to 128 bytes.
    pub(super) fn to_line(&self) -> io::Result<Vec<u8>> {
        line::seal(self, LENGTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handbook_tells_the_format() {
        let handbook = include_str!("../../../../data/handbook/operate.md");
        assert!(handbook.contains(&format!("format, which is {FORMAT}.")));
    }
}
