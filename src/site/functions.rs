//! Functions and filters of the templates, in addition to the engine's own.

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, State, context};

use crate::domain::{Language, TimeUnit};

use super::{locales, markdown};

/// Adds them to `environment`, which has the messages.
pub(super) fn add_to(environment: &mut Environment<'_>) {
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
    environment.add_function("says", statements);
    environment.add_function("duration", duration);
    // A window, as in "in any minute".
    environment.add_function("window", |state: &State<'_, '_>, seconds: u64| {
        duration(state, seconds).map(|words| words.trim_start_matches("1 ").to_owned())
    });
    environment.add_function("wait", |state: &State<'_, '_>, seconds: u64| {
        duration(state, rounded_up(seconds))
    });
}

/// A message in the page's language.
fn message(state: &State<'_, '_>, key: &str, args: Value) -> Result<String, Error> {
    let tag = state.lookup("lang");
    let language = tag.as_ref().and_then(|tag| Language::of_tag(tag.as_str()?));
    locales::text(state.env(), language.unwrap_or_default(), key, args)
}

/// Messages in the page's language, one after another.
fn statements(state: &State<'_, '_>, keys: Vec<String>) -> Result<String, Error> {
    let n = state.lookup("questions_kept_days");
    let args = context! { n };
    let texts = keys.iter().map(|key| message(state, key, args.clone()));
    let texts: Result<Vec<_>, _> = texts.collect();
    Ok(texts?.join(" "))
}

/// A number of seconds in words.
fn duration(state: &State<'_, '_>, seconds: u64) -> Result<String, Error> {
    let (n, unit) = TimeUnit::in_words(seconds);
    message(
        state,
        &format!("duration-{}s", unit.as_str()),
        context! { n },
    )
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
    use super::*;

    #[test]
    fn durations_are_said_as_people_say_them() {
        let mut environment = Environment::new();
        locales::add_to(&mut environment).unwrap();
        add_to(&mut environment);
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
