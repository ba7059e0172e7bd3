//! Statements of the pages about stored, shared and counted data, each with the facts that make it true. A page never
//! claims what a flag makes false.

use std::collections::BTreeMap;

use crate::domain::{PolicyName, Settings, SignUpsGo};

/// A table of topics, facts and keys of messages.
const STATEMENTS: &str = include_str!("../../data/statements.txt");

/// A name in the table, and its truth under these settings.
type Fact = (&'static str, fn(&Settings) -> bool);

const FACTS: [Fact; 7] = [
    ("stores", stores),
    // A mail relay learns the address, too.
    ("shares", |settings| {
        settings.sign_ups == SignUpsGo::Told || settings.asks_to_confirm()
    }),
    ("confirms", Settings::asks_to_confirm),
    ("ip", |settings| {
        stores(settings) && settings.keeps_consent_ip
    }),
    ("model", |settings| settings.has_model),
    // A model answers everything.
    ("questions", |settings| {
        settings.questions_kept_days > 0 && !settings.has_model
    }),
    // Only the quota needs the cookie.
    ("quota", |settings| {
        settings.policies.quota(PolicyName::Assistant).is_some()
    }),
];

/// The keys of the true statements, by topic.
pub(super) fn statements(settings: &Settings) -> BTreeMap<&'static str, Vec<&'static str>> {
    let is_so = |fact: &str| {
        let name = fact.trim_start_matches('!');
        let mut facts = FACTS.iter().filter(|(known, _)| *known == name);
        facts.any(|(_, is_so)| is_so(settings)) == (name == fact)
    };
    let mut by_topic: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for [topics, _, key] in rows().filter(|[_, facts, _]| facts.split_whitespace().all(is_so)) {
        for topic in topics.split_whitespace() {
            by_topic.entry(topic).or_default().push(key);
        }
    }
    by_topic
}

fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    let lines = STATEMENTS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        Some([cells.next()?, cells.next()?, cells.next()?])
    })
}

fn stores(settings: &Settings) -> bool {
    !settings.passes_sign_ups_on()
}

#[cfg(test)]
mod tests {
    use super::super::locales;
    use super::*;

    #[test]
    fn every_statement_has_its_facts_and_words_and_no_words_are_left_out() {
        let known: Vec<_> = locales::keys().collect();
        let mut stated = Vec::new();
        for [topics, facts, key] in rows() {
            assert!(!topics.is_empty(), "{key}");
            for fact in facts.split_whitespace() {
                let name = fact.trim_start_matches('!');
                assert!(FACTS.iter().any(|(known, _)| *known == name), "{fact}");
            }
            assert!(known.contains(&key), "{key}");
            stated.push(key);
        }
        let mut words = known.iter().filter(|key| key.starts_with("privacy-"));
        assert!(words.all(|key| stated.contains(key)));
    }
}
