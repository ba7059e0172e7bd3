//! Archives of a data directory: what is written while the service runs is restored elsewhere, and what is
//! not as it was written is refused.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use landing_api::adapters::files::backup::{Restored, Written, write};
use landing_api::adapters::files::data_dir;
use landing_api::adapters::files::{OpenError, SystemFiles};
use landing_api::ports::{BlockList as _, ContactStore, KeyIssuer, StoreMaintenance as _};
use tar::{Archive, Builder, EntryType, Header};

use crate::fixtures::{imported, sign_up};
use crate::ledger::contents;
use crate::prelude::*;
use crate::program::text;

const COUNTS: &str = "counts.jsonl";
const BLOCKS: &str = "blocks.jsonl";

async fn furnished(house: &House) -> Opened {
    let opened = house.open();
    for name in ["ada", "bob", "ada"] {
        opened.sign_up(name).await.unwrap();
    }
    opened.store.issue(key_record(1, None)).await.unwrap();
    fs::write(house.file(COUNTS), "{}\n").unwrap();
    fs::write(house.file("notes.txt"), "private").unwrap();
    opened
}

/// One that was stopped, and its archive.
async fn archived() -> (House, Vec<u8>) {
    let house = House::new();
    furnished(&house).await.stop();
    let archive = backup(&house);
    (house, archive)
}

async fn contacts_of(opened: &Opened) -> Vec<Contact> {
    listed(ContactStore::list(&*opened.store, None, None).await).await
}

fn backup(house: &House) -> Vec<u8> {
    let mut archive = Vec::new();
    write(&house.path, &mut archive).unwrap();
    archive
}

fn restore(path: &Path, archive: impl Read) -> Result<Restored, OpenError> {
    landing_api::adapters::files::backup::restore(&SystemFiles, path, archive)
}

fn write_file(path: &Path, target: &Path) -> Result<Written, OpenError> {
    landing_api::adapters::files::backup::write_file(&SystemFiles, path, target, true)
}

fn files(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = Archive::new(archive);
    let entries = archive.entries().unwrap();
    entries
        .map(|entry| {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mode().unwrap(), 0o600);
            let name = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (name, content)
        })
        .collect()
}

fn header(kind: EntryType, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size as u64);
    header.set_mode(0o644);
    header
}

fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = header(EntryType::Regular, content.len());
        // Not every name is one that the builder takes.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &content[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Restores into a directory that is missing, which fails and leaves nothing of it.
fn refused(archive: &[u8]) -> String {
    let house = House::new();
    let error = restore(&house.path, archive).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    assert!(!error.contains("example.com"), "{error}");
    let left = contents(&house.path).into_iter().map(|(path, _)| path);
    assert!(left.eq([house.file("lock")]), "{error}");
    assert!(fs::symlink_metadata(house.path.parent().unwrap().join("evil")).is_err());
    error
}

#[tokio::test]
async fn a_backup_of_a_running_service_is_restored_with_everything_in_it() {
    let house = House::new();
    let opened = furnished(&house).await;
    let blocks = FileBlockList::open(Some(house.path.join(data_dir::BLOCKS))).unwrap();
    assert_eq!(blocks.add(network("192.0.2.0/24"), START).await, Ok(true));
    let archive = backup(&house);
    opened.sign_up("later").await.unwrap();
    let names: Vec<_> = files(&archive).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["secret", COUNTS, BLOCKS, "ledger.jsonl"]);

    let other = House::new();
    let restored = restore(&other.path, &archive[..]).unwrap();
    assert_eq!(restored.entries, 4);
    assert_eq!(restored.files, [BLOCKS, COUNTS, "ledger.jsonl", "secret"]);
    for (path, mode) in [
        (other.path.clone(), 0o700),
        (other.file("ledger.jsonl"), 0o600),
        (other.file("secret"), 0o600),
        (other.file(COUNTS), 0o600),
        (other.file(BLOCKS), 0o600),
    ] {
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}", path.display());
    }
    assert_eq!(fs::read(other.file(COUNTS)).unwrap(), b"{}\n");
    let restored = FileBlockList::open(Some(other.file(BLOCKS))).unwrap();
    assert_eq!(restored.list(), blocks.list());
    assert!(!other.file("restoring").exists());
    let copy = other.open();
    copy.assert_has(&["ada", "bob"], &["later"]).await;
    let contacts = contacts_of(&copy).await;
    let mut expected = contacts_of(&opened).await;
    expected.pop();
    assert_eq!(contacts, expected);
    let key = key_record(1, None);
    let found = KeyIssuer::find(&*copy.store, &key.fingerprint).await;
    assert_eq!(found, Ok(Some(key)));
}

