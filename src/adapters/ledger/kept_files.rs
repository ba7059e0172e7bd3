//! The files that a start or a repair kept next to the ledger for inspection. They may be damaged, so nobody can
//! tell which addresses they contain: an erasure removes them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::adapters::files::{Files, parent, sync_parent};

/// Names of these files: `ledger.`, one of these, a number.
const KINDS: [&str; 2] = ["cut", "damaged"];

/// Removes the kept files next to the ledger at `path`, durably. The error names the file that remains.
pub(super) fn remove_kept(files: &dyn Files, path: &Path) -> io::Result<()> {
    let kept = kept_files(path)?;
    if kept.is_empty() {
        return Ok(());
    }
    for file in &kept {
        let named = |error| io::Error::other(format!("{} may contain it: {error}", file.display()));
        files.remove(file).map_err(named)?;
    }
    tracing::warn!(
        files = kept.len(),
        "removed ledger.cut and ledger.damaged files because an address was erased"
    );
    sync_parent(files, path)
}

fn kept_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let stem = path.file_stem().unwrap_or_default().as_encoded_bytes();
    let mut kept = Vec::new();
    for entry in fs::read_dir(parent(path))? {
        let entry = entry?;
        let name = entry.file_name();
        let is_kept = name
            .as_encoded_bytes()
            .strip_prefix(stem)
            .and_then(|rest| str::from_utf8(rest).ok()?.strip_prefix('.'))
            .and_then(|rest| rest.split_once('.'))
            .is_some_and(|(kind, number)| KINDS.contains(&kind) && number.parse::<u32>().is_ok());
        if is_kept && entry.file_type()?.is_file() {
            kept.push(entry.path());
        }
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::files::SystemFiles;

    #[test]
    fn only_regular_files_of_these_names_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let file = |name: &str| root.path().join(name);
        let others = [
            "ledger.cut",
            "ledger.cut.x",
            "ledger.cut.1.bak",
            "ledger.other.1",
            "xledger.cut.1",
            "ledger.jsonl",
            "notes",
        ];
        let kept = [
            "ledger.cut.3",
            "ledger.damaged.1",
            "ledger.damaged.4294967295",
        ];
        for name in others.iter().chain(&kept) {
            fs::write(file(name), "ada@example.com").unwrap();
        }
        fs::create_dir(file("ledger.cut.1")).unwrap();
        std::os::unix::fs::symlink("notes", file("ledger.cut.2")).unwrap();
        for _ in 0..2 {
            remove_kept(&SystemFiles, &file("ledger.jsonl")).unwrap();
            for name in others.iter().chain(&["ledger.cut.1", "ledger.cut.2"]) {
                assert!(file(name).exists(), "{name}");
            }
            for name in kept {
                assert!(!file(name).exists(), "{name}");
            }
        }
    }
}
