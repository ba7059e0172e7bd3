//! The templates of the admin page.

use crate::domain::Timestamp;
use crate::operator::sessions::Session;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, UndefinedBehavior, context};

use super::numbers;

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
    source!("contacts.html"),
    source!("keys.html"),
    source!("agents.html"),
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
        environment.add_filter("grouped", numbers::grouped);
        environment.add_filter("size", numbers::bytes);
        environment.add_filter("span", numbers::span);
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
        seconds => format!("{} ago", numbers::span(seconds)),
    }
}

/// An instant in RFC 3339 to the minute, as in `2026-11-21 12:00`.
fn minute(rfc3339: &str) -> String {
    let minute = rfc3339.get(..16).unwrap_or_default();
    minute.replace('T', " ")
}