#[tokio::test]
async fn an_archive_packed_by_hand_is_taken_and_one_of_a_stopped_directory_is_the_same() {
    let house = House::new();
    let opened = furnished(&house).await;
    let archive = backup(&house);
    opened.stop();
    assert_eq!(backup(&house), archive);
    // Without its last newline the ledger is whole.
    let ledger = house.ledger();
    house.write_ledger(&ledger[..ledger.len() - 1]);
    assert_eq!(files(&backup(&house)), files(&archive));

    let mut builder = Builder::new(Vec::new());
    let mut directory = header(EntryType::Directory, 0);
    let added = builder.append_data(&mut directory, "./", io::empty());
    added.unwrap();
    for (name, content) in files(&archive).into_iter().rev() {
        let mut header = header(EntryType::Regular, content.len());
        let added = builder.append_data(&mut header, format!("./{name}"), &content[..]);
        added.unwrap();
    }
    let other = House::new();
    fs::create_dir(&other.path).unwrap();
    fs::write(other.file("notes"), "mine").unwrap();
    let by_hand = [builder.into_inner().unwrap(), vec![0; 8192]].concat();
    restore(&other.path, &by_hand[..]).unwrap();
    assert_eq!(fs::read(other.file("notes")).unwrap(), b"mine");
    other.open().assert_has(&["ada", "bob"], &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_backup_while_sign_ups_and_compactions_run_has_whole_batches() {
    let house = House::new();
    let opened = furnished(&house).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..2)
        .map(|client| {
            let (store, is_over) = (Arc::clone(&opened.store), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut round = 0;
                while !is_over.load(Ordering::Relaxed) {
                    let names = (0..3).map(|row| format!("c{client}n{round}r{row}"));
                    let rows = names.map(|name| imported(&name, START)).collect();
                    store.import(rows, false).await.unwrap();
                    sign_up(&store, "ada").await.unwrap();
                    round += 1;
                }
            })
        })
        .collect();
    for _ in 0..10 {
        let archive = backup(&house);
        let forgotten = opened.store.forget(&[], START).await.unwrap();
        assert_eq!(forgotten.remaining, None);
        opened.store.compact().await.unwrap();
        let other = House::new();
        restore(&other.path, &archive[..]).unwrap();
        let copy = other.open();
        copy.assert_has(&["ada"], &[]).await;
        let mut rows = contacts_of(&copy).await;
        rows.retain(|contact| contact.email.as_str().starts_with('c'));
        assert_eq!(rows.len() % 3, 0, "an import is one batch");
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn a_directory_with_a_ledger_is_left_alone() {
    let house = House::new();
    let opened = furnished(&house).await;
    let archive = backup(&house);
    let before = contents(&house.path);
    let error = restore(&house.path, &archive[..]).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(contents(&house.path), before);
    opened.stop();
    let before = contents(&house.path);
    let error = restore(&house.path, &archive[..]).unwrap_err().to_string();
    assert!(error.contains("already contains ledger.jsonl"), "{error}");
    assert_eq!(contents(&house.path), before);
    // After the loss of the ledger its secret and its mark may still be there.
    for name in ["ledger.jsonl", "secret", "mark", COUNTS] {
        let error = restore(&house.path, &archive[..]).unwrap_err().to_string();
        assert!(error.contains("already contains "), "{error}");
        fs::remove_file(house.file(name)).unwrap();
    }
    restore(&house.path, &archive[..]).unwrap();
    let (opened, log) = house.open_logged();
    assert!(!log.contains("WARN"), "{log}");
    opened.assert_has(&["ada", "bob"], &[]).await;
}

/// Reads an archive in pieces, and does something before each.
struct Pieces<'a, F>(&'a [u8], F);

impl<F: FnMut()> Read for Pieces<'_, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (self.1)();
        let length = buffer.len().min(300);
        self.0.read(&mut buffer[..length])
    }
}

#[tokio::test]
async fn a_restore_that_cannot_place_a_file_places_no_ledger_and_leaves_nothing_of_its_own() {
    let (_house, archive) = archived().await;
    let other = House::new();
    fs::create_dir_all(other.file("secret/occupied")).unwrap();
    let error = restore(&other.path, &archive[..]).unwrap_err().to_string();
    assert!(error.contains("secret"), "{error}");
    assert!(!other.file("ledger.jsonl").exists());
    // In the last step.
    let other = House::new();
    let occupy = || fs::create_dir_all(other.file("ledger.jsonl")).unwrap();
    let error = restore(&other.path, Pieces(&archive, occupy)).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    let left = contents(&other.path).into_iter().map(|it| it.0);
    assert!(left.eq([other.file("lock")]));
}

