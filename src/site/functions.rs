//! Functions and filters of the templates, in addition to the engine's own.

use std::sync::Arc;

use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, State, context};

use crate::domain::{Language, TimeUnit};

use super::locales::Locales;
use super::markdown;

/// Adds them to `environment`; messages come from `locales`.
pub(super) fn add_to(environment: &mut Environment<'_>, locales: &Arc<Locales>) {
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
    environment.add_filter("resolved", resolved);
    environment.add_function("text", message(Arc::clone(locales)));
    environment.add_function("says", statements(Arc::clone(locales)));
    let locales = Arc::clone(locales);
    environment.add_function(
        "duration",
        duration(Arc::clone(&locales), |seconds| seconds),
    );
    environment.add_function("wait", duration(locales, rounded_up));
}

/// The function `text(key, name=value, ...)`: a message in the page's language.
fn message(
    locales: Arc<Locales>,
) -> impl Fn(&State<'_, '_>, &str, Kwargs) -> Result<String, Error> {
    move |state, key, args| locales.text(language(state), key, args.into())
}

/// The function `says(keys)`: messages in the page's language, one after another.
fn statements(
    locales: Arc<Locales>,
) -> impl Fn(&State<'_, '_>, Vec<String>) -> Result<String, Error> {
    move |state, keys| {
        let n = state.lookup("questions_kept_days");
        let args = context! { n };
        let text = |key: &String| locales.text(language(state), key, args.clone());
        let texts: Result<Vec<_>, _> = keys.iter().map(text).collect();
        Ok(texts?.join(" "))
    }
}

/// The language that a template is rendered in.
fn language(state: &State<'_, '_>) -> Language {
    let tag = state.lookup("lang");
    let language = tag.as_ref().and_then(|tag| Language::of_tag(tag.as_str()?));
    language.unwrap_or_default()
}

/// A function that words a number of seconds after `round` is applied.
fn duration(
    locales: Arc<Locales>,
    round: fn(u64) -> u64,
) -> impl Fn(&State<'_, '_>, u64) -> Result<String, Error> {
    move |state, seconds| {
        let (n, unit) = TimeUnit::in_words(round(seconds));
        let key = format!("duration-{}s", unit.as_str());
        locales.text(language(state), &key, context! { n })
    }
}

/// A waiting time, rounded up to whole minutes, hours or days once there is more than one.
fn rounded_up(seconds: u64) -> u64 {
    let fits = |unit: &TimeUnit| seconds >= unit.seconds();
    let unit = match TimeUnit::ALL.into_iter().rfind(fits) {
        Some(TimeUnit::Day) if seconds == TimeUnit::Day.seconds() => TimeUnit::Hour,
        unit => unit.unwrap_or(TimeUnit::Second),
    };
    seconds.next_multiple_of(unit.seconds())
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
