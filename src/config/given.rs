//! The service's flags as given, for the log and for commands that ask the service.

use std::fmt;

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::domain::macros::hidden;

/// A flag with a value other than the default, from the command line or the environment.
#[derive(Clone)]
struct GivenFlag {
    /// Its name, such as `--base-url`.
    name: String,
    /// Its values, one for each time it was given; none if it takes none.
    values: Vec<String>,
    /// Its values may hold a secret.
    is_secret: bool,
}

/// The flags as given. Displayed as in the log, such as `--limit=keys=off,ip=off`: values that may hold
/// secrets or identify clients are hidden.
#[derive(Clone, Default)]
pub struct GivenFlags(Vec<GivenFlag>);

impl GivenFlags {
    /// The flags given to `command`.
    pub(super) fn of(command: &clap::Command, matches: &ArgMatches) -> Self {
        let given = |arg: &clap::Arg| {
            let id = arg.get_id().as_str();
            let raw: Vec<_> = matches.try_get_raw(id).ok()??.collect();
            let source = matches.value_source(id)?;
            let takes_values = arg.get_action().takes_values();
            let is_off = !takes_values && !matches.get_flag(id);
            if source == ValueSource::DefaultValue || raw == arg.get_default_values() || is_off {
                return None;
            }
            let values = raw.iter().map(|value| value.to_string_lossy().into_owned());
            Some(GivenFlag {
                name: format!("--{}", arg.get_long()?),
                values: values.filter(|_value| takes_values).collect(),
                is_secret: arg.is_hide_env_values_set(),
            })
        };
        Self(command.get_arguments().filter_map(given).collect())
    }

    /// True if no flag other than `name` was given.
    pub fn are_only(&self, name: &str) -> bool {
        self.0.iter().all(|flag| flag.name == name)
    }

    /// The words of an equivalent command line, with every secret.
    pub fn words(&self) -> Vec<String> {
        let words = |flag: &GivenFlag| match &flag.values[..] {
            [] => vec![flag.name.clone()],
            values => values
                .iter()
                .map(|value| format!("{}={value}", flag.name))
                .collect(),
        };
        self.0.iter().flat_map(words).collect()
    }
}

impl fmt::Display for GivenFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|flag| {
            let (name, value) = (&flag.name, flag.values.join(","));
            // An @ ends a user and password.
            if flag.is_secret || value.contains('@') {
                format!("{name}=(hidden)")
            } else if value.is_empty() {
                name.clone()
            } else {
                format!("{name}={value}")
            }
        });
        f.write_str(&shown.collect::<Vec<_>>().join(" "))
    }
}

hidden!(GivenFlags);
