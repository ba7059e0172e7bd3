//! The tables in README agree with the program.

use std::process::Command;

use landing_api::domain::policy::PolicyName;
use landing_api::site::tools::Tool;

const README: &str = include_str!("../../README.md");

/// The cells of table rows whose first cell is code, such as a flag or a policy.
fn rows() -> Vec<Vec<&'static str>> {
    README
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

#[test]
fn every_policy_stands_there_with_its_default() {
    let rows = rows();
    for policy in PolicyName::ALL {
        let name = format!("`{}`", policy.as_str());
        let row = rows.iter().find(|row| row[0] == name).unwrap();
        // README writes a day in hours.
        let quota = policy.default_quota().to_string().replace("/1d", "/24h");
        assert_eq!(row[1], quota, "{name}");
    }
}

#[test]
fn every_tool_stands_there() {
    let rows = rows();
    for tool in Tool::ALL {
        let name = format!("`{}`", tool.name());
        assert!(rows.iter().any(|row| row[0] == name), "{name}");
    }
}

#[test]
fn every_flag_of_the_help_stands_there_and_no_other() {
    let help = Command::new(env!("CARGO_BIN_EXE_landing-api"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut of_help: Vec<_> = help
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("--"))
        .map(|flag| flag.split(' ').next().unwrap())
        .collect();
    let mut of_readme: Vec<_> = rows()
        .iter()
        .filter_map(|row| row[0].strip_prefix("`--"))
        .map(|flag| flag.split([' ', '`']).next().unwrap())
        .collect();
    of_help.sort_unstable();
    of_readme.sort_unstable();
    assert_eq!(of_help, of_readme);
}