#[derive(Clone)]
struct Contents(Vec<(String, Vec<u8>)>);

impl Contents {
    async fn new() -> Self {
        Self(files(&archived().await.1))
    }

    fn with(&self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut files = self.0.clone();
        files.insert(0, (name.to_owned(), content.to_vec()));
        packed(&files)
    }

    fn without(&self, name: &str) -> Self {
        let mut files = self.0.clone();
        files.retain(|(it, _)| it != name);
        Self(files)
    }

    fn replaced(&self, name: &str, content: Vec<u8>) -> Self {
        let mut files = self.0.clone();
        files.iter_mut().find(|(it, _)| it == name).unwrap().1 = content;
        Self(files)
    }

    fn packed(&self) -> Vec<u8> {
        packed(&self.0)
    }
}

fn check_refused(archive: &[u8], reason: &str) {
    let error = refused(archive);
    assert!(error.contains(reason), "{reason}: {error}");
}

#[tokio::test]
async fn foreign_files_links_and_doubles_in_an_archive_are_refused() {
    let whole = Contents::new().await;
    let foreign = "../evil /tmp/evil counts/../../evil index/1/db counts windows a\nb SHA256SUMS";
    for name in foreign.split(' ') {
        check_refused(&whole.with(name, b"x"), "does not belong");
    }
    check_refused(&whole.with("ledger.jsonl", b"x"), "twice");
    let others = whole.without(COUNTS);
    let large = vec![b' '; 32 * 1024 * 1024 + 1];
    check_refused(&others.with(COUNTS, &large), "too large");
    use EntryType as E;
    for kind in [E::Symlink, E::Link, E::Fifo, E::Char, E::Directory] {
        let mut builder = Builder::new(Vec::new());
        let mut header = header(kind, 0);
        header.set_link_name("/etc/passwd").unwrap();
        let added = builder.append_data(&mut header, "secret", io::empty());
        added.unwrap();
        check_refused(&builder.into_inner().unwrap(), "not a regular file");
    }
}

#[tokio::test]
async fn an_archive_without_all_its_files_and_a_whole_ledger_is_refused() {
    let whole = Contents::new().await;
    let archive = whole.packed();
    let other_secret = whole.replaced("secret", vec![7; 32]);
    let short_secret = whole.replaced("secret", vec![7; 31]);
    let without_ledger = whole.without("ledger.jsonl").packed();
    for (bad, reason) in [
        (whole.without("secret").packed(), "secret is missing"),
        (without_ledger, "ledger.jsonl is missing"),
        (other_secret.packed(), "the secret is not that of"),
        (short_secret.packed(), "the secret is not that of"),
        ([&archive[..], b"garbage"].concat(), "data after its end"),
        ([&archive[..], &archive[..]].concat(), "data after its end"),
        (Vec::new(), "ledger.jsonl is missing"),
        (b"not a tar at all".repeat(100), "cannot be read"),
    ] {
        check_refused(&bad, reason);
    }
    let ledger = whole.0.last().unwrap().1.clone();
    let newer = String::from_utf8(ledger.clone()).unwrap();
    let newer = crate::ledger::sealed(&newer.replace("\"format\":7", "\"format\":8"));
    let mut damaged = ledger.clone();
    damaged[300] ^= 1;
    let torn = ledger[..ledger.len() - 4].to_vec();
    for (bad, reason) in [
        (newer.into_bytes(), "format 8"),
        (damaged, "damaged"),
        (torn, "unfinished"),
        (Vec::new(), "damaged"),
    ] {
        check_refused(&whole.replaced("ledger.jsonl", bad).packed(), reason);
    }
}

#[tokio::test]
async fn an_archive_that_is_cut_or_changed_anywhere_is_refused() {
    let (house, archive) = archived().await;
    let ledger = house.ledger();
    // The end of tar, and what fills up the last block.
    let content_end = archive.len() - 1024 - (512 - ledger.len() % 512) % 512;
    for length in (0..content_end).step_by(97).chain([content_end - 1]) {
        refused(&archive[..length]);
    }
    // Bytes of the fields that nobody reads may change, such as the time of a file.
    let secret = fs::read(house.file("secret")).unwrap();
    let mut taken = BTreeSet::new();
    for position in (0..archive.len()).step_by(53) {
        let mut changed = archive.clone();
        changed[position] ^= 1;
        let other = House::new();
        if restore(&other.path, &changed[..]).is_ok() {
            taken.insert(position);
            let restored = fs::read(other.file("ledger.jsonl")).unwrap();
            assert_eq!(restored, ledger, "{position}");
            let restored = fs::read(other.file("secret")).unwrap();
            assert_eq!(restored, secret, "{position}");
        }
    }
    // The header and the block of the secret come before the counts, which have no checksum.
    let counts = 3 * 512..3 * 512 + 3;
    let is_harmless = |position: &usize| archive[*position] == 0 || counts.contains(position);
    assert!(taken.iter().all(is_harmless), "{taken:?}");
}

