//! The operator's commands on the engines that several nodes share.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::prelude::*;
use crate::program::{closed_address, json_lines, private_dir};

/// The handbook's words on recovery.
const HANDBOOK: &str = include_str!("../../data/handbook/several-nodes.md");

struct Site {
    postgres: Postgres,
    redis: Redis,
    dir: TempDir,
}

impl Site {
    async fn start() -> Self {
        let site = Self {
            postgres: Postgres::start().await,
            redis: Redis::start().await,
            dir: tempfile::tempdir().unwrap(),
        };
        site.write_secret("secret", '1');
        site
    }

    /// Makes a file with a secret of this digit.
    fn write_secret(&self, name: &str, digit: char) -> PathBuf {
        let path = self.dir.path().join(name);
        write_secret(&path, &[&digit.to_string().repeat(64)]);
        path
    }

    /// `landing-api WORDS` with the flags of the nodes.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = landing_api(words);
        let limits = format!("redis://127.0.0.1:{}", self.redis.port);
        command.args(["--store", &self.postgres.url(), "--limits", &limits]);
        command.args(["--nodes", "2", "--secret-file"]);
        command.arg(self.dir.path().join("secret"));
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&mut self.command(words))
    }

    /// What a command prints that is to succeed.
    fn printed(&self, words: &[&str]) -> String {
        self.run(words).done().out
    }

    fn node(&self) -> Program {
        Program::start(self.command(&[]).args(["--listen", "127.0.0.1:0"]))
    }
}

