use super::*;

fn parse(flags: &[&str]) -> Result<Config, ConfigError> {
    let words = ["landing-api", "--data-dir", "var"];
    Config::parse(words.iter().chain(flags))
}

#[test]
fn the_data_directory_alone_is_enough() {
    let config = parse(&[]).unwrap();
    assert_eq!(config.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(config.policies, Policies::default());
    assert_eq!(config.key_lifetime_ms, 90 * 86_400_000);
    assert_eq!(config.reveal_existing, RevealExisting::SameClient);
    assert_eq!(config.connections_max, 16_384);
    assert_eq!(config.service_name, "Landing API");
    assert_eq!(config.erp_url, None);
    assert_eq!(config.site_dir, None);
    assert_eq!(config.log_level, Level::INFO);
    assert!(!config.is_log_json);
}

#[test]
fn limits_are_set_one_by_one_and_the_last_word_counts() {
    let config = parse(&[
        "--limit",
        "newsletter=9/1h",
        "--limit=keys=off",
        "--limit",
        "default=5/1s,ip=6/1s",
        "--limit",
        "newsletter=10/1h",
    ])
    .unwrap();
    let quota = |policy| config.policies.quota(policy).map(|quota| quota.to_string());
    assert_eq!(quota(PolicyName::Newsletter), Some("10/1h".to_owned()));
    assert_eq!(quota(PolicyName::Default), Some("5/1s".to_owned()));
    assert_eq!(quota(PolicyName::Ip), Some("6/1s".to_owned()));
    assert_eq!(quota(PolicyName::Keys), None);
    assert_eq!(quota(PolicyName::Agents), Some("60/1h".to_owned()));
}

#[test]
fn a_wrong_value_is_one_line_that_names_the_flag() {
    for (flag, value) in [
        ("--listen", "nowhere"),
        ("--listen", "127.0.0.1"),
        ("--listen", "127.0.0.1:99999"),
        ("--base-url", "example.com"),
        ("--base-url", "ftp://example.com"),
        ("--base-url", "https://example.com/"),
        ("--base-url", "https://example.com/path"),
        ("--base-url", "https://example.com?x"),
        ("--base-url", "https://example.com#x"),
        ("--base-url", "https://me:pw@example.com"),
        ("--base-url", "https://"),
        ("--base-url", ""),
        ("--base-url", "https://a\"b.c"),
        ("--base-url", "https://a'b.c"),
        ("--base-url", "https://a_b.c"),
        ("--base-url", "https://x..y"),
        ("--base-url", "https://x.y."),
        ("--base-url", "http://x.y:0"),
        ("--service-name", ""),
        ("--service-name", "a\nb"),
        ("--service-name", "\n\n"),
        ("--service-name", "a\u{1b}[31m"),
        ("--service-name", "a\u{FFFE}"),
        ("--service-name", "a\u{FFFF}"),
        ("--erp-url", "erp"),
        ("--limit", "newsletter"),
        ("--limit", "newsletter="),
        ("--limit", "nonsense=1/1s"),
        ("--limit", "newsletter=0/15m"),
        ("--limit", "newsletter=8/15"),
        ("--limit", "newsletter=Off"),
        ("--key-lifetime", "forever"),
        ("--key-lifetime", "1s"),
        ("--reveal-existing", "sometimes"),
        ("--max-connections", "0"),
        ("--max-connections", "-1"),
        ("--log-level", "loud"),
        ("--log-format", "xml"),
    ] {
        match parse(&[&format!("{flag}={value}")]) {
            Err(ConfigError::Wrong(line)) => {
                assert!(line.contains(flag), "{flag} {value}: {line}");
                assert!(!line.contains(char::is_control), "{line:?}");
                assert!(line.starts_with("error: "), "{line}");
            }
            other => panic!("{flag} {value}: {other:?}"),
        }
    }
}

#[test]
fn a_missing_data_directory_and_an_unknown_flag_are_named() {
    for (words, named) in [
        (vec!["landing-api"], "--data-dir"),
        (
            vec!["landing-api", "--data-dir", "var", "--port=1"],
            "--port",
        ),
        (vec!["landing-api", "--data-dir", "var", "extra"], "extra"),
    ] {
        match Config::parse(words) {
            Err(ConfigError::Wrong(line)) => assert!(line.contains(named), "{line}"),
            other => panic!("{named}: {other:?}"),
        }
    }
}

#[test]
fn help_names_every_flag_and_its_variable() {
    let Err(ConfigError::Shown(help)) = parse(&["--help"]) else {
        panic!("no help");
    };
    for flag in Args::command().get_arguments() {
        let (Some(long), id) = (flag.get_long(), flag.get_id().as_str()) else {
            panic!("{flag:?} has no long form");
        };
        assert!(help.contains(&format!("--{long}")), "{long}");
        if id != "help" && id != "version" {
            let variable = format!("LANDING_{}", id.to_uppercase());
            assert!(help.contains(&variable), "{variable}");
        }
    }
}

#[test]
fn the_public_origin_follows_the_socket_unless_named() {
    let config = parse(&[]).unwrap();
    for (bound, origin) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("[::1]:80", "http://[::1]:80"),
        ("0.0.0.0:8080", "http://localhost:8080"),
        ("[::]:8080", "http://localhost:8080"),
    ] {
        assert_eq!(config.public_origin(bound.parse().unwrap()), origin);
    }
    for (typed, origin) in [
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("http://192.0.2.1:81", "http://192.0.2.1:81"),
        ("http://[2001:db8::1]", "http://[2001:db8::1]"),
        ("http://localhost", "http://localhost"),
    ] {
        let config = parse(&["--base-url", typed]).unwrap();
        assert_eq!(config.base_url.as_deref(), Some(origin));
    }
    let named = parse(&["--base-url", "https://Example.com:443"]).unwrap();
    assert_eq!(
        named.public_origin("0.0.0.0:1".parse().unwrap()),
        "https://example.com"
    );
}
