//! The files that a start or a repair kept beside the ledger for people to look at, and addresses in them
//! that were forgotten: they are blanked in place.
//!
//! A file may be damaged or torn, so it is not read as JSON. What counts as a word is a run of the
//! characters of addresses and of JSON's escapes; a word that spells a forgotten address is overwritten.
//! So is the beginning of one at the end of the file.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::adapters::files::{BUFFER_BYTES, Files, parent};

use super::record::{Event, EventLines, Flaw, Place};

/// What such files are called: `ledger.`, one of these, a number.
const KINDS: [&str; 2] = ["cut", "damaged"];

/// The longest spelling of an address: every character as `\u0000`.
const WORD_BYTES_MAX: usize = 6 * 254;

const BLANK: u8 = b'*';

/// The addresses that the ledger in `file` records as forgotten. A process did not end their erasure.
pub(super) fn forgotten(file: &File) -> Result<HashSet<String>, Flaw> {
    let mut forgotten = HashSet::new();
    for line in EventLines::new(file, 0, Place::MAX) {
        if let (_, Some(Event::ContactForgotten { email, .. })) = line? {
            forgotten.insert(email);
        }
    }
    Ok(forgotten)
}

/// Blanks `addresses` in the kept files beside the ledger at `path`. Returns every file that had one of
/// them, and every failure, which is logged, too: the file may still have one.
pub(super) fn blank(
    files: &dyn Files,
    path: &Path,
    addresses: &HashSet<String>,
) -> Vec<(PathBuf, Result<(), String>)> {
    let kept = match kept_files(path) {
        Ok(kept) => kept,
        Err(error) => return vec![(path.with_extension("*"), failed(&error))],
    };
    let blanked = kept.into_iter().map(|kept| {
        let words = blank_in(files, &kept, addresses);
        (kept, words)
    });
    blanked
        .filter_map(|(kept, words)| match words {
            Ok(0) => None,
            Ok(_words) => Some((kept, Ok(()))),
            Err(error) => Some((kept, failed(&error))),
        })
        .collect()
}

fn failed(error: &io::Error) -> Result<(), String> {
    tracing::warn!(
        %error,
        "a file that was kept beside the ledger may hold an address that was forgotten: remove it"
    );
    Err(error.to_string())
}

/// The kept files beside the ledger at `path`.
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
    kept.sort();
    Ok(kept)
}

/// Blanks `addresses` in the file at `path`, and returns how many words it overwrote.
fn blank_in(files: &dyn Files, path: &Path, addresses: &HashSet<String>) -> io::Result<usize> {
    let mut file = files.open(path)?;
    let mut found = 0;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.as_file().try_clone()?);
    let (mut offset, mut word) = (0, Vec::new());
    // Words that are too long for an address count, but are not kept.
    let mut length = 0;
    loop {
        let bytes = reader.fill_buf()?;
        let taken = bytes.len();
        let is_end = taken == 0;
        // The end of the file ends a word, too.
        let ends: &[u8] = if is_end { b"\n" } else { bytes };
        for &byte in ends {
            if is_part(byte) {
                length += 1;
                if word.len() < WORD_BYTES_MAX {
                    word.push(byte);
                }
            } else if length > 0 {
                if length == word.len() && spells(&word, addresses, is_end) {
                    found += 1;
                    let begin = offset - length as u64;
                    file.overwrite(begin, &vec![BLANK; length])?;
                }
                word.clear();
                length = 0;
            }
            offset += 1;
        }
        if is_end {
            break;
        }
        reader.consume(taken);
    }
    if found > 0 {
        file.sync()?;
    }
    Ok(found)
}

/// Whether the byte may be part of an address in JSON.
fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.@\\".contains(&byte)
}

/// Whether the word spells an address, or begins one that `is_torn`.
fn spells(word: &[u8], addresses: &HashSet<String>, is_torn: bool) -> bool {
    // Most words are no addresses.
    if !is_torn && !word.iter().any(|byte| matches!(byte, b'@' | b'\\')) {
        return false;
    }
    let Some(text) = unescaped(word) else {
        return false;
    };
    addresses.contains(&text) || is_torn && addresses.iter().any(|it| it.starts_with(&text))
}

