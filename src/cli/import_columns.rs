//! The columns of other programs' exports, and the words in them that say who may be written to.
//!
//! A column that may carry consent is never silently ignored: it is known, or the operator gives its meaning.

use serde_json::Value;

use crate::config::ColumnMeaning;
use crate::domain::quoted;

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
    let plain = |letter: char| match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'è'..='ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ì'..='ï' | 'ı' => 'i',
        'ò'..='ö' | 'ø' | 'ő' => 'o',
        'ù'..='ü' | 'ů' | 'ű' => 'u',
        'ñ' | 'ń' | 'ň' => 'n',
        'ç' | 'ć' | 'č' => 'c',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ź' | 'ż' | 'ž' => 'z',
        'ř' => 'r',
        'ł' => 'l',
        'ď' => 'd',
        'ť' | 'ț' => 't',
        'ý' => 'y',
        other => other,
    };
    let letters = name.chars().flat_map(char::to_lowercase).map(plain);
    letters.filter(char::is_ascii_lowercase).collect()
}

/// The meaning of the column `name`: `given` by the operator, or known. `None` if it may carry consent.
pub(super) fn meaning_of(name: &str, given: &[(String, ColumnMeaning)]) -> Option<ColumnMeaning> {
    if let Some(meaning) = given_meaning(name, given) {
        return Some(meaning);
    }
    let letters = letters(name);
    let mut known = kinds().filter(|(_, words)| words.clone().any(|word| word == letters));
    let known = known.find_map(|(kind, _)| ColumnMeaning::parse(kind));
    let is_unknown = is_of_other_script(name)
        || known.is_none()
            && (has("speaks of consent", &letters) || is_of("may be consent", &letters));
    match known {
        None | Some(ColumnMeaning::Ignore) => (!is_unknown).then_some(ColumnMeaning::Ignore),
        Some(_) => known,
    }
}

/// The meaning `given` by the operator to the column `name`.
pub(super) fn given_meaning(
    name: &str,
    given: &[(String, ColumnMeaning)],
) -> Option<ColumnMeaning> {
    let is_given = |(column, _): &&(String, _)| column.trim().eq_ignore_ascii_case(name.trim());
    given.iter().find(is_given).map(|(_, meaning)| *meaning)
}

/// A second address, or empty. Any other content of a column of addresses may be a flag.
pub(super) fn may_be_address(text: &str) -> bool {
    text.trim().is_empty() || text.contains('@')
}

/// True if some letters are not Latin: [`letters`] drops them.
pub(super) fn is_of_other_script(name: &str) -> bool {
    let mut letters = name.chars().filter(|letter| letter.is_alphabetic());
    letters.any(|letter| letter > '\u{24f}')
}

/// True if there are fields within `value`. They are not imported, and may carry consent.
pub(super) fn is_nested(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(is_nested),
        Value::Object(members) => !members.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// True if a cell says that the contact must not be written to any more, in a column of this meaning and
/// name.
///
/// # Errors
/// When it says that the contact has not confirmed, or its word is unknown, in words.
pub(super) fn is_refusal(meaning: ColumnMeaning, name: &str, cell: &str) -> Result<bool, String> {
    use ColumnMeaning::{Confirmed, Email, Ignore, Status, Subscribed, SubscribedAt, Unsubscribed};
    let (flag, word) = (cell.to_lowercase().replace(' ', "t"), letters(cell));
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
