//! The flags of the service that were given, for the log.

use std::fmt;

use clap::ArgMatches;
use clap::parser::ValueSource;

/// A flag that has another value than the default, from the command line or the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenFlag {
    /// Its name, such as `--base-url`.
    pub(super) name: String,
    /// Its values, one for each time it was given; none if it takes none.
    pub(super) values: Vec<String>,
    /// Its values may hold a secret.
    pub(super) is_secret: bool,
    /// It stands on the command line.
    pub(super) is_typed: bool,
}

/// The flags of `command` that were given.
pub(super) fn given_flags(command: &clap::Command, matches: &ArgMatches) -> Vec<GivenFlag> {
    let given = |arg: &clap::Arg| {
        let id = arg.get_id().as_str();
        let raw: Vec<_> = matches.try_get_raw(id).ok()??.collect();
        let source = matches.value_source(id)?;
        if source == ValueSource::DefaultValue || raw == arg.get_default_values() {
            return None;
        }
        let values = raw.iter().map(|value| value.to_string_lossy().into_owned());
        Some(GivenFlag {
            name: format!("--{}", arg.get_long()?),
            values: if arg.get_action().takes_values() {
                values.collect()
            } else {
                Vec::new()
            },
            is_secret: arg.is_hide_env_values_set(),
            is_typed: source == ValueSource::CommandLine,
        })
    };
    command.get_arguments().filter_map(given).collect()
}

/// As in the log, such as `--limit=keys=off,ip=off`. Values that may hold secrets, or name clients, are hidden.
impl fmt::Display for GivenFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = (&self.name, self.values.join(","));
        // A user and a password stand before an @. No log line holds a client's address.
        if self.is_secret || value.contains('@') || name == "--block" {
            return write!(f, "{name}=(hidden)");
        }
        if value.is_empty() {
            return write!(f, "{name}");
        }
        write!(f, "{name}={value}")
    }
}
