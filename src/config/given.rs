//! The service's flags as given, for the log and for commands that ask the service.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::domain::macros::hidden;

/// The flags with other values than the defaults, from the command line or the environment.
#[derive(Clone, Default)]
pub struct GivenFlags {
    /// The words of an equivalent command line, with every secret.
    pub words: Vec<String>,
    /// The same for the log: values that may hold secrets or identify clients are hidden.
    pub shown: Vec<String>,
}

hidden!(GivenFlags);

impl GivenFlags {
    /// The flags given to `command`.
    pub(super) fn of(command: &clap::Command, matches: &ArgMatches) -> Self {
        let mut given = Self::default();
        for arg in command.get_arguments() {
            let id = arg.get_id().as_str();
            let (Some(long), Ok(Some(raw))) = (arg.get_long(), matches.try_get_raw(id)) else {
                continue;
            };
            let raw: Vec<_> = raw.collect();
            let is_default = matches.value_source(id) == Some(ValueSource::DefaultValue)
                || raw == arg.get_default_values();
            if !arg.get_action().takes_values() && matches.get_flag(id) {
                given.words.push(format!("--{long}"));
                given.shown.push(format!("--{long}"));
            } else if arg.get_action().takes_values() && !is_default {
                for value in raw.iter().map(|value| value.to_string_lossy()) {
                    // An @ ends a user and password.
                    let is_hidden = arg.is_hide_env_values_set() || value.contains('@');
                    let shown = if is_hidden { "(hidden)" } else { &*value };
                    given.shown.push(format!("--{long}={shown}"));
                    given.words.push(format!("--{long}={value}"));
                }
            }
        }
        given
    }
}
