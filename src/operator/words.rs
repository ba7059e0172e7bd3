//! Numbers and times for people, in commands and on the admin page.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, UndefinedBehavior};

use crate::domain::Timestamp;

/// Templates that have these functions as filters, parsed. Values are escaped in those whose names end in `.html`.
///
/// # Errors
/// When one of them does not parse, which is a bug.
pub fn templates(sources: &[(&'static str, &'static str)]) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
    environment.set_syntax(syntax?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    for (name, source) in sources {
        environment.add_template(name, source)?;
    }
    environment.add_filter("grouped", |number: u128| {
        grouped(number.try_into().unwrap_or(u64::MAX))
    });
    environment.add_filter("plural", |number: u64, noun: &str| plural(number, noun));
    environment.add_filter("size", size);
    environment.add_filter("span", span);
    environment.add_filter("minute", |at: Option<&str>| at.map(minute));
    environment.add_filter("ago", |at: &str, now: &str| match seconds(at, now) {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    });
    environment.add_filter("until", |end: &str, now: &str| span(seconds(now, end)));
    environment.add_filter("unix", |at: &str| instant(at).as_ms() / 1000);
    Ok(environment)
}

/// A number with separators, such as 1,234,567.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
    String::from_utf8_lossy(&groups.join(&b',')).into_owned()
}

/// A size in binary units, such as `512 B` or `15.43 MiB`.
fn size(bytes: u64) -> String {
    let mut text = format!("{bytes} B");
    let mut size = bytes as f64;
    for unit in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        text = format!("{size:.2} {unit}");
    }
    text
}

/// A number of things, such as `1 contact` or `2 contacts`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// A duration, rounded up to its smallest unit, such as `6 minutes`, `23 h 59 min` or `3 days`.
pub fn span(seconds: u64) -> String {
    let minutes = seconds.div_ceil(60);
    match (minutes, minutes % 60) {
        (0 | 1, _) if seconds < 60 => plural(seconds, "second"),
        (0..60, _) => plural(minutes, "minute"),
        (60..2880, 0) => plural(minutes / 60, "hour"),
        (60..2880, rest) => format!("{} h {rest} min", minutes / 60),
        (2880.., _) => plural(minutes.div_ceil(1440), "day"),
    }
}

/// An instant in RFC 3339 to the minute, as in `2026-11-21 12:00`.
pub fn minute(rfc3339: &str) -> String {
    let minute = rfc3339.get(..16).unwrap_or(rfc3339);
    minute.replace('T', " ")
}

/// Seconds between two instants in RFC 3339.
fn seconds(from: &str, to: &str) -> u64 {
    instant(to).ms_since(instant(from)) / 1000
}

fn instant(rfc3339: &str) -> Timestamp {
    Timestamp::parse(rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_agree_with_their_noun() {
        for (number, text) in [
            (0, "0 contacts"),
            (1, "1 contact"),
            (2, "2 contacts"),
            (1_234_567, "1,234,567 contacts"),
        ] {
            assert_eq!(plural(number, "contact"), text);
        }
    }

    #[test]
    fn sizes_have_the_largest_binary_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (16_179_527, "15.43 MiB"),
            (5 << 40, "5.00 TiB"),
            (u64::MAX, "16777216.00 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn durations_have_the_units_that_people_use() {
        for (seconds, text) in [
            (0, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (60, "1 minute"),
            (121, "3 minutes"),
            (360, "6 minutes"),
            (3600, "1 hour"),
            (5400, "1 h 30 min"),
            (86_328, "23 h 59 min"),
            (86_400, "24 hours"),
            (172_801, "3 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
