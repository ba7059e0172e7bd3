//! The templates of the admin page.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, UndefinedBehavior, context};
use serde::Serialize;

use super::sessions::Session;

macro_rules! source {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../data/admin/", $name)),
        )
    };
}

const SOURCES: [(&str, &str); 11] = [
    source!("frame.html"),
    source!("facts.html"),
    source!("search.html"),
    source!("login.html"),
    source!("overview.html"),
    source!("contacts.html"),
    source!("keys.html"),
    source!("agents.html"),
    source!("policies.html"),
    source!("confirm.html"),
    source!("message.html"),
];

/// The public pages' stylesheet, and what it lacks.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../../data/style.css"),
    include_str!("../../../../data/admin/style.css")
);
pub(super) const ICON: &str = include_str!("../../../../data/icon.svg");

/// The pages, in the order of the menu: path and name.
const MENU: [(&str, &str); 5] = [
    ("/", "Overview"),
    ("/contacts", "Contacts"),
    ("/keys", "Keys"),
    ("/policies", "Limits"),
    ("/agents", "Agents"),
];

/// The templates, parsed.
#[derive(Debug)]
pub(super) struct Views(Environment<'static>);

/// A page that asks whether to go on.
#[derive(Serialize)]
pub(super) struct ConfirmationPage<'a> {
    pub(super) title: &'a str,
    /// What will happen, a paragraph each.
    pub(super) paragraphs: &'a [&'a str],
    /// What it will happen to: names and values.
    pub(super) facts: Vec<(&'a str, String)>,
    /// Where the form goes, with these fields.
    pub(super) action: &'a str,
    pub(super) fields: Vec<(&'a str, &'a str)>,
    pub(super) button: &'a str,
    /// The way back.
    pub(super) back: &'a str,
}

/// A page that says something.
#[derive(Serialize)]
pub(super) struct MessagePage<'a> {
    pub(super) title: &'a str,
    pub(super) paragraphs: Vec<String>,
    pub(super) facts: Vec<(&'a str, String)>,
    /// The way on: path and words.
    pub(super) next: Option<(&'a str, &'a str)>,
}

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
        Ok(Self(environment))
    }

    /// The page at `here`, for a session or for nobody in particular.
    ///
    /// # Errors
    /// When the template cannot be filled in, which is a bug.
    pub(super) fn fill(
        &self,
        name: &str,
        here: &str,
        session: Option<&Session>,
        values: Value,
    ) -> Result<String, Error> {
        let frame = context! {
            here,
            menu => MENU.map(|(path, name)| [path, name]).to_vec(),
            version => env!("CARGO_PKG_VERSION"),
            form_token => session.map(Session::form_token),
        };
        let template = self.0.get_template(name)?;
        template.render(context! { ..values, ..frame })
    }
}
