//! The environment of templates: the messages of `data/locales/`, and functions and filters in addition to the engine's
//! own. A message is a line of a file, with its arguments in double braces.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfigBuilder;
use minijinja::value::{Kwargs, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, UndefinedBehavior, context};

use crate::domain::{Language, TimeUnit};

use super::data::text_in;
use super::markdown;
use super::site_file::SiteError;

/// Maximum number of steps of a template: far more than any sensible one needs.
const STEPS_MAX: u64 = 10_000_000;

/// The template of a table of topics and keys of messages, which has the statements on stored, shared and counted data that
/// the settings make true. A page never claims what a flag makes false.
const STATEMENTS: &str = "statements.txt";

/// The keys and texts of a file: all lines but comments and blank ones.
fn messages(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = text_in(language, FOLDER).lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" = "))
}

/// The keys of all messages, in the order of the English file.
pub(super) fn keys() -> impl Iterator<Item = &'static str> {
    messages(Language::English).map(|(key, _text)| key)
}

/// The folder of the messages.
const FOLDER: &str = "locales/";

/// The global variable that has the messages of every language.
const MESSAGES: &str = "messages";

/// The message `key` in `language`, filled with `args`.
///
/// # Errors
/// Names the missing message or argument.
pub(super) fn text(
    environment: &Environment<'_>,
    language: Language,
    key: &str,
    args: Value,
) -> Result<String, Error> {
    let messages = environment.empty_state().lookup(MESSAGES);
    let message = messages
        .unwrap_or_default()
        .get_attr(language.as_str())?
        .get_attr(key)?;
    let name = format!("{}/{key}", language.as_str());
    match message.as_str() {
        Some(source) => environment.render_named_str(&name, source, args),
        None => Err(Error::new(ErrorKind::TemplateNotFound, name)),
    }
}

/// The environment, with the messages of every language. They are compiled where they are filled: as templates they
/// would take 8 KiB each.
///
/// # Errors
/// [`SiteError`] when the syntax is contradictory.
pub(super) fn environment(
    mut syntax: SyntaxConfigBuilder,
) -> Result<Environment<'static>, SiteError> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax.keep_trailing_newline(true).build()?);
    environment.set_fuel(Some(STEPS_MAX));
    // An undefined name is an error, never an empty string.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, "json")) => AutoEscape::Json,
        _ => AutoEscape::None,
    });
    let all = Language::ALL.map(|language| {
        let messages: BTreeMap<_, _> = messages(language).collect();
        (language.as_str(), messages)
    });
    environment.add_global(MESSAGES, BTreeMap::from(all));
    environment.add_filter("markdown", |text: &str| {
        Value::from_safe_string(markdown::to_html(text))
    });
    // The anchor of a heading.
    environment.add_filter("anchor", markdown::slug);
    // A cell of a Markdown table.
    environment.add_filter("cell", |text: &str| {
        let words: Vec<_> = text.split_whitespace().collect();
        words.join(" ").replace('|', "\\|")
    });
    // One word of a shell.
    environment.add_filter("shell", |text: &str| {
        format!("'{}'", text.replace('\'', "'\\''"))
    });
    environment.add_filter("json", json);
    environment.add_filter("quoted", quoted);
    environment.add_filter("resolved", resolved);
    environment.add_function("text", |state: &State<'_, '_>, key: &str, args: Kwargs| {
        message(state, key, args.into())
    });
    environment.add_function("says", says);
    environment.add_function("duration", duration);
    // A window, as in "in any minute".
    environment.add_function("window", |state: &State<'_, '_>, seconds: u64| {
        duration(state, seconds).map(|words| words.trim_start_matches("1 ").to_owned())
    });
    environment.add_function("wait", |state: &State<'_, '_>, seconds: u64| {
        duration(state, rounded_up(seconds))
    });
    Ok(environment)
}

/// A message in the page's language.
fn message(state: &State<'_, '_>, key: &str, args: Value) -> Result<String, Error> {
    let tag = state.lookup("lang");
    let language = tag.as_ref().and_then(|tag| Language::of_tag(tag.as_str()?));
    text(state.env(), language.unwrap_or_default(), key, args)
}

/// Messages in the page's language, one after another.
fn says(state: &State<'_, '_>, keys: Vec<String>) -> Result<String, Error> {
    let n = state.lookup("questions_kept_days");
    let args = context! { n };
    let texts = keys.iter().map(|key| message(state, key, args.clone()));
    let texts: Result<Vec<_>, _> = texts.collect();
    Ok(texts?.join(" "))
}

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

/// A number of seconds in words.
fn duration(state: &State<'_, '_>, seconds: u64) -> Result<String, Error> {
    let (n, unit) = TimeUnit::in_words(seconds);
    let key = format!("duration-{}s", unit.as_str());
    message(state, &key, context! { n })
}

