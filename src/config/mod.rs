//! The command line: [`Args`], the flags of the service, and [`Command`], the operator's commands. Each
//! flag of the service can be set by an environment variable, too: that of `--data-dir` is
//! `LANDING_DATA_DIR`.

// A field's doc comment is a flag's help.
#![allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    rustdoc::invalid_html_tags,
    reason = "help is plain text, not Markdown"
)]

mod acme;
mod args;
mod commands;
mod engines;
mod mail;
mod model;
mod values;

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches as _, Subcommand as _};
pub use clap_complete::Shell;
use clap_mangen::Man;

pub use acme::AcmeArgs;
pub use args::{Args, GivenFlags, LogFormat, WebhookMode, leads_here};
pub use commands::*;
pub use engines::EngineArgs;
pub use mail::MailArgs;
pub use model::{ModelArgs, ModelParam};
pub use values::SecretUrl;

/// End of each command's help, under `# ` and its name; the program's own has no name.
const EXAMPLES: &str = include_str!("../../data/help/examples.txt");

/// The sample of a file of settings: every flag's variable, under `## ` and its topic.
const SETTINGS: &str = include_str!("../../data/deploy/landing-api.env");

/// The file of settings of the Debian package.
const SETTINGS_FILE: &str = "/etc/landing-api/landing-api.env";

/// Maximum width of help, in characters.
const HELP_WIDTH: usize = 80;

/// The flags that `-h` shows: those that most owners need.
#[rustfmt::skip]
const COMMON_FLAGS: [&str; 10] = [
    "data-dir", "listen", "service-name", "https-domain", "allow-origin",
    "opt-in", "smtp-url", "mail-from", "site-dir", "model-url",
];

/// A parsed command line.
#[derive(Clone, Debug)]
pub enum Invocation {
    /// Run the service.
    Serve(Box<Args>),
    /// Run a command.
    Operate {
        /// The command.
        command: Command,
        /// Its output format.
        form: OutputForm,
        /// The data directory, and the settings of a service on it as far as they are in the environment.
        /// They are checked unless the command needs no data directory.
        args: Box<Args>,
    },
    /// Run the command again with the settings of this file, because it has no data directory or database.
    RunWith(PathBuf),
}

impl Invocation {
    /// Parses the command line, program name first, and the environment.
    ///
    /// # Errors
    /// clap's error, which knows its text, its stream and the exit status: 2 for a wrong flag, 0 for
    /// `--help` and `--version`.
    pub fn load<I>(words: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item: Into<OsString> + Clone>,
    {
        let matches = command().try_get_matches_from(words);
        matches
            .and_then(|matches| Self::from_matches(&matches))
            .map_err(without_secrets)
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((_name, of_command)) = matches.subcommand() else {
            let args = args(matches)?;
            check(&args, false)?;
            return Ok(Self::Serve(args));
        };
        let command = Command::from_arg_matches(matches)?;
        let is_json = of_command.try_get_one("json");
        let form = OutputForm {
            json: matches!(is_json, Ok(Some(true))),
        };
        let args = if command.takes_flags() {
            refuse_early_flags(matches)?;
            args(of_command)?
        } else {
            args(matches)?
        };
        if command.needs_data_dir() {
            if args.data_dir.is_none()
                && args.engines.store.is_none()
                && let Some(file) = settings_file()
            {
                return Ok(Self::RunWith(file));
            }
            check(&args, !command.takes_flags())?;
        }
        Ok(Self::Operate {
            command,
            form,
            args,
        })
    }
}

/// The file of settings: that of `LANDING_ENV_FILE`, none if it is empty, or that of the Debian package.
fn settings_file() -> Option<PathBuf> {
    match env::var_os("LANDING_ENV_FILE") {
        Some(file) => Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty()),
        // A file that cannot be read is reported later.
        None => Some(PathBuf::from(SETTINGS_FILE)).filter(|file| file.try_exists().unwrap_or(true)),
    }
}

fn args(matches: &ArgMatches) -> Result<Box<Args>, clap::Error> {
    let mut args = Args::from_arg_matches(matches)?;
    args.given = GivenFlags::of(&command(), matches);
    Ok(Box::new(args))
}

fn check(args: &Args, is_operating: bool) -> Result<(), clap::Error> {
    let checked = args.check(is_operating);
    checked.map_err(|text| command().error(ErrorKind::ValueValidation, text))
}

