//! What the program prints about itself: completions, the man page, the units of systemd.

use clap::ValueEnum as _;
use landing_api::config::{Shell, completions};

use crate::program::{Ran, landing_api, text};

/// The commands, by their names in the help.
const COMMANDS: [&str; 5] = ["check", "completions", "doctor", "man", "systemd"];

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
    assert_eq!(
        printed(&["completions", "bash"]),
        text(&completions(Shell::Bash))
    );
    Ran::of(&mut landing_api(&["completions", "cmd"])).refused(2, "bash");
}

#[test]
fn bash_knows_the_words_below_every_command() {
    let script = text(&completions(Shell::Bash));
    let names = script
        .lines()
        .filter_map(|line| line.trim().strip_prefix("cmd=\""));
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
        let heading = format!(".SH \"LANDING-API {}\"", command.to_uppercase());
        assert_eq!(page.matches(&heading).count(), 1, "{command}");
    }
    assert_eq!(page.matches("\\-\\-trusted\\-proxy\\fR").count(), 1);
}

#[test]
fn the_units_have_the_flags_that_were_given() {
    let flags = [
        "systemd",
        "--base-url",
        "https://api.example.com",
        "--service-name",
        "A \"name\" of 100% $HOME",
        "--limit",
        "ip=off,keys=off",
        "--listen",
        "[::1]:9000",
        "--data-dir",
        "/srv/landing",
    ];
    let units = printed(&flags);
    let exec = units.lines().find(|line| line.starts_with("ExecStart="));
    assert_eq!(
        exec.unwrap().split_once(' ').unwrap().1,
        "--base-url=https://api.example.com \"--service-name=A \\\"name\\\" of 100%% $$HOME\" \
         --limit=ip=off --limit=keys=off"
    );
    for line in [
        "ListenStream=[::1]:9000",
        "Environment=LANDING_DATA_DIR=/srv/landing",
        "ReadWritePaths=/srv/landing",
        "Type=notify",
        "CapabilityBoundingSet=",
    ] {
        assert!(units.lines().any(|it| it == line), "{line}: {units}");
    }
    assert!(!units.contains("StateDirectory"), "{units}");
    assert!(!units.contains("redirect"), "{units}");
    let redirect = ["--redirect-listen=0.0.0.0:80", "--data-dir=/srv/landing"];
    let units = printed(
        &[
            &flags[..1],
            &redirect[..],
            &["--base-url=https://a.example"],
        ]
        .concat(),
    );
    let (_, unit) = units
        .split_once("system/landing-api-redirect.socket\n")
        .unwrap();
    for line in [
        "ListenStream=0.0.0.0:80",
        "FileDescriptorName=redirect",
        "Service=landing-api.service",
    ] {
        assert!(unit.lines().any(|it| it == line), "{line}: {units}");
    }
    assert!(!units.contains("--redirect-listen"), "{units}");
    assert!(
        units.contains("enable --now landing-api.socket landing-api-redirect.socket "),
        "{units}"
    );
}

#[test]
fn the_units_give_the_service_its_data_directory() {
    for (dir, line) in [
        ("/var/lib/landing-api", "StateDirectory=landing-api"),
        ("/var/lib/a/b", "StateDirectory=a/b"),
        ("/home/ada/landing", "BindPaths=/home/ada/landing"),
        ("/srv/a b", "ReadWritePaths=\"/srv/a b\""),
    ] {
        let units = printed(&["systemd", "--data-dir", dir]);
        assert!(units.lines().any(|it| it == line), "{line}: {units}");
    }
    // The packages' own.
    let units = printed(&["systemd"]);
    let own = include_str!("../../data/deploy/landing-api.service").lines();
    for line in own.filter(|line| !line.starts_with("ExecStart=")) {
        assert!(units.lines().any(|it| it == line), "{line}");
    }
    Ran::of(&mut landing_api(&["systemd", "--data-dir", "var"])).refused(2, "absolute");
    for flags in [
        &["--tls-cert=a.pem", "--tls-key=/b.pem"][..],
        &["--tls-cert=/a.pem", "--tls-key=b.pem"],
        &["--site-dir=../site"],
    ] {
        let relative = flags.iter().find(|flag| !flag.contains("=/")).unwrap();
        let (name, _) = relative.split_once('=').unwrap();
        let told = format!("systemd needs the {name} as an absolute path");
        Ran::of(landing_api(&["systemd"]).args(flags)).refused_in_a_line(2, &told);
    }
    Ran::of(&mut landing_api(&["--limit", "ip=off", "systemd"])).refused(2, "give flags after it");
}

#[test]
fn the_units_hold_no_secret() {
    let hook = "https://hooks.example.com/s3cret";
    let units = printed(&["systemd", "--newsletter-webhook", hook]);
    assert!(!units.contains("s3cret"), "{units}");
    assert!(
        units.contains("landing-api.env: LANDING_NEWSLETTER_WEBHOOK"),
        "{units}"
    );
}
