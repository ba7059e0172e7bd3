//! The functions and filters of the templates, beside those that the engine brings.

use std::sync::Arc;

use fluent_bundle::FluentArgs;
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, ErrorKind, State};

use crate::domain::language::Language;

use super::locales::Locales;
use super::markdown;

/// Adds them to `environment`; messages are those of `locales`.
pub(super) fn add_to(environment: &mut Environment<'_>, locales: &Arc<Locales>) {
    environment.add_filter("markdown", |text: &str| {
        Value::from_safe_string(markdown::to_html(text))
    });
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
) -> impl Fn(&State<'_, '_>, &str, Kwargs) -> Result<String, minijinja::Error> {
    move |state, key, values| {
        let mut args = FluentArgs::new();
        for name in values.args() {
            let value: Value = values.get(name)?;
            match u32::try_from(value.clone()) {
                Ok(number) => args.set(name.to_owned(), number),
                Err(_) => args.set(name.to_owned(), value.to_string()),
            }
        }
        let text = locales.text(language(state), key, &args);
        text.map_err(template_error)
    }
}

fn template_error(why: String) -> minijinja::Error {
    minijinja::Error::new(ErrorKind::InvalidOperation, why)
}

/// The language that a template is rendered in.
fn language(state: &State<'_, '_>) -> Language {
    let tag = state.lookup("lang");
    let language = tag.as_ref().and_then(|tag| Language::of_tag(tag.as_str()?));
    language.unwrap_or_default()
}

/// A function of a number of seconds that gives the words for what `round` makes of it.
fn duration(
    locales: Arc<Locales>,
    round: fn(u64) -> u64,
) -> impl Fn(&State<'_, '_>, u64) -> Result<String, minijinja::Error> {
    move |state, seconds| {
        let (n, key) = in_largest_unit(round(seconds));
        let mut args = FluentArgs::new();
        args.set("n", n);
        let text = locales.text(language(state), key, &args);
        text.map_err(template_error)
    }
}

const MINUTE_S: u64 = 60;
const HOUR_S: u64 = 60 * MINUTE_S;
const DAY_S: u64 = 24 * HOUR_S;

/// A length of time in the largest unit that divides it, with the key of the message that says so. One day
/// is 24 hours.
fn in_largest_unit(seconds: u64) -> (u64, &'static str) {
    if seconds > DAY_S && seconds.is_multiple_of(DAY_S) {
        (seconds / DAY_S, "duration-days")
    } else if seconds >= HOUR_S && seconds.is_multiple_of(HOUR_S) {
        (seconds / HOUR_S, "duration-hours")
    } else if seconds >= MINUTE_S && seconds.is_multiple_of(MINUTE_S) {
        (seconds / MINUTE_S, "duration-minutes")
    } else {
        (seconds, "duration-seconds")
    }
}

/// How long to wait, as people say it: in whole minutes, hours or days once there is more than one.
fn rounded_up(seconds: u64) -> u64 {
    let unit = match seconds {
        ..MINUTE_S => 1,
        MINUTE_S..HOUR_S => MINUTE_S,
        HOUR_S..=DAY_S => HOUR_S,
        _ => DAY_S,
    };
    seconds.next_multiple_of(unit)
}

/// A string as it is, any other value as JSON.
fn json(value: &Value, is_pretty: Option<bool>) -> String {
    let json = match value.as_str() {
        Some(text) => return text.trim_end().to_owned(),
        None if is_pretty == Some(true) => serde_json::to_string_pretty(value),
        None => serde_json::to_string(value),
    };
    json.unwrap_or_default()
}

/// The target in `root` of the reference `value`, or `value` itself.
fn resolved(value: &Value, root: &Value) -> Result<Value, minijinja::Error> {
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
            (59, (59, "duration-seconds"), (59, "duration-seconds")),
            (60, (1, "duration-minutes"), (1, "duration-minutes")),
            (90, (90, "duration-seconds"), (2, "duration-minutes")),
            (3599, (3599, "duration-seconds"), (1, "duration-hours")),
            (86_400, (24, "duration-hours"), (24, "duration-hours")),
            (90_000, (25, "duration-hours"), (2, "duration-days")),
            (172_800, (2, "duration-days"), (2, "duration-days")),
        ] {
            assert_eq!(in_largest_unit(seconds), exact);
            assert_eq!(in_largest_unit(rounded_up(seconds)), wait);
        }
    }
}
