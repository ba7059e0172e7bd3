//! The file of settings of the service, for commands that name no data directory. They run again with its settings
//! as environment variables, which is how systemd passes them to the service (`EnvironmentFile`).

use std::env;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::adapters::files::operator_file;
use crate::adapters::system::user_id;

use super::input::unreadable;
use super::outcome::CommandError;

const FORM: &str = "must be NAME=VALUE, such as LANDING_SERVICE_NAME=Example";
const QUOTES: &str = "backslashes are not supported, and a value that begins with a quote must end with the \
                      same quote";

/// Variables besides settings that root's commands pass on to the owner of the data directory.
const TERMINAL: [&str; 3] = ["PATH", "TERM", "NO_COLOR"];

/// Runs this command again with the settings of `file`, except those that the environment has. Returns only if
/// that fails.
pub fn run_with(file: &Path) -> CommandError {
    let settings = match read(file) {
        Ok(settings) => settings.into_iter(),
        Err(error) => return error,
    };
    let settings = settings.filter(|(name, _)| is_setting(name) && env::var_os(name).is_none());
    // No other file is read then.
    let mut command = Command::new(program());
    replace(command.envs(settings).env("LANDING_ENV_FILE", ""))
}

/// True for the service's own variables: others, such as `LD_PRELOAD`, would change more than its settings.
fn is_setting(name: &str) -> bool {
    name.starts_with("LANDING_") || name.starts_with("SSL_CERT_")
}

fn read(file: &Path) -> Result<Vec<(String, String)>, CommandError> {
    let bytes = operator_file::read_trusted(file).map_err(|error| {
        let cure = match error.kind() == io::ErrorKind::PermissionDenied {
            true => "; run the command as root or as the service's user, or pass --data-dir",
            false => "",
        };
        unreadable(file, format!("{error}{cure}"))
    })?;
    let text = String::from_utf8(bytes).map_err(|error| unreadable(file, error))?;
    parse(&text).map_err(|error| CommandError::Input(format!("{}: {error}", file.display())))
}

/// Runs this command again as the owner of `data_dir` if root runs it: with the rights of the service, which may be
/// unable to read what root can.
///
/// # Errors
/// When the system has no `setpriv`.
pub(super) fn become_owner(data_dir: &Path) -> Result<(), CommandError> {
    let Ok(found) = data_dir.metadata() else {
        return Ok(());
    };
    let owner = found.uid();
    if user_id() != 0 || owner == 0 {
        return Ok(());
    }
    let asked = Command::new("id").args(["-g", &owner.to_string()]).output();
    let known = asked.ok().filter(|known| known.status.success());
    let group = known.map(|known| String::from_utf8_lossy(&known.stdout).trim().to_owned());
    // A user without a name, as in a container, is in no other groups.
    let groups = group.as_ref().map_or("--clear-groups", |_| "--init-groups");
    let group = group.unwrap_or_else(|| found.gid().to_string());
    let is_kept = |name: &str| is_setting(name) || TERMINAL.contains(&name);
    let kept = env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept));
    let mut command = Command::new("setpriv");
    command.env_clear().envs(kept).arg(groups);
    command.args([format!("--reuid={owner}"), format!("--regid={group}")]);
    Err(replace(command.arg(program())))
}

fn program() -> PathBuf {
    env::current_exe().unwrap_or_else(|_unknown| "landing-api".into())
}

/// Replaces this process by `command` with its arguments. Returns only if that fails.
fn replace(command: &mut Command) -> CommandError {
    let error = command.args(env::args_os().skip(1)).exec();
    let program = command.get_program().display();
    CommandError::Failed(format!("cannot run {program}: {error}"))
}

/// Reads variables as systemd does, without its escapes.
fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut settings = Vec::new();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        if line.trim().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let wrong = |why| format!("line {number}: {why}");
        let (name, value) = line.split_once('=').ok_or_else(|| wrong(FORM))?;
        let (name, mut value) = (name.trim(), value.trim().to_owned());
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(wrong(FORM));
        }
        let quote = ['"', '\'']
            .into_iter()
            .find(|quote| value.starts_with(*quote));
        if let Some(quote) = quote {
            value.remove(0);
            // A value in quotes may have several lines.
            while !value.ends_with(quote) {
                let (line, _) = lines.next().ok_or_else(|| wrong(QUOTES))?;
                value = format!("{value}\n{}", line.trim_end());
            }
            value.pop();
            if value.contains(quote) {
                return Err(wrong(QUOTES));
            }
        }
        if value.contains(['\\', '\0']) {
            return Err(wrong(QUOTES));
        }
        settings.push((name.to_owned(), value));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_systemd_reads_them() {
        let text = "# comment\n; another\n\n  A=1\r\nB = two words \nC='it is \"so\"'\nD=\"a'b\"\nE=\n\
                    F=\"one\ntwo\"\nG=a=b#c\nH=say \"no\"\n";
        let settings = parse(text).unwrap();
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "it is \"so\""),
            ("D", "a'b"),
            ("E", ""),
            ("F", "one\ntwo"),
            ("G", "a=b#c"),
            ("H", "say \"no\""),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_line_that_is_no_setting_is_named() {
        for (text, told) in [
            ("A=1\nnonsense\n", FORM),
            ("\n=1\n", FORM),
            ("# x\nexport A=1\n", FORM),
            ("A=1\nB-C=1\n", FORM),
            ("\nA=\"open\nB=1\n", QUOTES),
            ("\nA=\"\n", QUOTES),
            ("\nA='one' 'two'\n", QUOTES),
            ("\nA=a\\nb\n", QUOTES),
            ("\nA=\0\n", QUOTES),
        ] {
            assert_eq!(parse(text), Err(format!("line 2: {told}")), "{text:?}");
        }
    }

    #[test]
    fn the_sample_sets_the_data_directory_alone() {
        let sample = include_str!("../../data/deploy/landing-api.env");
        let expected = ("LANDING_DATA_DIR", "/var/lib/landing-api");
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(parse(sample), Ok(vec![expected]));
    }
}