#[tokio::test]
async fn a_restore_that_is_killed_leaves_a_directory_that_does_not_start() {
    let (_house, archive) = archived().await;
    let target = House::new();
    let mut left = Vec::new();
    let copy = || left.push(contents(&target.path));
    restore(&target.path, Pieces(&archive, copy)).unwrap();
    assert!(left.len() > 5);
    for files in left {
        let other = House::new();
        fs::create_dir(&other.path).unwrap();
        for (path, content) in files {
            let path = other.path.join(path.strip_prefix(&target.path).unwrap());
            fs::write(&path, content).unwrap();
            set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        let refusal = other.refusal();
        assert!(refusal.contains("from a backup"), "{refusal}");
        // The operator does it again.
        restore(&other.path, &archive[..]).unwrap();
        assert!(!other.file("restoring").exists());
        other.open().assert_has(&["ada", "bob"], &[]).await;
    }
}

#[tokio::test]
async fn a_file_is_replaced_only_by_a_complete_backup_that_nobody_else_reads() {
    let (house, _) = archived().await;
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("backup.tar");
    let written = write_file(&house.path, &target).unwrap();
    assert_eq!(written.entries, 4);
    let mode = fs::metadata(&target).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let first = fs::read(&target).unwrap();
    let sizes = files(&first).into_iter().take(3);
    let sizes = sizes.map(|(_, content)| content.len() as u64);
    assert_eq!(written.bytes, sizes.sum::<u64>());
    fs::write(house.file("secret"), [7; 32]).unwrap();
    let refused = |error: OpenError, told: &str| {
        let error = error.to_string();
        assert!(error.contains(told), "{error}");
    };
    let error = write_file(&house.path, &target).unwrap_err();
    refused(error, "the secret is not that of");
    assert_eq!(fs::read(&target).unwrap(), first);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    // What has the name that it is written under is neither written to nor followed.
    let (house, _) = archived().await;
    let [beside, others] = ["backup.tar.part", "others"].map(|name| root.path().join(name));
    fs::write(&others, "theirs").unwrap();
    for is_link in [false, true] {
        match is_link {
            true => std::os::unix::fs::symlink(&others, &beside).unwrap(),
            false => {
                fs::write(&beside, "open to all").unwrap();
                set_permissions(&beside, Permissions::from_mode(0o666)).unwrap();
            }
        }
        write_file(&house.path, &target).unwrap();
        let written = fs::symlink_metadata(&target).unwrap();
        assert!(written.is_file() && written.permissions().mode() & 0o777 == 0o600);
        assert_eq!(fs::read(&others).unwrap(), b"theirs");
    }
    let error = write_file(&house.path, &root.path().join("missing/backup.tar")).unwrap_err();
    refused(error, "missing/backup.tar");
    let error = write_file(&root.path().join("nothing"), &target).unwrap_err();
    refused(error, "is not a data directory");
    // A disk that takes no more.
    let full = File::options().write(true).open("/dev/full").unwrap();
    let error = write(&house.path, full).unwrap_err();
    refused(error, "write the backup");
}

#[test]
fn two_backups_to_one_file_at_once_leave_a_whole_one() {
    let root = tempfile::tempdir().unwrap();
    let data_dir = root.path().join("data");
    let program = Program::on(&data_dir);
    program.sign_up("ada@example.com");
    let target = root.path().join("backup.tar");
    for _ in 0..3 {
        let backups: Vec<_> = (0..4)
            .map(|_| {
                let mut backup = landing_api(&["backup", "--force", "--data-dir"]);
                backup.arg(&data_dir).arg(&target).spawn().unwrap()
            })
            .collect();
        for backup in backups {
            let ended = backup.wait_with_output().unwrap();
            assert!(ended.status.success(), "{}", text(&ended.stderr));
        }
        let house = House::new();
        let restored = restore(&house.path, File::open(&target).unwrap()).unwrap();
        assert_eq!(restored.entries, 1);
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }
}
