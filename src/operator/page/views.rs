//! The templates of the admin page, and their filters: numbers and times for people.

use indicatif::{HumanBytes, HumanCount};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, UndefinedBehavior, context};

use crate::domain::Timestamp;
use crate::operator::sessions::Session;

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../data/admin/", $name)))
    };
}

const SOURCES: &[(&str, &str)] = &[
    source!("frame.html"),
    source!("parts.html"),
    source!("login.html"),
    source!("overview.html"),
    source!("plot.html"),
    source!("contacts.html"),
    source!("contacts-show.html"),
    source!("keys.html"),
    source!("agents.html"),
    source!("agents-revoke.html"),
    source!("blocks.html"),
    source!("blocks-add.html"),
    source!("blocks-remove.html"),
    source!("policies.html"),
    source!("change.html"),
    source!("contacts-erase.html"),
    source!("keys-revoke.html"),
    source!("policies-reset.html"),
    source!("questions.html"),
    source!("queue.html"),
    source!("queue-drop.html"),
    source!("queue-hold.html"),
    source!("queue-release.html"),
    source!("queue-retry.html"),
    source!("message.html"),
];

/// The public pages' stylesheet and the admin page's own.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../data/style.css"),
    include_str!("../../../data/admin/style.css")
);
pub(super) const ICON: &str = include_str!("../../../data/icon.svg");

/// The pages, in the order of the menu: path and name.
const MENU: &[(&str, &str)] = &[
    ("/", "Overview"),
    ("/contacts", "Contacts"),
    ("/keys", "Keys"),
    ("/policies", "Limits"),
    ("/agents", "Agents"),
    ("/blocks", "Blocks"),
    ("/questions", "Questions"),
    ("/queue", "Deliveries"),
];

/// The templates, parsed.
#[derive(Debug)]
pub(super) struct Views(Environment<'static>);

impl Views {
    /// Parses the templates.
    ///
    /// # Errors
    /// When one of them does not parse, which is a bug.
    pub(super) fn new() -> Result<Self, Error> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().keep_trailing_newline(true).build();
        environment.set_syntax(syntax?);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // All names end in `.html`, so that every value is escaped.
        for (name, source) in SOURCES {
            environment.add_template(name, source)?;
        }
        environment.add_filter("grouped", grouped);
        environment.add_filter("short", short);
        environment.add_filter("size", size);
        environment.add_filter("span", span);
        environment.add_filter("minute", minute);
        environment.add_filter("ago", ago);
        Ok(Self(environment))
    }

    /// The page at `here`, for a session or for nobody in particular.
    ///
    /// # Errors
    /// When the template can't be filled in, which is a bug.
    pub(super) fn fill(
        &self,
        name: &str,
        here: &str,
        session: Option<&Session>,
        values: Value,
    ) -> Result<String, Error> {
        let frame = context! {
            here,
            root => Value::from_safe_string(session.map(Session::root).unwrap_or_default()),
            menu => MENU.iter().map(|(path, name)| [*path, *name]).collect::<Vec<_>>(),
            version => env!("CARGO_PKG_VERSION"),
            form_token => session.map(Session::form_token),
        };
        let template = self.0.get_template(name)?;
        template.render(context! { ..values, ..frame })
    }
}

/// Time from one instant to `now`, both in RFC 3339.
fn ago(at: &str, now: &str) -> String {
    let [at, now] = [at, now].map(|time| Timestamp::parse(time).unwrap_or_default());
    match now.ms_since(at) / 1000 {
        0 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    }
}

/// An instant in RFC 3339 to the minute, as in `2026-11-21 12:00`.
fn minute(rfc3339: &str) -> String {
    let minute = rfc3339.get(..16).unwrap_or_default();
    minute.replace('T', " ")
}

/// `value` in at most four digits and a letter.
fn short(value: u128) -> String {
    let power = value.max(1).ilog10() / 3;
    let unit = 1000_u128.pow(power);
    let letter = " kMGTPE".chars().nth(power as usize).unwrap_or(' ');
    let text = match (value / unit, value % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, tenth) => format!("{whole}.{tenth}{letter}"),
    };
    text.trim_end().to_owned()
}

/// `value` with a comma after every three digits.
fn grouped(value: u64) -> String {
    HumanCount(value).to_string()
}

/// A size in bytes.
fn size(number: u64) -> String {
    HumanBytes(number).to_string()
}

/// A duration, rounded up to its unit.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        7200..172_800 => format!("{} h", seconds.div_ceil(3600)),
        172_800.. => format!("{} days", seconds.div_ceil(86_400)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_on_axes_and_grouped_elsewhere() {
        for (value, on_axis, elsewhere) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1000, "1k", "1,000"),
            (1500, "1.5k", "1,500"),
            (60_000, "60k", "60,000"),
            (1_234_567, "1.2M", "1,234,567"),
        ] {
            assert_eq!(short(value.into()), on_axis);
            assert_eq!(grouped(value), elsewhere);
        }
    }

    #[test]
    fn lengths_of_time_are_short() {
        for (seconds, text) in [
            (1, "1 s"),
            (119, "119 s"),
            (121, "3 min"),
            (7200, "2 h"),
            (86_400, "24 h"),
            (172_801, "3 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
