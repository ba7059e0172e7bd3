//! The columns of other programs' exports, and the words in them that say who may be written to.
//!
//! A column that may carry consent is never silently ignored: it is known, or the operator gives its meaning.

use unicode_normalization::UnicodeNormalization as _;

use crate::config::ColumnMeaning;
use crate::domain::quoted;

/// Names of columns, and their meanings.
pub(super) type Columns = Vec<(String, ColumnMeaning)>;

/// Kinds of names and words, each with its words.
const TABLE: &str = include_str!("import_columns.txt");

fn kinds() -> impl Iterator<Item = (&'static str, std::str::SplitWhitespace<'static>)> {
    let lines = TABLE.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(kind, words)| (kind, words.split_whitespace()))
}

fn any_of(kind: &str, mut is_match: impl FnMut(&str) -> bool) -> bool {
    let mut lines = kinds().filter(|(found, _)| *found == kind);
    lines.any(|(_, mut words)| words.any(&mut is_match))
}

fn is_of(kind: &str, word: &str) -> bool {
    any_of(kind, |known| known == word)
}

fn has(kind: &str, text: &str) -> bool {
    any_of(kind, |part| text.contains(part))
}

/// The letters of a name, in lower case and without accents.
fn letters(name: &str) -> String {
    let letters = name.nfd().flat_map(char::to_lowercase);
    letters.filter(char::is_ascii_lowercase).collect()
}

/// The meaning of the column `name`: `given` by the operator, or known. `None` if it may carry consent.
pub(super) fn meaning_of(name: &str, given: &Columns) -> Option<ColumnMeaning> {
    let is_given = |(column, _): &&(String, _)| column.trim().eq_ignore_ascii_case(name.trim());
    if let Some((_, meaning)) = given.iter().find(is_given) {
        return Some(*meaning);
    }
    let letters = letters(name);
    let mut known = kinds().filter(|(_, words)| words.clone().any(|word| word == letters));
    let known = known.find_map(|(kind, _)| ColumnMeaning::parse(kind));
    // `letters` drops those that are not Latin.
    let is_of_other_script = name.chars().any(|c| c.is_alphabetic() && c > '\u{24f}');
    let may_carry_consent = is_of_other_script
        || known.is_none()
            && (has("speaks of consent", &letters) || is_of("may be consent", &letters));
    match known {
        None | Some(ColumnMeaning::Ignore) if may_carry_consent => None,
        None => Some(ColumnMeaning::Ignore),
        Some(_) => known,
    }
}

/// True if a cell says that the contact must not be written to any more, in a column of this meaning and
/// name.
///
/// # Errors
/// When it says that the contact has not confirmed, or its word is unknown, in words.
pub(super) fn is_refusal(meaning: ColumnMeaning, name: &str, cell: &str) -> Result<bool, String> {
    use ColumnMeaning::{Confirmed, Email, Ignore, Status, Subscribed, SubscribedAt, Unsubscribed};
    let (flag, word) = (cell.to_lowercase(), letters(cell));
    let flag = flag.split('.').next().unwrap_or_default();
    let speaks_of_leaving = has("speaks of leaving", &word);
    let is_time = flag.len() >= 8
        && flag.starts_with(|first: char| first.is_ascii_digit())
        && !speaks_of_leaving;
    let is_no =
        flag.is_empty() || is_of("no", flag) || any_of("begins no", |zero| flag.starts_with(zero));
    let is_yes = !is_no && (is_of("yes", flag) || is_time);
    let why = match meaning {
        Email | SubscribedAt | Ignore => return Ok(false),
        Status if flag.is_empty() => return Ok(false),
        Unsubscribed if is_no => return Ok(false),
        Subscribed | Confirmed if is_yes => return Ok(false),
        Subscribed if is_no => return Ok(true),
        _ if is_of("is unsubscribed", &word) => return Ok(true),
        _ if is_of("is unconfirmed", &word) => "unconfirmed",
        Unsubscribed => return Ok(!is_of("is not unsubscribed", &word)),
        _ if is_of("is subscribed", &word) => return Ok(false),
        Status if is_of("maybe a status", &letters(name)) && !speaks_of_leaving => {
            return Ok(false);
        }
        Confirmed => "unconfirmed",
        Status | Subscribed => "unknown",
    };
    let [name, cell] = [name, cell].map(|text| quoted(text.as_bytes(), None));
    Err(format!(
        "the status must be subscribed or unsubscribed, but \"{cell}\" in {name} is {why}"
    ))
}
