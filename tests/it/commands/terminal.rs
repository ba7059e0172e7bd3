//! What commands ask and show on a terminal, and what they refuse without one.

use super::{House, command, feed, run};
use crate::prelude::*;
use crate::program::Terminal;

/// Runs a command on a terminal of 80 columns, on which `typed` is typed.
fn on_terminal(words: &str, dir: &Path, typed: &str) -> (Option<i32>, String) {
    let mut terminal = Terminal::start(&mut command(words, dir), 80);
    terminal.type_in(typed);
    terminal.wait()
}

/// Commands that destroy something, and what they ask.
const DESTROYING: &str = "
contacts forget ada@example.com | erase this address for good
contacts forget ada@example.com bob@example.com | erase 2 addresses for good
contacts forget --since 2020-01-01 | erase this address for good
keys revoke 00000000 | revoke this key for good
keys revoke 00000000 00000001 | revoke 2 keys for good
agents revoke reg_nobody | revoke this registration with all its tokens for good
limits reset --all | reset these counts
limits reset --ip 127.0.0.1 | reset these counts
ledger repair | remove the damaged parts of the ledger
";

#[test]
fn what_destroys_something_is_asked_on_a_terminal_and_refused_without_one() {
    let house = House::stopped();
    let dir = &house.path;
    feed("contacts import -", dir, "ada@example.com\n").done();
    let ledger = || fs::read(dir.join("ledger.jsonl")).unwrap();
    let before = ledger();
    for row in DESTROYING.trim().lines() {
        let (words, what) = row.split_once(" | ").unwrap();
        let told = format!("there is no terminal to confirm on: pass --yes to {what}");
        feed(words, dir, "y\n").refused_in_a_line(2, &told);
        for no in ["n\n", "\n", "nonsense\n", "\x04"] {
            let (status, shown) = on_terminal(words, dir, no);
            assert_eq!(status, Some(1), "{words}: {shown}");
            assert!(shown.contains(&format!("Really {what}? [y/N] ")), "{shown}");
            assert!(shown.contains("nothing was changed"), "{shown}");
        }
        assert_eq!(ledger(), before, "{words}");
    }
    let (status, shown) = on_terminal("contacts forget ada@example.com", dir, "y\n");
    assert_eq!(status, Some(0), "{shown}");
    assert_eq!(run("contacts count", dir).out, "0\n");
}

#[test]
fn an_empty_list_says_so_on_a_terminal() {
    let house = House::stopped();
    let lists = "contacts list|keys list|agents list-revoked|block list|questions list";
    for words in lists.split('|') {
        let (status, shown) = on_terminal(words, &house.path, "");
        assert_eq!(status, Some(0), "{shown}");
        assert!(shown.ends_with("\r\nnone\r\n"), "{words}: {shown}");
        assert_eq!(run(words, &house.path).done().out.lines().count(), 1);
        assert_eq!(run(&format!("{words} --json"), &house.path).done().out, "");
    }
}

#[test]
fn verdicts_have_colours_on_a_terminal_unless_they_are_not_wanted() {
    let house = House::stopped();
    for (no_color, ok) in [("", "\x1b[1m\x1b[32mok"), ("1", "ok  ")] {
        let mut check = command("check --listen 127.0.0.1:0", &house.path);
        let terminal = Terminal::start(check.env("NO_COLOR", no_color), 80);
        let (status, shown) = terminal.wait();
        assert_eq!(status, Some(0), "{shown}");
        assert!(shown.starts_with(ok), "{shown:?}");
    }
}
