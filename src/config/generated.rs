//! What is made from the definitions of flags and commands: completions, the man page, and the flags that
//! were given.

use std::io;

use clap::parser::ValueSource;
use clap::{ArgMatches, Id};
use clap_mangen::Man;

pub use clap_complete::Shell;

const PROGRAM: &str = "landing-api";

/// The completions of `shell`.
pub(super) fn completions(shell: Shell, mut command: clap::Command) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, PROGRAM, &mut script);
    script
}

/// The man page, with a section for each command.
pub(super) fn man_page(mut command: clap::Command) -> io::Result<Vec<u8>> {
    command.build();
    let mut page = Vec::new();
    let top = Man::new(command.clone())
        .section("1")
        .manual("User Commands");
    top.render_title(&mut page)?;
    top.render_name_section(&mut page)?;
    top.render_synopsis_section(&mut page)?;
    top.render_description_section(&mut page)?;
    top.render_options_section(&mut page)?;
    let flags: Vec<_> = command.get_arguments().map(clap::Arg::get_id).collect();
    add_commands(&command, &flags, &mut page)?;
    Ok(page)
}

/// Adds the commands under `parent` that have none under them, without the `flags` described before.
fn add_commands(parent: &clap::Command, flags: &[&Id], page: &mut Vec<u8>) -> io::Result<()> {
    for command in parent.get_subcommands() {
        if command.get_name() == "help" || command.is_hide_set() {
            continue;
        }
        if command.has_subcommands() {
            add_commands(command, flags, page)?;
            continue;
        }
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
        page.extend_from_slice(format!(".SH \"{}\"\n", name.to_uppercase()).as_bytes());
        let man = Man::new(
            command
                .clone()
                .mut_args(|arg| match flags.contains(&arg.get_id()) {
                    true => arg.hide(true),
                    false => arg,
                }),
        );
        let mut sections = Vec::new();
        man.render_description_section(&mut sections)?;
        man.render_synopsis_section(&mut sections)?;
        man.render_options_section(&mut sections)?;
        let sections = String::from_utf8_lossy(&sections).replace(".SH ", ".SS ");
        page.extend_from_slice(sections.as_bytes());
    }
    Ok(())
}

/// A flag of the service on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFlag {
    /// Its name, such as `--base-url`.
    pub name: String,
    /// Its values, one for each time it was given; none if it takes none.
    pub values: Vec<String>,
    /// Its values may hold a secret.
    pub is_secret: bool,
}

/// The flags of `command` that were given on the command line.
pub(super) fn given_flags(command: &clap::Command, matches: &ArgMatches) -> Vec<GivenFlag> {
    let given = |arg: &clap::Arg| {
        let id = arg.get_id().as_str();
        let is_given = matches.try_contains_id(id).unwrap_or_default()
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        let name = arg.get_long().filter(|_name| is_given)?;
        let values = matches.get_raw(id).into_iter().flatten();
        let values = values.map(|value| value.to_string_lossy().into_owned());
        Some(GivenFlag {
            name: format!("--{name}"),
            values: match arg.get_action().takes_values() {
                true => values.collect(),
                false => Vec::new(),
            },
            is_secret: arg.is_hide_env_values_set(),
        })
    };
    command.get_arguments().filter_map(given).collect()
}