/// The text that the word stands for in JSON, in lower case. `None` for an escape that no address needs.
fn unescaped(word: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(word.len());
    let mut rest = str::from_utf8(word).ok()?;
    while let Some((before, escape)) = rest.split_once('\\') {
        text.push_str(before);
        if let Some(after) = escape.strip_prefix('/') {
            text.push('/');
            rest = after;
        } else {
            let (digits, after) = escape.strip_prefix('u')?.split_at_checked(4)?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            text.push(char::from_u32(code)?);
            rest = after;
        }
    }
    text.push_str(rest);
    text.make_ascii_lowercase();
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::files::SystemFiles;

    fn check(before: &str, after: &str) {
        let root = tempfile::tempdir().unwrap();
        let kept = root.path().join("ledger.cut.7");
        fs::write(&kept, before).unwrap();
        let addresses = ["a/b@example.com", "ada@example.com"].map(str::to_owned);
        let addresses = HashSet::from(addresses);
        let ledger = root.path().join("ledger.jsonl");
        let blanked = blank(&SystemFiles, &ledger, &addresses);
        assert_eq!(fs::read_to_string(&kept).unwrap(), after);
        assert_eq!(blanked.len(), usize::from(before != after), "{before}");
        assert!(
            blanked
                .iter()
                .all(|(path, done)| *path == kept && done.is_ok())
        );
        // Once more finds nothing.
        assert!(blank(&SystemFiles, &ledger, &addresses).is_empty());
    }

    #[test]
    fn every_spelling_of_an_address_is_blanked_and_nothing_else() {
        let blank = "*".repeat(15);
        for (before, after) in [
            ("\"ada@example.com\"", format!("\"{blank}\"")),
            ("ada@example.com\n", format!("{blank}\n")),
            ("Ada@Example.COM", blank.clone()),
            ("a/b@example.com", blank.clone()),
            (
                "{\"email\":\"a\\/b@example.com\"}",
                format!("{{\"email\":\"{blank}*\"}}"),
            ),
            (
                "\"\\u0061da\\u0040example.com\"",
                format!("\"{}\"", "*".repeat(25)),
            ),
            // Another's address.
            ("\"xada@example.com\"", "\"xada@example.com\"".to_owned()),
            (
                "\"ada@example.com.br\"",
                "\"ada@example.com.br\"".to_owned(),
            ),
            ("\"ada@example.co\"", "\"ada@example.co\"".to_owned()),
            // Torn.
            ("{\"email\":\"ada@exa", "{\"email\":\"*******".to_owned()),
            (
                "{\"email\":\"ad\u{e9}\"",
                "{\"email\":\"ad\u{e9}\"".to_owned(),
            ),
            ("\\", "\\".to_owned()),
            ("\\u00 ada@example.com", format!("\\u00 {blank}")),
            ("", String::new()),
        ] {
            check(before, &after);
        }
    }

    #[test]
    fn addresses_are_found_wherever_the_buffer_ends() {
        for shift in 0..20 {
            let filling = "x".repeat(BUFFER_BYTES - 10 - shift);
            for word in ["ada@example.com", "ADA@example.com"] {
                let text = |word: &str| format!("{filling} {word} {word}");
                check(&text(word), &text(&"*".repeat(15)));
            }
        }
    }

    #[test]
    fn only_regular_files_of_these_names_are_touched() {
        let root = tempfile::tempdir().unwrap();
        let text = "ada@example.com";
        for name in [
            "ledger.cut",
            "ledger.cut.x",
            "ledger.cut.1.bak",
            "ledger.other.1",
            "xledger.cut.1",
            "notes",
        ] {
            fs::write(root.path().join(name), text).unwrap();
        }
        fs::create_dir(root.path().join("ledger.cut.1")).unwrap();
        std::os::unix::fs::symlink("notes", root.path().join("ledger.cut.2")).unwrap();
        let addresses = HashSet::from([text.to_owned()]);
        let ledger = root.path().join("ledger.jsonl");
        assert!(blank(&SystemFiles, &ledger, &addresses).is_empty());
        assert_eq!(fs::read_to_string(root.path().join("notes")).unwrap(), text);
    }
}
