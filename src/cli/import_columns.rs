//! The columns of exports of other programs, and the words in them that say who may be written to.
//!
//! A column that may carry consent is never just not read: it is known, or the operator says what it means.

use crate::config::ColumnMeaning;
use crate::domain::quoted;

/// Kinds of names and words, each with its words.
const TABLE: &str = include_str!("import_columns.txt");

fn kinds() -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    let lines = TABLE.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(kind, words)| (kind, words.split_whitespace()))
}

fn is_of(kind: &str, word: &str) -> bool {
    let mut lines = kinds().filter(|(found, _)| *found == kind);
    lines.any(|(_, mut words)| words.any(|known| known == word))
}

/// The letters of a name, small and without accents.
fn letters(name: &str) -> String {
    let plain = |letter: char| match letter {
        'à'..='å' => 'a',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ò'..='ö' => 'o',
        'ù'..='ü' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        other => other,
    };
    let letters = name.chars().flat_map(char::to_lowercase).map(plain);
    letters.filter(char::is_ascii_lowercase).collect()
}

/// The meaning of the column `name`: as the operator has `given` it, or as it is known. `None` if it may carry consent.
pub(super) fn meaning_of(name: &str, given: &[(String, ColumnMeaning)]) -> Option<ColumnMeaning> {
    let is_given = |(column, _): &&(String, _)| column.trim().eq_ignore_ascii_case(name.trim());
    if let Some((_, meaning)) = given.iter().find(is_given) {
        return Some(*meaning);
    }
    let letters = letters(name);
    let is_of_other_script = letters.is_empty() && name.chars().any(char::is_alphabetic);
    let mut known = kinds().filter(|(_, words)| words.clone().any(|word| word == letters));
    let known = known.find_map(|(kind, _)| ColumnMeaning::parse(kind));
    let mut speaking = kinds().filter(|(kind, _)| *kind == "speaks of consent");
    let is_speaking = speaking.any(|(_, mut parts)| parts.any(|part| letters.contains(part)))
        || is_of("may be consent", &letters);
    known.or_else(|| (!is_speaking && !is_of_other_script).then_some(ColumnMeaning::Ignore))
}

/// A cell says that the contact must not be written to any more, in a column of this meaning and name.
///
/// # Errors
/// When it says that the contact has not confirmed, or its word is unknown, in words.
pub(super) fn is_refusal(meaning: ColumnMeaning, name: &str, cell: &str) -> Result<bool, String> {
    use ColumnMeaning::{Confirmed, Email, Ignore, Status, Subscribed, SubscribedAt, Unsubscribed};
    let (flag, word) = (cell.to_lowercase().replace(' ', "t"), letters(cell));
    let flag = flag.split('.').next().unwrap_or_default();
    let is_time = flag.len() >= 8 && flag.starts_with(|first: char| first.is_ascii_digit());
    let is_no = flag.is_empty() || is_of("no", flag);
    let is_yes = !is_no && (is_of("yes", flag) || is_time);
    let why = match meaning {
        Email | SubscribedAt | Ignore => return Ok(false),
        Status if flag.is_empty() => return Ok(false),
        Unsubscribed if is_no => return Ok(false),
        Subscribed | Confirmed if is_yes => return Ok(false),
        Subscribed if is_no => return Ok(true),
        _ if is_of("is unsubscribed", &word) => return Ok(true),
        _ if is_of("is unconfirmed", &word) => "unconfirmed",
        _ if is_of("is subscribed", &word) => return Ok(false),
        Unsubscribed => return Ok(true),
        Status if is_of("maybe a status", &letters(name)) => return Ok(false),
        Confirmed => "unconfirmed",
        Status | Subscribed => "unknown",
    };
    let [name, cell] = [name, cell].map(|text| quoted(text.as_bytes(), None));
    Err(format!(
        "the status must be subscribed or unsubscribed, but \"{cell}\" in {name} is {why}"
    ))
}
