use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use serde_json::{Value, json};
use tracing::Level;

use super::*;
use crate::domain::{DAY_MS, Policies, PolicyName};
use crate::rows::rows;

fn load(flags: &[&str]) -> Result<Args, clap::Error> {
    let words = ["landing-api", "--data-dir", "var"];
    match Invocation::load(words.iter().chain(flags))? {
        Invocation::Serve(args) => Ok(*args),
        other @ (Invocation::Operate { .. } | Invocation::RunWith(_)) => panic!("{other:?}"),
    }
}

/// What these words, which blanks part, set.
fn args(words: &str) -> Args {
    let words: Vec<_> = words.split_whitespace().collect();
    load(&words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// The message about `flags`, of which one is wrong.
fn refusal(flags: &[&str]) -> String {
    told(&load(flags).expect_err(&flags.join(" ")), &flags.join(" "))
}

/// The text of the error about `words`.
fn told(error: &clap::Error, words: &str) -> String {
    assert_eq!(error.exit_code(), 2, "{words}");
    let message = error.to_string();
    assert!(message.starts_with("error: "), "{words}: {message}");
    message
}

/// Parses a command line, of which blanks part the words.
fn invoke(words: &str) -> Result<Invocation, clap::Error> {
    Invocation::load(["landing-api"].into_iter().chain(words.split_whitespace()))
}

/// Checks rows of a wrong command line and a part of the message.
fn check_refused(table: &str) {
    for [words, part] in rows(table) {
        let message = told(&invoke(words).expect_err(words), words);
        assert!(message.contains(part), "{words}: {message}");
    }
}

/// Checks flags with wrong values, which blanks part. Each takes the place of its like in `others`, and is
/// refused by its name.
fn check_wrong(wrong: &str, others: &[&str]) {
    for wrong in wrong.split_whitespace() {
        let (flag, _) = wrong.split_once('=').unwrap();
        let mut flags = others.to_vec();
        flags.retain(|other| !other.starts_with(&format!("{flag}=")));
        flags.push(wrong);
        let message = refusal(&flags);
        assert!(message.contains(flag), "{wrong}: {message}");
    }
}

/// Flags that cannot be meant, and what is told.
const MISTAKEN: &str = "
--listen 8080                  | must be an address and a port, such as 127.0.0.1:8080
--base-url example.com         | must be an absolute URL such as https://example.com
--erp-url mailto:ada           | must be an absolute URL such as https://example.com
--admin-listen 9090            | 127.0.0.1:8080
--admin-listen 127.0.0.1       | 127.0.0.1:8080
--admin-listen localhost:9090  | 127.0.0.1:8080
--admin-listen=                | 127.0.0.1:8080
--admin-listen=0.0.0.0:9090       | --admin-listen
--admin-listen=192.0.2.1:9090     | ssh -L
--admin-listen=[::]:9090          | ssh -L
--admin-listen=[2001:db8::1]:9090 | ssh -L
--https-domain=localhost | must be a full domain name
--https-domain=*.a.example | must be a full domain name
--https-domain=https://a.example | must be a full domain name
--https-domain=a.example:443 | must be a full domain name
--https-domain=192.0.2.1 | must be a full domain name
--https-domain=a_b.example | must be a full domain name
--https-domain=-a.example | must be a full domain name
--https-domain= | must be a full domain name
--acme-directory=https://a.example | --https-domain <NAME>
--https-domain=a.example --acme-directory=http://a.example/dir | must be an https URL
--https-domain=a.example --acme-directory=https://a:b@a.example/ | must not contain a user name or password
--https-domain=a.example --tls-cert=a --tls-key=b | set only one of them
--https-domain=a.example --base-url=https://b.example | the certificate covers no other host
--https-domain=a.example --base-url=http://a.example | must be an https URL
--https-domain=a.example --store=postgres://a@b/c --secret-file=/s | --https-domain cannot be used with --store
--tls-cert=a | --tls-key <FILE>
--tls-key=a | --tls-cert <FILE>
--tls-cert=a --tls-key=b --base-url=http://a.example | must be an https URL
--redirect-listen=127.0.0.1:0 | needs an https URL as --base-url
--redirect-listen=127.0.0.1:0 --base-url=http://a.example | needs an https URL
--redirect-listen=80 | must be an address and a port
--accent=#ff9900 | use a darker colour
--accent=teal | must be a colour such as '#0b665e'
--smtp-url=smtps://mx.example.org | --mail-from
--mail-from=news@example.org | --smtp-url
--mail-from=news@example.org --smtp-url=smtps://ada@mx.example.org | --smtp-password-file
--mail-from=news@example.org --smtp-url=smtps://mx.example.org --smtp-password-file=/missing | needs a user
--mail-from=news@example.org --smtp-url=smtps://ada:hunter2@mx.example.org | --smtp-password-file
--mail-from=news@example.org --smtp-url=https://mx.example.org | smtps://USER@HOST
--mail-from=Ada --smtp-url=smtps://mx.example.org | NAME <ADDRESS>
";

#[test]
fn flags_that_cannot_be_meant_are_refused_with_what_to_do() {
    for [flags, part] in rows(MISTAKEN) {
        let message = refusal(&flags.split(' ').collect::<Vec<_>>());
        assert!(message.contains(part), "{flags}: {message}");
    }
}

#[test]
fn the_data_directory_alone_is_enough() {
    let args = args("");
    assert_eq!(args.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(args.policies(), Policies::default());
    assert_eq!(args.connections_max, 4096);
    assert_eq!(args.service_name, "Landing API");
    assert_eq!(args.erp_url, None);
    assert_eq!(args.site_dir, None);
    assert_eq!(args.log_level, Level::INFO);
    assert_eq!(args.log_format, LogFormat::Text);
    assert_eq!(args.model, None);
    assert!(args.allowed_origins.is_empty());
    assert!(args.trusted_proxies.is_empty());
    assert_eq!(args.newsletter_webhook, None);
    let settings = args.settings(args.listen);
    assert_eq!(args.hsts_max_age_s(&settings), None, "not on http");
}

#[test]
fn browsers_insist_on_https_where_clients_use_it_unless_that_is_off() {
    const YEAR: u64 = 365 * 86_400;
    const TEN_YEARS: u64 = 3660 * 86_400;
    for (flags, max_age_s) in [
        ("--base-url https://a.example", Some(YEAR)),
        ("--base-url https://a.example --hsts 5m", Some(300)),
        ("--base-url https://a.example --hsts 0s", Some(0)),
        ("--base-url https://a.example --hsts 3660d", Some(TEN_YEARS)),
        ("--base-url https://a.example --hsts off", None),
        ("--base-url http://a.example", None),
        ("--base-url http://a.example --hsts 5m", None),
    ] {
        let args = args(flags);
        let settings = args.settings(args.listen);
        assert_eq!(args.hsts_max_age_s(&settings), max_age_s, "{flags:?}");
    }
}

#[test]
fn limits_are_set_one_by_one_and_the_last_word_counts() {
    use PolicyName::{Agents, Default, Ip, Keys, Newsletter};
    let args = args(
        "--limit newsletter=9/1h --limit=keys=off --limit default=5/1s,ip=6/1s --limit newsletter=10/1h",
    );
    let policies = args.policies();
    let quota = |policy| policies.quota(policy).map(|quota| quota.to_string());
    let quotas =
        [Newsletter, Default, Ip, Keys, Agents].map(|name| quota(name).unwrap_or_default());
    assert_eq!(quotas, ["10/1h", "5/1s", "6/1s", "", "60/1h"]);
}

#[test]
fn a_wrong_value_is_refused_by_the_name_of_its_flag() {
    let wrong = r#"
--listen=nowhere --listen=127.0.0.1 --listen=127.0.0.1:99999
--base-url= --base-url=example.com --base-url=ftp://example.com --base-url=https://example.com/
--base-url=https://example.com/path --base-url=https://example.com?x --base-url=https://example.com#x
--base-url=https://me:pw@example.com --base-url=https:// --base-url=https://a"b.c
--base-url=https://a'b.c --base-url=https://a_b.c --base-url=https://x..y --base-url=https://x.y.
--base-url=http://x.y:0
--service-name= --erp-url=erp
--limit=newsletter --limit=newsletter= --limit=nonsense=1/1s --limit=newsletter=0/15m
--limit=newsletter=8/15 --limit=newsletter=Off
--allow-origin=* --allow-origin=null --allow-origin= --allow-origin=example.com
--allow-origin=https://example.com/ --allow-origin=https://example.com/page
--allow-origin=https://*.example.com --allow-origin=https://me@example.com
--allow-origin=file:///page.html --allow-origin=https://a.example,*
--trusted-proxy= --trusted-proxy=proxy --trusted-proxy=10.0.0.0/33 --trusted-proxy=10.0.0/8
--trusted-proxy=10.0.0.0/-1 --trusted-proxy=0.0.0.0/0 --trusted-proxy=1.2.3.4/0 --trusted-proxy=::/0
--trusted-proxy=::ffff:0:0/96
--newsletter-webhook= --newsletter-webhook=hooks.example --newsletter-webhook=ftp://hooks.example
--newsletter-webhook=https://me:pw@hooks.example --newsletter-webhook=https://hooks.example/#a
--newsletter-webhook-mode=later --newsletter-webhook-mode=
--opt-in=triple --opt-in=
--max-connections=0 --max-connections=-1
--log-level=loud --log-level=3 --log-format=xml
--hsts= --hsts=on --hsts=Off --hsts=31536000 --hsts=-1s --hsts=+1s --hsts=3661d
--hsts=99999999999999999999s
--accent=teal --accent=#ff9900 --keep-questions=366 --keep-questions=-1 --keep-questions=week
"#;
    check_wrong(wrong, &[]);
    for wrong in [
        "--service-name=a\nb",
        "--service-name=\n\n",
        "--service-name=a\u{1b}[31m",
        "--service-name=a\u{FFFE}",
        "--service-name=a\u{FFFF}",
        "--hsts=1d; includeSubDomains",
    ] {
        let message = refusal(&[wrong]);
        let (flag, _) = wrong.split_once('=').unwrap();
        assert!(message.contains(flag), "{wrong:?}: {message}");
    }
}

#[test]
fn a_wrong_value_of_the_model_is_refused_by_the_name_of_its_flag() {
    let wrong = r#"
--model-url=ftp://x --model-url=nonsense --model-url=http://u:p@x --model-url=http://x/v1?k=1
--model-url=http://x/v1/chat/completions
--model= --model-timeout=0s --model-timeout=6m --model-timeout=30
--model-concurrency=0 --model-concurrency=4097 --model-fallback=pages --model-fallback=
--model-param=max_tokens --model-param==1 --model-param=a-b=1 --model-param=stop=word
--model-param=stream=true --model-param=model="x" --model-param=messages=[]
"#;
    check_wrong(wrong, &[URL, "--model=m"]);
}

#[test]
fn a_flag_that_needs_another_says_so() {
    let of_model = "--model=m --model-key-file=k --model-timeout=30s --model-concurrency=1 --model-param=a=1 \
                    --model-thinks-first --model-fallback=guide --assistant-prompt-file=p";
    let of_webhook = "--newsletter-webhook-secret-file=f --newsletter-webhook-mode=direct";
    for (flags, needed) in [
        (URL, "--model <NAME>"),
        (of_model, "--model-url"),
        (of_webhook, "--newsletter-webhook <URL>"),
        ("--opt-in=double", "--smtp-url"),
    ] {
        for flag in flags.split(' ') {
            let message = refusal(&[flag]);
            assert!(message.contains(needed), "{flag}: {message}");
        }
    }
}

#[test]
fn the_link_of_a_confirmation_leads_here_and_is_safe() {
    let with = |more: &str| {
        format!(
            "--opt-in=double --smtp-url=smtp://127.0.0.1:25 --mail-from=news@example.com {more}"
        )
    };
    let refusal = |more: &str| refusal(&with(more).split(' ').collect::<Vec<_>>());
    let safe =
        "https://api.example.com http://127.0.0.1:8080 http://[::1]:8080 http://localhost:8080";
    for url in safe.split(' ') {
        let args = args(&with(&format!("--base-url={url}")));
        let settings = args.settings(args.listen);
        assert_eq!(settings.opt_in_ms, Some(7 * DAY_MS), "{url}");
    }
    let unsafe_ones = "--listen=0.0.0.0:8080 --listen=[::]:8080 --listen=192.0.2.1:8080 \
                       --base-url=http://api.example.com";
    for more in unsafe_ones.split(' ') {
        let message = refusal(more);
        let is_told = message.contains("needs an https URL as --base-url");
        assert!(is_told, "{message}");
    }
    // On a laptop the address listened on is enough.
    for listen in ["127.0.0.1:8080", "[::1]:8081"] {
        let args = args(&with(&format!("--listen {listen}")));
        let bound = listen.parse().unwrap();
        assert_eq!(args.settings(bound).base_url, format!("http://{listen}"));
        assert_eq!(args.check_opt_in(bound), Ok(()));
        // A service manager may have passed another socket.
        let open = "0.0.0.0:8080".parse().unwrap();
        assert!(args.check_opt_in(open).is_err(), "{listen}");
    }
    let direct = "--base-url=https://api.example.com --newsletter-webhook=https://hooks.example \
                  --newsletter-webhook-mode=direct";
    assert!(refusal(direct).contains("--newsletter-webhook-mode direct"));
    let single = args("");
    assert_eq!(single.settings(single.listen).opt_in_ms, None);
}

#[test]
fn a_missing_data_directory_and_an_unknown_flag_are_named() {
    let message = told(&invoke("").unwrap_err(), "");
    assert!(message.contains("--data-dir"), "{message}");
    assert!(refusal(&["--port=1"]).contains("--port"));
    assert!(refusal(&["extra"]).contains("extra"));
}

#[test]
fn several_nodes_need_engines_a_secret_and_their_number() {
    let all = "--store postgres://a/b --limits redis://c --secret-file s --nodes 3";
    // Each node stores its own.
    let questions = format!("{all} --keep-questions 30");
    check_refused(&format!("{questions} | --keep-questions: set --data-dir"));
    invoke("--keep-questions 30 contacts list --data-dir d").unwrap();
    let Invocation::Serve(args) = invoke(all).unwrap() else {
        panic!("it serves");
    };
    assert_eq!((args.data_dir, args.engines.nodes), (None, Some(3)));
    assert_eq!(args.drain_notice, Duration::ZERO);
    check_refused(
        "
--store postgres://a/b --limits redis://c --secret-file s | --nodes
check --store postgres://a/b --limits redis://c --secret-file s | --nodes
--data-dir d --limits redis://c --nodes 3                 | --limits needs --store
--data-dir d --store postgres://a/b                       | --secret-file
--store postgres://a/b --secret-file s                    | --limits URL, or --data-dir DIR
--data-dir d --nodes 3                    | --limits <URL>
--data-dir d --secret-file s              | --store <URL>
--data-dir d --store-password-file p      | --store <URL>
--data-dir d --limits-password-file p     | --limits <URL>
--data-dir d --store-ca c                 | --store <URL>
--data-dir d --nodes 0                    | --nodes
--data-dir d --drain-notice x             | from 0s to 1m
contacts list                             | --data-dir
contacts list --store postgres://a/b      | --secret-file
",
    );
    for flags in [
        "contacts list --store postgres://a/b --secret-file s",
        "--store postgres://a/b --secret-file s contacts list",
        "limits show --store postgres://a/b --secret-file s --limits redis://c",
        "move --data-dir d --store postgres://a/b --secret-file s",
        "migrate --store postgres://a/b --secret-file s",
        "doctor --store postgres://a/b --secret-file s --limits redis://c --nodes 3",
    ] {
        let Invocation::Operate { args, .. } = invoke(flags).unwrap() else {
            panic!("{flags}");
        };
        assert!(args.engines.store.is_some(), "{flags}");
    }
}

#[test]
fn wrong_words_of_a_command_are_refused() {
    check_refused(
        "
contacts --data-dir d                               | requires a subcommand
contcats --data-dir d list                          | 'contacts'
contacts --data-dir d exprot                        | 'export'
contacts --data-dir d show                          | <ADDRESS>
contacts --data-dir d show nobody                   | must be an email address
contacts --data-dir d forget                        | <ADDRESS>
contacts --data-dir d forget a@example.com nobody   | must be an email address
contacts --data-dir d forget a@example.com --since 2026-01-01 | cannot be used with
contacts --data-dir d forget --from - --signed-by ::1 | cannot be used with
contacts --data-dir d forget --yes --until soon     | must be a time such as
contacts --data-dir d list --since yesterday        | must be a time such as
contacts --data-dir d list --sicne 2026-01-01       | '--since'
contacts --data-dir d count --until 2026-13-01      | must be a time such as
contacts --data-dir d import                        | <FILE>
keys --data-dir d revoke                            | <KEY>
queue --data-dir d retry                            | <ID>
queue --data-dir d retry msg_0 --all                | --all
limits --data-dir d reset                           | --all
limits --data-dir d reset --policy newsleter        | [possible values: default, ip
limits --data-dir d reset --all --ip 127.0.0.1      | cannot be used with
limits --data-dir d show --ip localhost             | --ip
limits --data-dir d show --ip 192.0.2               | must be an IP address such as 203.0.113.7
limits --data-dir d show --key k --email ada@example.com | cannot be used with
limits --data-dir d show --ip ::1 --email ada       | must be an email address
limits --data-dir d show --top 256                  | 0..=255
limits --data-dir d show --key x --ip ::1           | cannot be used with
",
    );
}

#[test]
fn values_that_may_hold_secrets_are_not_shown() {
    for flag in "--newsletter-webhook --model-url --model-param --smtp-url".split(' ') {
        for value in ["a b\ns3cret", "https://me:s3cret@a.example/"] {
            let message = refusal(&[&format!("{flag}={value}")]);
            assert!(message.contains(flag), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
    for flag in ["--model=", "--newsletter-webhook=", "--limit="] {
        let flag = OsString::from_vec([flag.as_bytes(), b"s3cret\xff"].concat());
        let words = ["landing-api", "--data-dir=d"].map(OsString::from);
        let error = Invocation::load(words.into_iter().chain([flag])).unwrap_err();
        let message = told(&error, "no UTF-8");
        assert!(message.contains("invalid UTF-8"), "{message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
    let secrets = "--model=m --model-param=key=\"s3cret\" --newsletter-webhook=https://hooks.example/s3cret \
                   --store=postgres://ada:s3cret@db.example/landing --limits=redis://:s3cret@cache.example \
                   --nodes=2 --secret-file=secret";
    let debug = format!("{:?}", args(&format!("{URL} {secrets}")));
    assert!(!debug.contains("s3cret"), "{debug}");
}

#[test]
fn help_names_every_flag_and_the_rule_of_its_variable() {
    let help = load(&["--help"]).unwrap_err();
    assert_eq!((help.exit_code(), help.use_stderr()), (0, false));
    let help = help.to_string();
    for flag in command().get_arguments() {
        let long = flag.get_long().unwrap();
        assert!(help.contains(&format!("--{long}")), "{long}");
        if !matches!(long, "help" | "version") {
            let variable = format!("LANDING_{}", long.to_uppercase().replace('-', "_"));
            assert_eq!(flag.get_env(), Some(OsStr::new(&variable)));
        }
    }
    let rule = "variable, such as LANDING_DATA_DIR";
    assert!(help.contains(rule), "{help}");
    assert!(help.lines().count() <= 330, "{}", help.lines().count());
}

/// Flags, the address of the socket, and the public origin. Each of several nodes may speak TLS.
const ORIGINS: &str = "
                                                      | 127.0.0.1:8080 | http://127.0.0.1:8080
                                                      | [::1]:80       | http://[::1]:80
                                                      | 0.0.0.0:8080   | http://localhost:8080
                                                      | [::]:8080      | http://localhost:8080
                                                      | 192.0.2.1:443  | http://192.0.2.1:443
--base-url https://Example.com:443                    | 0.0.0.0:1      | https://example.com
--base-url https://bücher.example                     | 0.0.0.0:1      | https://xn--bcher-kva.example
--base-url http://192.0.2.1:81                        | 0.0.0.0:1      | http://192.0.2.1:81
--base-url http://[2001:db8::1]                       | 0.0.0.0:1      | http://[2001:db8::1]
--base-url http://localhost                           | 0.0.0.0:1      | http://localhost
--tls-cert=a --tls-key=b                              | 192.0.2.1:443  | https://192.0.2.1:443
--tls-cert=a --tls-key=b --store=postgres://ada@db.example/landing --secret-file=c | 192.0.2.1:443 | https://192.0.2.1:443
--tls-cert=a --tls-key=b --base-url=https://a.example | 192.0.2.1:443  | https://a.example
";

#[test]
fn the_public_origin_follows_the_socket_unless_named_and_is_https_with_tls() {
    for [flags, bound, origin] in rows(ORIGINS) {
        let settings = args(flags).settings(bound.parse().unwrap());
        assert_eq!(settings.base_url, origin, "{flags} {bound}");
    }
}

#[test]
fn allowed_origins_are_written_as_browsers_write_them() {
    let args = args(
        "--allow-origin https://Shop.Example:443,http://127.0.0.1:3000 --allow-origin=https://bücher.example",
    );
    let origins = "https://shop.example http://127.0.0.1:3000 https://xn--bcher-kva.example";
    assert_eq!(args.allowed_origins.join(" "), origins);
}

#[test]
fn a_bare_address_is_a_network_of_one() {
    let several = "--trusted-proxy=10.1.2.3/8,127.0.0.1 --trusted-proxy=2001:db8::1";
    let networks = args(several).trusted_proxies;
    let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
    let expected = "10.0.0.0/8 127.0.0.1/32 2001:db8::1/128";
    assert_eq!(networks.join(" "), expected);
    for mapped in ["::ffff:172.16.0.0/108", "::ffff:10.0.0.1"] {
        let message = refusal(&[&format!("--trusted-proxy={mapped}")]);
        let is_told = message.contains("must be written as an IPv4 network");
        assert!(is_told, "{message}");
    }
}

#[test]
fn proxies_that_are_everybody_are_refused_however_they_are_named() {
    let all = "0.0.0.0/1,128.0.0.0/1 128.0.0.0/1,10.0.0.0/8,0.0.0.0/1 10.0.0.0/8,::/1,8000::/1 \
               0.0.0.0/2,64.0.0.0/2,128.0.0.0/2,192.0.0.0/2";
    for all in all.split(' ') {
        let variable = format!("--trusted-proxy={all}");
        let flags = variable.replace(',', " --trusted-proxy=");
        for flags in [&*variable, &flags] {
            let message = refusal(&flags.split(' ').collect::<Vec<_>>());
            let is_told = message.contains("--trusted-proxy must not cover all");
            assert!(is_told, "{message}");
        }
    }
    for some in "0.0.0.0/1 0.0.0.0/1,128.0.0.0/2,192.0.0.0/3 8000::/1,10.0.0.0/8".split(' ') {
        args(&format!("--trusted-proxy={some}"));
    }
}

#[test]
fn a_webhook_is_taken_as_written() {
    let url = "https://hooks.example/a/?token=s3cret";
    let args = args(&format!("--newsletter-webhook {url}"));
    assert_eq!(args.newsletter_webhook.unwrap().0, url);
}

const URL: &str = "--model-url=http://127.0.0.1:11434/v1/";

#[test]
fn two_flags_make_a_model() {
    let model = args(&format!("{URL} --model=small")).model.unwrap();
    assert_eq!(model.url, "http://127.0.0.1:11434/v1");
    assert_eq!(model.name, "small");
    assert_eq!(model.timeout, Duration::from_secs(30));
    assert_eq!(model.concurrency, 64);
    assert!(!model.thinks_first);
    assert!(!model.falls_back);
    assert_eq!((model.key_file, model.prompt_file), (None, None));
}

/// The parameters of a model with these flags.
fn params(flags: &[&str]) -> Vec<(String, Value)> {
    let args = load(&[&[URL, "--model=small"], flags].concat()).unwrap();
    let params = args.model.unwrap().params.into_iter();
    params
        .map(|ModelParam(name, value)| (name, value))
        .collect()
}

#[test]
fn model_parameters_are_json_one_a_flag_or_a_line_of_a_variable() {
    let expected = [
        ("a", json!(1)),
        ("b", json!({"c": [1, 2]})),
        ("d", json!(null)),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    let lines = "--model-param=a=1\nb={\"c\":[1,2]}\nd=null";
    let object = r#"b={"c":[1,2]}"#;
    let flags = [
        "--model-param=a=1",
        "--model-param",
        object,
        "--model-param=d=null",
    ];
    assert_eq!(params(&[lines]), expected);
    assert_eq!(params(&flags), expected);
    let others = "|\n|a=|a=\n|a=1 b=2|a={} b=2|a={}b=2|a=1,b=2|a=1\nb|a=1\nb=|a=1\nmodel=\"x\"|n=2|a=1\na=2|\
                  a=1\nb=2\na=1|a=1\n=2|a={\n\"x\": 1\nb=2";
    for bad in others.split('|') {
        let message = refusal(&[URL, "--model=m", &format!("--model-param={bad}")]);
        assert!(message.contains("--model-param"), "{bad:?}: {message}");
    }
    let twice = refusal(&[URL, "--model=m", "--model-param=a=1", "--model-param=a=2"]);
    assert!(twice.contains("--model-param"), "{twice}");
}

/// Every command with its words.
fn all_commands() -> Vec<(String, clap::Command)> {
    let mut root = command();
    root.build();
    let mut found = Vec::new();
    commands(&root, "landing-api", &mut found);
    found
}

fn commands(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
    found.push((words.to_owned(), command.clone()));
    for inner in command
        .get_subcommands()
        .filter(|it| it.get_name() != "help")
    {
        commands(inner, &format!("{words} {}", inner.get_name()), found);
    }
}

#[test]
fn help_fits_80_columns_and_every_command_has_a_description_of_its_own_and_an_example() {
    let found = all_commands();
    assert!(found.len() > 20, "{}", found.len());
    let mut seen = HashMap::new();
    for (words, mut command) in found {
        let about = command.get_about().map(ToString::to_string);
        let other = seen.insert(about.unwrap(), words.clone());
        assert_eq!(other, None, "{words}");
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string();
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{words}");
        }
        let example = format!("  {words}");
        let help = command.render_help().to_string();
        let is_group = command.has_subcommands() && words != "landing-api";
        assert!(is_group || help.contains(&example), "{words}: {help}");
    }
}

#[test]
fn only_commands_that_need_the_flags_of_several_nodes_show_them() {
    let mut showing = Vec::new();
    for (words, mut command) in all_commands() {
        let help = command.render_long_help().to_string();
        let texts = [
            "\nSeveral nodes:\n",
            " --store <",
            " --limits <",
            " --nodes <",
        ];
        let shown = texts.map(|text| help.contains(text));
        assert_eq!(shown, [shown[0]; 4], "{words}: {help}");
        showing.extend(shown[0].then_some(words));
    }
    let expected = ["", " migrate", " move", " check", " doctor"];
    assert_eq!(showing, expected.map(|words| format!("landing-api{words}")));
}

#[test]
fn flags_of_the_service_stand_under_headings() {
    let command = command();
    let others = ["help", "version", "data_dir"];
    let flags = command.get_arguments();
    for flag in flags.filter(|arg| !others.contains(&arg.get_id().as_str())) {
        let has_heading = flag.get_help_heading().is_some();
        assert!(has_heading, "{flag} is not in data/deploy/landing-api.env");
    }
    let variables: Vec<_> = command
        .get_arguments()
        .filter_map(clap::Arg::get_env)
        .collect();
    let settings = SETTINGS.lines().filter_map(|line| line.split_once('='));
    let names = settings.map(|(name, _)| name.trim_start_matches('#'));
    for name in names.filter(|name| name.starts_with("LANDING_")) {
        assert!(variables.iter().any(|known| *known == name), "{name}");
    }
    let help = command.clone().render_long_help().to_string();
    for heading in [
        "\nModel:\n",
        "\nSeveral nodes:\n",
        "\nExit status:\n  0  done\n",
    ] {
        assert!(help.contains(heading), "{help}");
    }
}

#[test]
fn the_short_help_fits_two_screens_and_has_the_common_flags() {
    let help = command().render_help().to_string();
    assert!(help.lines().count() <= 60, "{help}");
    for flag in COMMON_FLAGS {
        assert!(help.contains(&format!("--{flag} <")), "{flag}: {help}");
    }
}

#[test]
fn every_text_of_the_help_belongs_to_a_command() {
    let is_heading = |line: &&str| line.starts_with('#');
    let headings = EXAMPLES.lines().filter(is_heading);
    for heading in headings.filter(|heading| *heading != "# --help") {
        let mut command = &command();
        for name in heading.split_whitespace().skip(1) {
            let below = command.find_subcommand(name);
            command =
                below.unwrap_or_else(|| panic!("data/help/examples.txt: {heading} is no command"));
        }
        assert!(command.get_after_help().is_some(), "{heading}");
    }
}

#[test]
fn a_contact_is_an_address_or_a_page_and_suggestions_are_a_few_short_lines() {
    let settings = |flags: &[&str]| {
        let bound = "127.0.0.1:8080".parse().unwrap();
        load(flags).unwrap().settings(bound)
    };
    for (contact, expected) in [
        ("ada@example.com", "mailto:ada@example.com"),
        ("https://example.com/us", "https://example.com/us"),
        ("/us", "/us"),
    ] {
        let settings = settings(&["--contact", contact]);
        assert_eq!(settings.contact.as_deref(), Some(expected));
    }
    for wrong in "|us|//us|mailto:ada@example.com|ada@|javascript:alert(1)".split('|') {
        let message = refusal(&["--contact", wrong]);
        assert!(message.contains("or an email address"), "{message}");
    }
    assert_eq!(settings(&["--suggestion=a?"; 6]).suggestions, ["a?"; 6]);
    assert_eq!(settings(&["--suggestion=a?\nb?"]).suggestions, ["a?", "b?"]);
    let (long, longest) = ("ä".repeat(101), "ä".repeat(100));
    assert_eq!(settings(&["--suggestion", &longest]).suggestions, [longest]);
    assert!(refusal(&["--suggestion=a?"; 7]).contains("at most 6 times"));
    for wrong in ["", " ", "a|b", "a\u{7}", &long] {
        let message = refusal(&["--suggestion", wrong]);
        assert!(message.contains("--suggestion"), "{wrong}");
    }
}
