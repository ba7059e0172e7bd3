//! What was answered survives a power cut: content is synced before it gets its name, and names are synced.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use landing_api::adapters::files::backup::{restore, write_file};
use landing_api::adapters::files::{AppendFile, Files, SystemFiles};
use landing_api::adapters::ledger::{Tuning, repair_ledger};
use landing_api::ports::StoreMaintenance as _;

use crate::fixtures::House;

/// Real files, and what of them a power cut would undo.
#[derive(Clone, Debug, Default)]
struct TrackedFiles(Arc<Mutex<Unsynced>>);

#[derive(Debug, Default)]
struct Unsynced {
    /// Files whose content is not synced.
    contents: BTreeSet<PathBuf>,
    /// What was created, removed or renamed in a directory that was not synced since.
    names: BTreeSet<PathBuf>,
    /// Names that were given too early.
    early: Vec<String>,
}

impl TrackedFiles {
    fn unsynced(&self) -> MutexGuard<'_, Unsynced> {
        self.0.lock().unwrap()
    }

    fn tuning(&self) -> Tuning {
        Tuning {
            files: Arc::new(self.clone()),
            ..Tuning::default()
        }
    }

    /// Fails if a power cut would now undo something of what was `done`, but for these `contents`.
    #[track_caller]
    fn check(&self, done: &str, contents: &[&str]) {
        let unsynced = self.unsynced();
        assert_eq!(unsynced.early, [] as [&str; 0], "{done}");
        assert_eq!(unsynced.names, BTreeSet::new(), "{done}");
        let found: Vec<_> = unsynced.contents.iter().map(|path| name(path)).collect();
        assert_eq!(found, contents, "{done}");
    }
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

impl Files for TrackedFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = SystemFiles.create(path)?;
        let mut unsynced = self.unsynced();
        unsynced.contents.insert(path.to_owned());
        unsynced.names.insert(path.to_owned());
        drop(unsynced);
        self.tracked(file, path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.tracked(SystemFiles.open(path)?, path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemFiles.remove(path)?;
        let mut unsynced = self.unsynced();
        unsynced.contents.remove(path);
        // One that was not there for good is gone for good.
        if !unsynced.names.remove(path) {
            unsynced.names.insert(path.to_owned());
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemFiles.rename(from, to)?;
        let mut unsynced = self.unsynced();
        unsynced.names.remove(from);
        let Unsynced {
            contents, names, ..
        } = &*unsynced;
        // A ledger comes last: without it a directory does not start.
        if contents.contains(from) || name(to) == "ledger.jsonl" && !names.is_empty() {
            let early = format!("{} before {contents:?} {names:?}", to.display());
            unsynced.early.push(early);
        }
        unsynced.contents.remove(to);
        unsynced.names.insert(to.to_owned());
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        SystemFiles.sync_directory(path)?;
        let is_elsewhere = |name: &PathBuf| name.parent() != Some(path);
        self.unsynced().names.retain(is_elsewhere);
        Ok(())
    }
}

impl TrackedFiles {
    #[allow(clippy::unnecessary_wraps, reason = "both callers return it")]
    fn tracked(&self, file: Box<dyn AppendFile>, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(TrackedFile {
            file,
            path: path.to_owned(),
            files: self.clone(),
        }))
    }
}

#[derive(Debug)]
struct TrackedFile {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    files: TrackedFiles,
}

impl TrackedFile {
    fn set_synced(&self, is_synced: bool) {
        let contents = &mut self.files.unsynced().contents;
        if is_synced {
            contents.remove(&self.path);
        } else {
            contents.insert(self.path.clone());
        }
    }
}

impl AppendFile for TrackedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.set_synced(false);
        self.file.append(bytes)
    }

    fn overwrite(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.set_synced(false);
        self.file.overwrite(at, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.set_synced(true);
        self.file.sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_synced(true);
        self.file.truncate(length)
    }

    fn as_file(&self) -> &File {
        self.file.as_file()
    }
}

#[tokio::test]
async fn what_a_store_has_answered_no_power_cut_undoes() {
    let (house, files) = (House::new(), TrackedFiles::default());
    let open = || house.try_open(files.tuning()).unwrap();
    let opened = open();
    files.check("a new directory", &[]);
    opened.sign_up_all(["ada", "bob", "cy"]).await;
    // The mark is not synced while the store runs.
    files.check("sign-ups", &["mark"]);
    fs::write(house.file("ledger.damaged"), "\"ada@example.com\"").unwrap();
    opened.forget("ada").await.unwrap();
    files.check("an erasure from a kept file, too", &["mark"]);
    opened.store.compact().await.unwrap();
    files.check("a compaction", &["mark"]);
    opened.sign_up("dan").await.unwrap();
    opened.stop();
    files.check("a stop", &[]);

    let whole = house.ledger();
    house.cut_power(&whole[..whole.len() - 9]);
    open().stop();
    files.check("a start that cuts a torn end", &[]);
    let damaged = house.ledger_text().replacen("bob@", "bib@", 1);
    house.write_ledger(damaged.as_bytes());
    let tracked = Arc::new(files.clone()) as Arc<dyn Files>;
    repair_ledger(&tracked, &house.path).unwrap().unwrap();
    assert_eq!(house.kept(), Some(damaged.into_bytes()));
    files.check("a repair", &[]);
}

#[tokio::test]
async fn backups_and_restores_are_as_lasting() {
    let (house, files) = (House::lived_in(["ada"]).await, TrackedFiles::default());
    let archive = house.path.with_extension("tar");
    write_file(&files, &house.path, &archive, true).unwrap();
    files.check("a backup", &[]);
    let other = House::new();
    restore(&files, &other.path, File::open(&archive).unwrap()).unwrap();
    files.check("a restore", &[]);
    other.open().assert_has(&["ada"], &["bob"]).await;
}