/// A waiting time, rounded up to whole minutes, hours or days once there is more than one.
fn rounded_up(seconds: u64) -> u64 {
    let is_less = |unit: &TimeUnit| unit.seconds() < seconds;
    let unit = TimeUnit::ALL.into_iter().rfind(is_less);
    seconds.next_multiple_of(unit.unwrap_or(TimeUnit::Second).seconds())
}

/// A string unchanged, any other value as JSON.
fn json(value: &Value, is_pretty: Option<bool>) -> String {
    let json = match value.as_str() {
        Some(text) => return text.trim_end().to_owned(),
        None if is_pretty == Some(true) => serde_json::to_string_pretty(value),
        None => serde_json::to_string(value),
    };
    json.unwrap_or_default()
}

/// `text` for use between the double quotes of a YAML scalar, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// The target in `root` of the reference `value`, or `value` itself.
fn resolved(value: &Value, root: &Value) -> Result<Value, Error> {
    match value.get_attr("$ref")?.as_str() {
        Some(reference) => reference
            .split('/')
            .skip(1)
            .try_fold(root.clone(), |value, segment| value.get_attr(segment)),
        None => Ok(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use minijinja::syntax::SyntaxConfig;

    use super::*;

    fn messages_alone() -> Environment<'static> {
        environment(SyntaxConfig::builder()).unwrap()
    }

    #[test]
    fn every_language_has_every_message_with_the_same_arguments() {
        let environment = messages_alone();
        let arguments = |language| {
            let arguments = |(key, source)| {
                let template = environment.template_from_str(source).unwrap();
                (
                    key,
                    BTreeSet::from_iter(template.undeclared_variables(false)),
                )
            };
            let messages: BTreeMap<_, _> = messages(language).map(arguments).collect();
            let texts = text_in(language, FOLDER).lines();
            let texts = texts.filter(|line| !line.is_empty() && !line.starts_with('#'));
            assert_eq!(texts.count(), messages.len(), "{language:?}");
            messages
        };
        let english = arguments(Language::English);
        assert!(english.len() > 1);
        for language in Language::ALL {
            assert_eq!(arguments(language), english, "{language:?}");
        }
    }

    #[test]
    fn a_missing_message_or_argument_is_named() {
        let environment = messages_alone();
        let text = |key, args| text(&environment, Language::German, key, args);
        let unknown = text("no-such", context! {}).unwrap_err();
        assert!(unknown.to_string().contains("de/no-such"), "{unknown}");
        let unfilled = text("duration-minutes", context! {}).unwrap_err();
        let told = unfilled.to_string();
        assert!(told.contains("de/duration-minutes"), "{told}");
        for (n, expected) in [(1, "1 Minute"), (2, "2 Minuten")] {
            assert_eq!(text("duration-minutes", context! { n }).unwrap(), expected);
        }
    }

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
        let known: Vec<_> = keys().collect();
        assert!(stated.len() > 30);
        for key in &stated {
            assert!(known.contains(key), "{key}");
        }
        let mut words = known.iter().filter(|key| key.starts_with("privacy-"));
        assert!(words.all(|key| stated.contains(key)));
    }

    #[test]
    fn durations_are_said_as_people_say_them() {
        let environment = messages_alone();
        for (call, words) in [
            ("duration(1)", "1 second"),
            ("duration(60)", "1 minute"),
            ("duration(90)", "90 seconds"),
            ("duration(900)", "15 minutes"),
            ("duration(86400)", "24 hours"),
            ("duration(90 * 86400)", "90 days"),
            ("window(60)", "minute"),
            ("window(900)", "15 minutes"),
            ("window(86400)", "24 hours"),
        ] {
            let said = environment.render_str(&format!("{{{{ {call} }}}}"), context! {});
            assert_eq!(said.unwrap(), words);
        }
    }

    #[test]
    fn limits_are_exact_and_waits_are_rounded_up() {
        for (seconds, exact, wait) in [
            (59, (59, TimeUnit::Second), (59, TimeUnit::Second)),
            (60, (1, TimeUnit::Minute), (1, TimeUnit::Minute)),
            (90, (90, TimeUnit::Second), (2, TimeUnit::Minute)),
            (3599, (3599, TimeUnit::Second), (1, TimeUnit::Hour)),
            (86_400, (24, TimeUnit::Hour), (24, TimeUnit::Hour)),
            (90_000, (25, TimeUnit::Hour), (2, TimeUnit::Day)),
            (172_800, (2, TimeUnit::Day), (2, TimeUnit::Day)),
        ] {
            assert_eq!(TimeUnit::in_words(seconds), exact);
            assert_eq!(TimeUnit::in_words(rounded_up(seconds)), wait);
        }
    }
}