/// The first client of a policy in what `limits show --json` prints.
fn busiest(shown: &Value, policy: &str) -> Value {
    let mut rows = shown.as_array().unwrap().iter();
    rows.find(|row| row["policy"] == policy).unwrap()["clients"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn contacts_keys_and_limits_are_operated_as_in_a_data_directory() {
    let site = Site::start().await;
    site.printed(&["migrate"]);
    let node = site.node();
    assert_eq!(node.sign_up("ada@example.com"), false);
    let key = node.mint();
    assert_eq!(node.health(&key), 200);

    let rows = site.dir.path().join("rows.csv");
    fs::write(&rows, "email\nbob@example.com\nada@example.com\nnobody\n").unwrap();
    let imported = site.run(&["contacts", "import", rows.to_str().unwrap(), "--json"]);
    assert_eq!(imported.status, Some(3), "a row is bad");
    let exported = site.printed(&["contacts", "export", "--json"]);
    let exported = json_lines(&exported);
    let emails: Vec<_> = exported.iter().map(|row| &row["email"]).collect();
    assert_eq!(emails, ["ada@example.com", "bob@example.com"]);
    let counted = site.printed(&["contacts", "count", "--json"]);
    assert_eq!(counted.trim(), r#"{"contacts":2}"#);
    site.printed(&["contacts", "forget", "bob@example.com", "--yes"]);
    assert!(!site.printed(&["contacts", "list"]).contains("bob@"));
    let again = site.printed(&["contacts", "export"]);
    fs::write(&rows, "email\nbob@example.com\n").unwrap();
    site.printed(&["contacts", "import", rows.to_str().unwrap()]);
    // An erased address stays away.
    assert_eq!(site.printed(&["contacts", "export"]), again);

    let [listed] = &site.run(&["keys", "list", "--json"]).json_lines()[..] else {
        panic!("one was minted");
    };
    assert_eq!(listed["state"], "active");
    site.printed(&["keys", "revoke", listed["id"].as_str().unwrap(), "--yes"]);
    let refused = async || node.health(&key) == 401;
    until("the node to notice", refused).await;

    let shown = site.printed(&["limits", "show"]);
    assert!(shown.contains("Heaviest clients of default"), "{shown}");
    let shown = site.run(&["limits", "show", "--ip", "127.0.0.1", "--json"]);
    assert_eq!(busiest(&shown.json(), "keys")["used"], 1, "one was minted");
    site.printed(&["limits", "reset", "--all", "--yes"]);
    let shown = site.printed(&["limits", "show"]);
    assert!(!shown.contains("Heaviest"), "{shown}");

    let status = site.run(&["status", "--json"]).json();
    assert_eq!(status["is_running"], false);
    assert_eq!(status["files"], Value::Array(vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_a_service_sees_what_all_nodes_have_done() {
    let mut site = Site::start().await;
    site.printed(&["migrate"]);
    let (own, other) = (private_dir(), private_dir());
    let [own, other] = [&own, &other].map(|dir| ["--data-dir", dir.path().to_str().unwrap()]);
    let hook = format!("--newsletter-webhook=http://{}/hook", closed_address());
    let node = |flags: &[&str]| {
        let mut node = site.command(&["--listen", "127.0.0.1:0", &hook]);
        Program::start(node.args(flags))
    };
    let (first, second) = (node(&own), node(&[]));
    first.sign_up("ada@example.com");
    second.sign_up("bob@example.com");
    for (flags, is_running) in [(&own[..], true), (&other[..], false), (&[][..], false)] {
        let status = site.run(&[&["status", "--json"], flags].concat()).json();
        assert_eq!(status["is_running"], is_running);
        assert_eq!(status["service"].is_null(), !is_running);
        assert_eq!(status["contacts"]["total"], 2);
        assert_eq!(status["queues"][0]["waiting"], 2, "{status}");
        let engines: Vec<_> = status["engines"].as_array().unwrap().iter().collect();
        assert_eq!(engines.len(), 2, "{status}");
        assert!(engines.iter().all(|it| it["is_away"] == false), "{status}");
    }
    let shown = site.printed(&[&["status"], &other[..]].concat());
    for line in [
        "Service     not running on this data directory; below: all nodes\n",
        "\nEngine      store up\nEngine      limits up\n",
        "\nDeliveries  webhook: 2 pending",
        "\nContacts    2\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(
        site.printed(&["status"])
            .contains("not checked, without a --data-dir")
    );

    let show = ["limits", "show", "--ip", "127.0.0.1", "--json"];
    let shown = site.run(&[&show[..], &other].concat());
    assert!(shown.err.contains("those of all nodes"), "{shown:?}");
    let client = busiest(&shown.json(), "newsletter-ip");
    assert_eq!(client["used"], 2, "{client}");

    second.stopped();
    site.redis.kill();
    let shown = site.printed(&["status"]);
    assert!(shown.contains("\nEngine      limits down\n"), "{shown}");
    // What the node has counted in the last minute is there once it ends.
    first.stopped();
    assert!(site.printed(&["status"]).contains("Last 24 h   2 sign-ups"));
}

#[tokio::test(flavor = "multi_thread")]
async fn abuse_is_named_erased_and_blocked_as_in_a_data_directory() {
    let site = Site::start().await;
    site.printed(&["migrate"]);
    let node = site.node();
    for name in ["x1", "x2"] {
        node.sign_up(&format!("{name}@example.com"));
    }
    let rows = site.dir.path().join("rows.csv");
    fs::write(&rows, "email\nada@example.com\n").unwrap();
    site.printed(&["contacts", "import", rows.to_str().unwrap()]);
    let shown = site.run(&["limits", "show", "--top", "1", "--json"]).json();
    let client = busiest(&shown, "newsletter-ip");
    for member in ["name", "client"] {
        let name = client[member].as_str().unwrap();
        let counted = site.printed(&["contacts", "count", "--signed-by", name]);
        assert_eq!(counted, "2\n", "{member}");
    }
    let forget = ["contacts", "forget", "--signed-by", "127.0.0.1"];
    assert_eq!(site.run(&forget).status, Some(2));
    site.printed(&[&forget[..], &["--yes"]].concat());
    assert_eq!(site.printed(&["contacts", "count"]), "1\n");

    // Blocks are stored in a data directory.
    let refused = site.run(&["block", "add", "127.0.0.1"]);
    refused.refused(1, "there is no data directory: use --data-dir");
    assert_eq!(node.health("none"), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recovered_database_forgets_again_who_was_erased() {
    let site = Site::start().await;
    site.printed(&["migrate"]);
    let file = |name: &str| site.dir.path().join(name).display().to_string();
    let (rows, exported) = (file("rows.csv"), file("contacts.csv"));
    fs::write(&rows, "email\nada@example.com\nbob@example.com\n").unwrap();
    site.printed(&["contacts", "import", &rows]);
    let earlier = "CREATE TABLE earlier AS SELECT state FROM contact";
    site.postgres.sql(earlier).await;
    site.printed(&["contacts", "forget", "ada@example.com", "--yes"]);
    let recover = "CREATE TABLE later AS SELECT * FROM tombstone; DELETE FROM tombstone; \
         DELETE FROM contact; INSERT INTO contact (state) SELECT * FROM earlier";
    site.postgres.sql(recover).await;
    assert_eq!(site.printed(&["contacts", "count"]), "2\n");

    // As the handbook has it, but for psql's copies.
    site.printed(&["contacts", "export", "-o", &exported]);
    for statement in HANDBOOK.split("-c '").skip(1) {
        let (statement, _) = statement.split_once('\'').unwrap();
        if !statement.starts_with('\\') && !statement.starts_with("CREATE") {
            site.postgres.sql(statement).await;
        }
    }
    site.printed(&["contacts", "import", &exported]);
    let listed = site.printed(&["contacts", "list", "--json"]);
    assert!(listed.contains("bob@example.com"), "{listed}");
    assert!(!listed.contains("ada@example.com"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_no_meaning_there_is_refused() {
    let site = Site::start().await;
    site.printed(&["migrate"]);
    for words in [
        &["backup", "x.tar"][..],
        &["restore", "x.tar"],
        &["ledger", "verify"],
        &["ledger", "compact"],
        &["ledger", "repair"],
    ] {
        site.run(words).refused(2, "pg_dump");
    }

    let mut without = landing_api(&["limits", "show", "--store", &site.postgres.url()]);
    without.args([
        "--secret-file".as_ref(),
        site.dir.path().join("secret").as_os_str(),
    ]);
    Ran::of(&mut without).refused(2, "nowhere to store the rate limits");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_engines_are_named_with_what_to_do() {
    let mut site = Site::start().await;
    let refusal = |site: &Site, words: &[&str]| {
        let ran = site.run(words);
        assert_ne!(ran.status, Some(0), "{words:?}");
        let error = ran.err;
        assert_eq!(error.lines().count(), 1, "{words:?}: {error}");
        for private in [site.postgres.url(), "2".repeat(64)] {
            assert!(!error.contains(&private), "{words:?}: {error}");
        }
        error
    };
    for words in [&["contacts", "list"][..], &[]] {
        let error = refusal(&site, words);
        assert!(error.contains("landing-api migrate"), "{words:?}: {error}");
    }
    site.printed(&["migrate"]);
    assert!(site.printed(&["check"]).contains("engines: "));
    let doctor = |site: &Site| {
        let ran = site.run(&["doctor"]);
        (ran.status, ran.out)
    };
    site.redis.cli(&["config", "set", "appendonly", "yes"]);
    let (status, report) = doctor(&site);
    assert_eq!(status, Some(0), "{report}");
    for words in ["store: is writable", "limits: redis "] {
        assert!(report.contains(words), "{report}");
    }

    let evict = |policy| {
        let set = ["config", "set", "maxmemory-policy", policy];
        site.redis.cli(&set);
    };
    evict("volatile-lru");
    let schema = async |number| {
        let update = format!("UPDATE landing_meta SET schema = {number}");
        site.postgres.sql(&update).await;
    };
    schema(0).await;
    let (status, report) = doctor(&site);
    assert_eq!(status, Some(1), "{report}");
    assert!(report.contains("set noeviction"), "{report}");
    assert!(report.contains("tables of another version"), "{report}");
    schema(7).await;
    evict("noeviction");

    site.write_secret("secret", '2');
    for words in [&["contacts", "list"][..], &["migrate"], &[]] {
        let error = refusal(&site, words);
        let advice = "the same --secret-file";
        assert!(error.contains(advice), "{words:?}: {error}");
    }
    assert!(doctor(&site).1.contains("the same --secret-file"));
    fs::write(site.dir.path().join("secret"), "too short").unwrap();
    assert!(refusal(&site, &["contacts", "list"]).contains("64 hexadecimal digits"));
    site.write_secret("secret", '1');

    site.redis.kill();
    site.postgres.kill();
    let (status, report) = doctor(&site);
    assert_eq!(status, Some(1));
    for words in ["cannot be reached", "each node limits on its own"] {
        assert!(report.contains(words), "{report}");
    }
    assert!(refusal(&site, &["contacts", "count"]).contains("cannot be reached"));
}