/// The parser: that of clap's derive, with the commands and an environment variable for each flag of the
/// service.
fn command() -> clap::Command {
    let with_variable = |arg: clap::Arg| {
        let long = arg.get_long().unwrap_or_default();
        let variable = format!("LANDING_{}", long.to_uppercase().replace('-', "_"));
        let is_common = COMMON_FLAGS.contains(&long);
        let arg = match topic(&variable) {
            Some(topic) => arg.help_heading(topic),
            None => arg,
        };
        arg.env(variable).hide_env(true).hide_short_help(!is_common)
    };
    let flags = Args::command().mut_args(with_variable);
    let with_flags = |command: clap::Command| {
        let all = flags.get_arguments().cloned();
        let command = match command.get_name() {
            // They print text as it is.
            "handbook" | "completions" | "man" => command,
            _ => OutputForm::augment_args(command),
        };
        match command.get_name() {
            "check" | "doctor" => command.args(all).groups(flags.get_groups().cloned()),
            "migrate" | "move" => command,
            // They take the flags of several nodes, too, which few need.
            _ => command.args(
                all.filter(|arg| arg.is_global_set() && arg.get_id() != "data_dir")
                    .map(|arg| arg.hide(true)),
            ),
        }
    };
    let commands = Command::augment_subcommands(clap::Command::default());
    let commands = commands.get_subcommands().cloned().map(with_flags);
    let command = flags
        .clone()
        .subcommands(commands)
        .max_term_width(HELP_WIDTH)
        .override_usage("landing-api --data-dir <DIR> [FLAGS]\n       landing-api <COMMAND>");
    with_examples(command, "#").after_long_help(examples("# --help"))
}

/// The topic of the flag with this variable, as in [`SETTINGS`].
fn topic(variable: &str) -> Option<&'static str> {
    let mut topic = None;
    for line in SETTINGS.lines() {
        match (line.strip_prefix("## "), line.split_once('=')) {
            (None, Some((name, _))) if name.trim_start_matches('#') == variable => return topic,
            (heading, _) => topic = heading.or(topic),
        }
    }
    None
}

/// `command` and all below it, each with the end of its help, found under `heading` in [`EXAMPLES`].
fn with_examples(command: clap::Command, heading: &str) -> clap::Command {
    let text = examples(heading);
    let command = command.mut_subcommands(|below| {
        let heading = format!("{heading} {}", below.get_name());
        with_examples(below, &heading)
    });
    match text {
        "" => command,
        text => command.after_help(text),
    }
}

/// The part of `text` under the line `heading`, up to the next line that begins with `#`; empty if there is none.
pub fn under<'a>(text: &'a str, heading: &str) -> &'a str {
    let heading = format!("\n{heading}\n");
    let text = text.split_once(&heading).map_or("", |(_, text)| text);
    text.split("\n#").next().unwrap_or_default()
}

/// The text under `heading` in [`EXAMPLES`].
fn examples(heading: &str) -> &'static str {
    under(EXAMPLES, heading).trim_end()
}

/// Fails if a service flag precedes a command, unless all commands accept it: those may appear anywhere.
fn refuse_early_flags(matches: &ArgMatches) -> Result<(), clap::Error> {
    let flags = Args::command();
    let is_typed = |arg: &&clap::Arg| {
        let source = matches.value_source(arg.get_id().as_str());
        !arg.is_global_set() && source == Some(ValueSource::CommandLine)
    };
    let Some(early) = flags.get_arguments().find(is_typed) else {
        return Ok(());
    };
    let name = early.get_long().unwrap_or_default();
    let text = format!("--{name} is before the command: put flags after it");
    Err(command().error(ErrorKind::ArgumentConflict, text))
}

/// The completions of `shell`.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "landing-api", &mut script);
    // Bash's completions read the hyphen in the program's name as a blank when they look words up.
    let script = String::from_utf8_lossy(&script);
    script
        .replace("landing__subcmd__api", "landing__api")
        .into_bytes()
}

/// The man page, with the flags of the service and a list of the commands.
///
/// # Errors
/// Never, because it is written to memory.
pub fn man_page() -> io::Result<Vec<u8>> {
    // A flag that `-h` does not show would have no description.
    let command = command().mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    Man::new(command)
        .manual("User Commands")
        .render(&mut page)?;
    // The commands have no pages of their own.
    let page = String::from_utf8_lossy(&page);
    let page = page.replace(".TP\nlanding\\-api\\-", ".TP\n");
    Ok(page.replace("(1)\n", "\n").into_bytes())
}

/// Hides the value of flags whose help hides it: a wrong value may hold a secret.
fn without_secrets(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    // Flag and value name, such as `--model-url <URL>`.
    let long = flag.trim_start_matches('-').split(' ').next();
    let command = command();
    let mut secret = command
        .get_arguments()
        .filter(|arg| arg.is_hide_env_values_set());
    if secret.any(|arg| arg.get_long() == long) {
        let hidden = ContextValue::String("(hidden)".to_owned());
        error.insert(ContextKind::InvalidValue, hidden);
    }
    error
}

#[cfg(test)]
mod tests;
