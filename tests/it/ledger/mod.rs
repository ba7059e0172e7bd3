//! The rules of the data directory, each broken in every way that matters.

mod compaction;
mod damage;
mod directory;
mod faults;
mod index;
mod secret;
mod torn;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use landing_api::adapters::data_dir::DataDir;
use landing_api::adapters::memory::SeededEntropy;
use landing_api::adapters::store::{OpenError, SledStore, Tuning};
use landing_api::domain::contact::{Origin, SignUp, Subscription};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore, StoreError};
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

/// A sign-up that waits for its answer.
pub(crate) type Waiting = JoinHandle<Result<Subscription, StoreError>>;

/// A data directory of its own for each test.
pub(crate) struct House {
    _root: TempDir,
    pub(crate) path: PathBuf,
}

/// A store that runs in it.
pub(crate) struct Opened {
    pub(crate) store: Arc<SledStore>,
    _data_dir: DataDir,
}

impl House {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("data");
        Self { _root: root, path }
    }

    pub(crate) fn open(&self) -> Opened {
        self.try_open(Tuning::default()).unwrap()
    }

    pub(crate) fn try_open(&self, tuning: Tuning) -> Result<Opened, OpenError> {
        self.try_open_at(NOW, tuning)
    }

    pub(crate) fn try_open_at(&self, now: Timestamp, tuning: Tuning) -> Result<Opened, OpenError> {
        let data_dir = DataDir::open(&self.path, &SeededEntropy::default())?;
        let store = SledStore::open_with(&data_dir, now, tuning)?;
        Ok(Opened {
            store: Arc::new(store),
            _data_dir: data_dir,
        })
    }

    /// Why the store does not start, in the operator's words.
    pub(crate) fn refusal(&self) -> String {
        match self.try_open(Tuning::default()) {
            Ok(_) => panic!("the store started"),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    !text.contains('\n') && !text.contains("example.com"),
                    "{text}"
                );
                text
            }
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn ledger(&self) -> Vec<u8> {
        fs::read(self.file("ledger.jsonl")).unwrap()
    }

    pub(crate) fn ledger_text(&self) -> String {
        String::from_utf8(self.ledger()).unwrap()
    }

    pub(crate) fn write_ledger(&self, bytes: &[u8]) {
        fs::write(self.file("ledger.jsonl"), bytes).unwrap();
    }

    /// Opens the store and hands out what it logged meanwhile.
    pub(crate) fn open_logged(&self) -> (Opened, String) {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer({
                let log = log.clone();
                move || log.clone()
            })
            .finish();
        let opened = tracing::subscriber::with_default(subscriber, || self.open());
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert!(!text.contains("example.com"), "{text}");
        (opened, text)
    }
}

impl Opened {
    /// Signs `name`@example.com up.
    pub(crate) async fn sign_up(&self, name: &str) -> Result<Subscription, StoreError> {
        sign_up(&self.store, name).await
    }

    /// Signs `name`@example.com up in the background.
    pub(crate) fn spawn_sign_up(&self, name: &'static str) -> Waiting {
        let store = Arc::clone(&self.store);
        tokio::spawn(async move { sign_up(&store, name).await })
    }

    pub(crate) async fn forget(&self, name: &str) -> Result<bool, StoreError> {
        self.store.forget(&address(name), NOW).await
    }

    pub(crate) async fn has(&self, name: &str) -> bool {
        let contact = ContactStore::find(&*self.store, &address(name)).await;
        contact.unwrap().is_some()
    }

    pub(crate) async fn assert_has(&self, present: &[&str], absent: &[&str]) {
        for name in present {
            assert!(self.has(name).await, "{name} is missing");
        }
        for name in absent {
            assert!(!self.has(name).await, "{name} is there");
        }
    }

    /// Stops as the service does.
    pub(crate) fn stop(self) {
        self.store.close().unwrap();
    }

    /// Stops without a word, as after SIGKILL.
    pub(crate) fn crash(self) {
        drop(self);
    }
}

pub(crate) async fn sign_up(store: &SledStore, name: &str) -> Result<Subscription, StoreError> {
    let origin = Origin {
        network: [7; 16],
        credential: None,
    };
    store
        .subscribe(SignUp {
            email: address(name),
            origin,
            at: NOW,
        })
        .await
}

pub(crate) fn address(name: &str) -> EmailAddress {
    EmailAddress::parse(&format!("{name}@example.com")).unwrap()
}

/// Every file under `path` with its content, in order.
pub(crate) fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap().path();
        if entry.is_dir() {
            found.extend(contents(&entry));
        } else {
            found.push((entry.clone(), fs::read(&entry).unwrap()));
        }
    }
    found.sort();
    found
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
