//! The configuration in one line, for the log.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

/// The flags whose values are not the defaults, from the command line or the environment, such as
/// `--listen=127.0.0.1:80 --limit=keys=off`. Values that may hold secrets are hidden.
pub(super) fn given<'a>(matches: &ArgMatches, arguments: impl Iterator<Item = &'a Arg>) -> String {
    let given = arguments.filter_map(|argument| Some((argument, argument.get_long()?)));
    let given = given.filter_map(|(argument, name)| {
        let values = matches.try_get_raw(argument.get_id().as_str()).ok()??;
        let values: Vec<_> = values.collect();
        let source = matches.value_source(argument.get_id().as_str());
        let is_default = source == Some(ValueSource::DefaultValue);
        if is_default || values == argument.get_default_values() {
            return None;
        }
        let values: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
        let value = values.join(",");
        // A user and a password stand before an @.
        let is_secret = argument.is_hide_env_values_set() || value.contains('@');
        Some(match (is_secret, value.is_empty()) {
            (true, _) => format!("--{name}=(hidden)"),
            (false, true) => format!("--{name}"),
            (false, false) => format!("--{name}={value}"),
        })
    });
    given.collect::<Vec<_>>().join(" ")
}
