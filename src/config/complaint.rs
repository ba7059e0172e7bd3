//! What is said of a wrong flag: one line that names it.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _};

use super::Args;

/// The line about `error`, which came of `words`, program name first.
pub(super) fn line(error: clap::Error, words: &[OsString]) -> String {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return not_utf8(words);
    }
    discreet(&error).unwrap_or_else(|| first_paragraph(&on_one_line(error).render().to_string()))
}

/// A message that does not repeat the value, for flags whose value may hold a secret.
fn discreet(error: &clap::Error) -> Option<String> {
    const SECRETIVE: [&str; 3] = ["--model-url", "--model-param", "--newsletter-webhook "];
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let reason = std::error::Error::source(error)?;
    SECRETIVE
        .iter()
        .any(|secretive| flag.starts_with(secretive))
        .then(|| format!("error: invalid value for '{flag}': {reason}"))
}

/// The same error, whose parts that were typed have no line breaks: the message would end there.
fn on_one_line(mut error: clap::Error) -> clap::Error {
    let typed: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| {
            let ContextValue::String(text) = value else {
                return None;
            };
            Some((kind, text.replace(char::is_control, " ")))
        })
        .collect();
    for (kind, text) in typed {
        error.insert(kind, ContextValue::String(text));
    }
    error
}

/// The first paragraph of a message, on one line: what is wrong, without the usage.
fn first_paragraph(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The line about what is no UTF-8. Of that the error itself says nothing.
fn not_utf8(words: &[OsString]) -> String {
    let is_wrong = |command: Command, count: usize| {
        let parsed = command.try_get_matches_from(words.iter().take(count));
        parsed.is_err_and(|error| error.kind() == ErrorKind::InvalidUtf8)
    };
    let command = Args::command();
    // The environment is looked at whatever the words are, and the words from the left.
    let wrong_at = (0..words.len()).find(|&at| is_wrong(command.clone(), at + 1));
    let named = match wrong_at {
        Some(at @ 1..) => in_words(&command, words, at),
        Some(0) | None => command
            .get_arguments()
            .filter(|arg| {
                let alone = Args::command().mut_args(|other| {
                    if other.get_id() == arg.get_id() {
                        other
                    } else {
                        other.env(Resettable::Reset)
                    }
                });
                is_wrong(alone, 1)
            })
            .find_map(|arg| Some(format!("the variable of --{}", arg.get_long()?)))
            .unwrap_or_else(|| "an argument".to_owned()),
    };
    format!("error: {named} is not UTF-8")
}

/// Names the word at `at` by its flag, or else by its place. What was typed is not repeated.
fn in_words(command: &Command, words: &[OsString], at: usize) -> String {
    let flag_of = |word: &OsString| {
        let word = word.to_string_lossy();
        let name = word.strip_prefix("--")?.split('=').next()?.to_owned();
        let is_known = |arg: &Arg| arg.get_long() == Some(&name);
        let is_flag = command.get_arguments().any(is_known);
        is_flag.then(|| format!("the value of --{name}"))
    };
    let before = at.checked_sub(1).and_then(|before| words.get(before));
    words
        .get(at)
        .and_then(flag_of)
        .or_else(|| before.and_then(flag_of))
        .unwrap_or_else(|| format!("argument {at}"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::super::{Config, ConfigError};

    fn complaint(flags: &[&[u8]]) -> String {
        let words = [&b"landing-api"[..], b"--data-dir", b"var"];
        let words = words.iter().chain(flags);
        match Config::parse(words.map(|word| OsStr::from_bytes(word))) {
            Err(ConfigError::Wrong(line)) => line,
            other => panic!("{flags:?}: {other:?}"),
        }
    }

    #[test]
    fn a_value_of_several_lines_hides_no_flag() {
        for (flags, named) in [
            (&[&b"--model"[..], b"a\n\nb"][..], "--model"),
            (&[b"--model=\n\n"], "--model"),
            (&[b"--model=a\r\n\r\nb\x1b[2J"], "--model"),
            (&[b"--listen=a\n\nb"], "--listen"),
            (&[b"--max-connections=a\n\nb"], "--max-connections"),
            (&[b"--log-level=a\n\nb"], "--log-level"),
            (&[b"--model-param=a\n\ns3cret"], "--model-param"),
            (&[b"--po\n\nrt=1"], "--po"),
            (&[b"a\n\nb"], "unexpected argument"),
        ] {
            let line = complaint(flags);
            assert!(line.contains(named), "{line:?}");
            assert!(!line.contains(char::is_control), "{line:?}");
            assert!(!line.contains("s3cret"), "{line}");
        }
    }

    #[test]
    fn what_is_no_utf_8_is_named_and_not_repeated() {
        for (flags, named) in [
            (&[&b"--model"[..], b"s3cret\xff"][..], "--model "),
            (&[b"--model=s3cret\xff"], "--model "),
            (&[b"--model-url", b"s3cret\xff"], "--model-url "),
            (
                &[b"--newsletter-webhook=\xffs3cret"],
                "--newsletter-webhook ",
            ),
            (&[b"--limit", b"ip=off", b"--limit=s3cret\xff"], "--limit "),
            // A path may be any bytes: it is not the one at fault.
            (
                &[b"--site-dir=\xff", b"--listen", b"s3cret\xff"],
                "--listen ",
            ),
        ] {
            let line = complaint(flags);
            assert!(
                line.starts_with("error: ") && line.contains(named),
                "{line}"
            );
            assert!(line.ends_with("is not UTF-8"), "{line}");
            assert!(!line.contains("s3cret"), "{line}");
        }
    }
}
