//! Statements of the pages about stored, shared and counted data, each with the settings that make it true. A page never
//! claims what a flag makes false.

use std::collections::BTreeMap;

use minijinja::{Environment, Error, Value};

/// The template of a table of topics and keys of messages, which has the true statements.
pub(super) const STATEMENTS: &str = "statements.txt";

/// The keys of the statements that are true in this `context`, by topic.
///
/// # Errors
/// When the table cannot be rendered.
pub(super) fn statements(
    environment: &Environment<'_>,
    context: &Value,
) -> Result<BTreeMap<String, Vec<String>>, Error> {
    let table = environment.get_template(STATEMENTS)?.render(context)?;
    let mut by_topic: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (topics, key) in table.lines().filter_map(|line| line.split_once(": ")) {
        for topic in topics.split(' ') {
            let keys = by_topic.entry(topic.to_owned()).or_default();
            keys.push(key.to_owned());
        }
    }
    Ok(by_topic)
}

#[cfg(test)]
mod tests {
    use super::super::locales;

    #[test]
    fn every_statement_has_its_words_and_no_words_are_left_out() {
        let table = include_str!("../../data/statements.txt");
        let (_about, table) = table.split_once("#}\n").unwrap();
        let rows = table.lines().filter_map(|line| {
            let row = line.split_once("%}").map_or(line, |(_, row)| row);
            let (_topics, key) = row.split_once(": ")?;
            Some(key.split_once("{%").map_or(key, |(key, _)| key))
        });
        let stated: Vec<_> = rows.collect();
        let known: Vec<_> = locales::keys().collect();
        assert!(stated.len() > 30);
        for key in &stated {
            assert!(known.contains(key), "{key}");
        }
        let mut words = known.iter().filter(|key| key.starts_with("privacy-"));
        assert!(words.all(|key| stated.contains(key)));
    }
}
