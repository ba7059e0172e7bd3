//! One document in two forms.

use landing_api::site::SiteFacts;

use super::contract::object;
use crate::prelude::*;
use crate::site::{text_at, variants};

const SOURCE: &str = include_str!("../../../data/openapi.yaml");

fn read(yaml: &str, strict_booleans: bool) -> Value {
    let options = serde_saphyr::options! { strict_booleans: strict_booleans };
    serde_saphyr::from_str_with_options(yaml, options).unwrap()
}

fn forms(facts: &SiteFacts) -> (String, Value) {
    let site = render(facts);
    let json = serde_json::from_str(text_at(&site, "/openapi.json")).unwrap();
    (text_at(&site, "/api/openapi.yaml").to_owned(), json)
}

#[test]
fn yaml_and_json_are_the_same_document_however_they_are_configured() {
    for facts in variants() {
        let (yaml, json) = forms(&facts);
        // The order of members, too: JSON is compared as text.
        assert_eq!(read(&yaml, true).to_string(), json.to_string());
        // Readers of YAML 1.1 take `no`, `on` and `y` for booleans.
        assert_eq!(read(&yaml, false), json);
        let first: Vec<_> = object(&json).map(|(name, _)| name.as_str()).collect();
        assert_eq!(first[..2], ["openapi", "info"]);
        // Of the template nothing is left but its comments.
        for mark in ["{{", "#%", "#!"] {
            assert!(!yaml.contains(mark), "{mark}");
        }
        assert!(yaml.starts_with("# "), "comments are served");
        assert!(yaml.lines().all(|line| line.trim_end() == line));
    }
}

#[test]
fn the_source_is_yaml_before_it_is_filled_in() {
    assert_eq!(read(SOURCE, true)["servers"][0]["url"], "{{ base_url }}");
}

/// Whether a reader of YAML 1.1 takes a plain scalar for something other than a text: a boolean, a
/// null, a merge key, a number (octal, in underscores, in base 60), or a date
/// (<https://yaml.org/type/>).
fn is_taken_for_something_else(text: &str) -> bool {
    const WORDS: &str = "y n yes no on off true false null ~ << = .inf .nan";
    let is_digit = |c: char| c.is_ascii_digit();
    let number = text.trim_start_matches(['-', '+', '.']);
    let is_of_numbers = |c: char| c.is_ascii_hexdigit() || "_.:+-xobeE".contains(c);
    let is_number = number.starts_with(is_digit) && number.chars().all(is_of_numbers);
    let mut begin = text.chars().take(8);
    let is_date =
        text.len() >= 8 && text.starts_with(is_digit) && begin.all(|c| is_digit(c) || c == '-');
    WORDS.split(' ').any(|word| word == text.to_lowercase()) || is_number || is_date
}

/// Every text of the document, keys included.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                found.push(name.clone());
                texts(member, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::String(text) => found.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn what_yaml_1_1_would_misread_is_quoted() {
    let taken = "no Off 2026-11-21 2026-11-21T12:00:00.000Z 012 12:30 1_000 1e3 0x1f 3.1.0";
    for text in taken.split(' ') {
        assert!(is_taken_for_something_else(text), "{text}");
    }
    for text in ["v1", "free", "application/json"] {
        assert!(!is_taken_for_something_else(text), "{text}");
    }
    for policy in PolicyName::ALL {
        assert!(!is_taken_for_something_else(policy.as_str()));
    }
    let (yaml, json) = forms(&facts());
    let mut found = Vec::new();
    texts(&json, &mut found);
    found.retain(|text| is_taken_for_something_else(text));
    assert!(found.len() > 100, "statuses alone are that many");
    for text in found {
        let mut plain = vec![format!("  {text}:")];
        // As values, numbers in plain digits are numbers here, too.
        if !text.chars().all(|c| c.is_ascii_digit()) {
            let around = [
                (": ", "\n"),
                ("- ", "\n"),
                ("[", ","),
                ("[", "]"),
                (", ", ","),
                (", ", "]"),
            ];
            plain.extend(around.map(|(before, after)| format!("{before}{text}{after}")));
        }
        for plain in plain {
            assert!(!yaml.contains(&plain), "{plain:?} is not quoted");
        }
    }
}
