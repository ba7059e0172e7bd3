//! Completions and the man page.

use clap::ValueEnum as _;
use landing_api::config::{Shell, completions};

use crate::program::{Ran, landing_api, text};

/// The commands, by their names in the help.
const COMMANDS: [&str; 4] = ["check", "completions", "doctor", "man"];

fn printed(words: &[&str]) -> String {
    let ran = Ran::of(&mut landing_api(words)).done();
    assert_eq!(ran.err, "");
    ran.out
}

#[test]
fn completions_name_every_command_and_flag() {
    for shell in Shell::value_variants() {
        let script = text(&completions(*shell));
        for word in COMMANDS.into_iter().chain(["trusted-proxy", "data-dir"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let bash = text(&completions(Shell::Bash));
    assert_eq!(printed(&["completions", "bash"]), bash);
    Ran::of(&mut landing_api(&["completions", "cmd"])).refused(2, "bash");
}

#[test]
fn bash_knows_the_words_below_every_command() {
    let script = text(&completions(Shell::Bash));
    let names = script.lines();
    let names = names.filter_map(|line| line.trim().strip_prefix("cmd=\""));
    let names: Vec<_> = names.map(|name| name.trim_end_matches('"')).collect();
    assert!(names.len() > 40, "{names:?}");
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        assert!(script.contains(&format!("\n        {name})\n")), "{name}");
    }
}

#[test]
fn the_man_page_describes_every_flag_once_and_every_command() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH landing-api 1"), "{page}");
    assert!(page.contains("newsletter sign\\-ups"), "{page}");
    for command in COMMANDS {
        let entry = format!(".TP\n{command}\n");
        assert_eq!(page.matches(&entry).count(), 1, "{command}");
    }
    assert_eq!(page.matches("\\-\\-trusted\\-proxy\\fR").count(), 1);
    // Not one that `-h` shows.
    assert!(page.contains("Network of proxies whose"), "{page}");
}
