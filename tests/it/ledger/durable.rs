//! What was answered survives a power cut: content is synced before it gets its name, and names are synced.

use landing_api::adapters::files::Files;
use landing_api::adapters::files::backup::{restore, write_file};
use landing_api::adapters::ledger::repair_ledger;
use landing_api::ports::StoreMaintenance as _;

use super::faults::FaultyFiles;
use crate::prelude::*;

/// What of files a power cut would undo.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    /// Files whose content is not synced.
    contents: BTreeSet<PathBuf>,
    /// What was created, removed or renamed in a directory that was not synced since.
    names: BTreeSet<PathBuf>,
    /// Names that were given too early.
    early: Vec<String>,
}

impl Unsynced {
    pub(super) fn created(&mut self, path: &Path) {
        self.contents.insert(path.to_owned());
        self.names.insert(path.to_owned());
    }

    pub(super) fn written(&mut self, path: &Path) {
        self.contents.insert(path.to_owned());
    }

    pub(super) fn synced(&mut self, path: &Path) {
        self.contents.remove(path);
    }

    pub(super) fn removed(&mut self, path: &Path) {
        self.contents.remove(path);
        // One that was not there for good is gone for good.
        if !self.names.remove(path) {
            self.names.insert(path.to_owned());
        }
    }

    pub(super) fn renamed(&mut self, from: &Path, to: &Path) {
        self.names.remove(from);
        // A ledger comes last: without it a directory does not start.
        let is_last = name(to) != "ledger.jsonl" || self.names.is_empty();
        if self.contents.contains(from) || !is_last {
            self.early.push(format!("{} before {self:?}", to.display()));
        }
        self.contents.remove(to);
        self.names.insert(to.to_owned());
    }

    pub(super) fn directory_synced(&mut self, path: &Path) {
        self.names.retain(|name| name.parent() != Some(path));
    }

    /// Fails if a power cut would now undo something of what was `done`, but for these `contents`.
    #[track_caller]
    fn check(&self, done: &str, contents: &[&str]) {
        assert_eq!(self.early, [] as [&str; 0], "{done}");
        assert_eq!(self.names, BTreeSet::new(), "{done}");
        let found: Vec<_> = self.contents.iter().map(|path| name(path)).collect();
        assert_eq!(found, contents, "{done}");
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[tokio::test]
async fn what_a_store_has_answered_no_power_cut_undoes() {
    let (house, files) = (House::new(), FaultyFiles::default());
    let open = || house.try_open(files.tuning()).unwrap();
    let opened = open();
    files.unsynced().check("a new directory", &[]);
    opened.sign_up_all(["ada", "bob", "cy"]).await;
    // The mark is not synced while the store runs.
    files.unsynced().check("sign-ups", &["mark"]);
    fs::write(house.file("ledger.damaged"), "\"ada@example.com\"").unwrap();
    opened.forget("ada").await.unwrap();
    files
        .unsynced()
        .check("an erasure from a kept file, too", &["mark"]);
    opened.store.compact().await.unwrap();
    files.unsynced().check("a compaction", &["mark"]);
    opened.sign_up("dan").await.unwrap();
    opened.stop();
    files.unsynced().check("a stop", &[]);

    let whole = house.ledger();
    house.cut_power(&whole[..whole.len() - 9]);
    open().stop();
    files.unsynced().check("a start that cuts a torn end", &[]);
    let damaged = house.ledger_text().replacen("bob@", "bib@", 1);
    house.write_ledger(damaged.as_bytes());
    let tracked = Arc::new(files.clone()) as Arc<dyn Files>;
    repair_ledger(&tracked, &house.path).unwrap().unwrap();
    assert_eq!(house.kept(), Some(damaged.into_bytes()));
    files.unsynced().check("a repair", &[]);
}

#[tokio::test]
async fn backups_and_restores_are_as_lasting() {
    let (house, files) = (House::stopped_with(["ada"]).await, FaultyFiles::default());
    let archive = house.path.with_extension("tar");
    write_file(&files, &house.path, &archive, true).unwrap();
    files.unsynced().check("a backup", &[]);
    let other = House::new();
    restore(&files, &other.path, File::open(&archive).unwrap()).unwrap();
    files.unsynced().check("a restore", &[]);
    other.open().assert_has(&["ada"], &["bob"]).await;
}
