//! The secret: made once, and never replaced behind the operator's back.

use std::os::unix::fs::chown;

use super::contents;
use crate::prelude::*;

fn replace_secret(house: &House, bytes: &[u8], mode: u32) {
    fs::write(house.file("secret"), bytes).unwrap();
    set_permissions(house.file("secret"), Permissions::from_mode(mode)).unwrap();
}

fn check_refused(house: &House, words: &[&str]) {
    let before = contents(&house.path);
    let refusal = house.refusal();
    for word in words {
        assert!(refusal.contains(word), "no {word:?} in: {refusal}");
    }
    assert_eq!(contents(&house.path), before, "something was changed");
}

#[tokio::test]
async fn a_secret_is_made_once_and_one_that_is_lost_or_foreign_is_restored_or_replaced_for_one_start()
 {
    let house = House::stopped_with(["ada"]).await;
    let first = fs::read(house.file("secret")).unwrap();
    assert_eq!(first.len(), 32);
    house.open().stop();
    assert_eq!(fs::read(house.file("secret")).unwrap(), first);
    replace_secret(&house, &[9; 32], 0o600);
    let what = "not the secret of ledger.jsonl";
    check_refused(&house, &[what, "from a backup", "touch"]);
    fs::remove_file(house.file("secret")).unwrap();
    let words = ["secret is missing", "from a backup", "accept-new-secret"];
    check_refused(&house, &words);
    replace_secret(&house, &first, 0o600);
    house.open().assert_has(&["ada"], &[]).await;
    fs::remove_file(house.file("secret")).unwrap();
    fs::write(house.file("accept-new-secret"), "").unwrap();
    house.open().assert_has(&["ada"], &[]).await;
    assert_eq!(fs::read(house.file("secret")).unwrap().len(), 32);
    assert!(!house.file("accept-new-secret").exists());
    // SeededEntropy has drawn the same secret again; any other one stands for a new one.
    replace_secret(&house, &[5; 32], 0o600);
    fs::write(house.file("accept-new-secret"), "").unwrap();
    let (opened, log) = house.open_logged();
    assert!(log.contains("new secret was accepted"), "{log}");
    opened.assert_has(&["ada"], &[]).await;
    assert!(!house.file("accept-new-secret").exists());
    opened.sign_up("bob").await.unwrap();
    opened.stop();
    house.open().assert_has_all(["ada", "bob"]).await;
    replace_secret(&house, &[6; 32], 0o600);
    check_refused(&house, &["not the secret"]);
}

#[tokio::test]
async fn without_events_any_secret_will_do() {
    let house = House::stopped();
    fs::remove_file(house.file("secret")).unwrap();
    house.open().stop();
    replace_secret(&house, &[9; 32], 0o600);
    let opened = house.open();
    opened.sign_up("ada").await.unwrap();
    opened.stop();
    house.open().assert_has(&["ada"], &[]).await;
}

#[tokio::test]
async fn a_secret_of_the_wrong_length_is_refused_and_one_open_to_others_is_closed() {
    let house = House::stopped_with(["ada"]).await;
    let right = fs::read(house.file("secret")).unwrap();
    for (bytes, mode, words) in [
        (&[][..], 0o600, "has 0 bytes instead of 32"),
        (&right[..31], 0o600, "has 31 bytes"),
        (&[7; 33][..], 0o600, "has 33 bytes"),
    ] {
        replace_secret(&house, bytes, mode);
        check_refused(&house, &[words]);
    }
    for mode in [0o640, 0o604, 0o620, 0o400] {
        replace_secret(&house, &right, mode);
        house.open().assert_has(&["ada"], &[]).await;
        let found = fs::metadata(house.file("secret")).unwrap().permissions();
        assert_eq!(found.mode() & 0o777, mode & 0o600, "{mode:o}");
    }
    // Only root can give files away, and only their owner can close them.
    if rustix::process::geteuid().is_root() {
        replace_secret(&house, &right, 0o640);
        chown(house.file("secret"), Some(1), None).unwrap();
        let told = "can be read by other users: run chmod 600";
        check_refused(&house, &["secret", told]);
    }
}
