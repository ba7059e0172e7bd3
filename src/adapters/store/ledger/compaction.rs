//! Writing the ledger anew without what no longer counts: all but the last sighting of a contact,
//! everything about a forgotten one, expired keys and their revocations, revocations of expired
//! tokens.
//!
//! The new generation is written beside the old one, synced, and takes its name in one step: a
//! crash at any point leaves one whole ledger under the name. It is made from the old ledger alone,
//! so that a fault of the index never reaches the record.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::time::Timestamp;

use super::append::{Ledger, append_whole};
use super::event::Event;
use super::files::{AppendFile, BUFFER_BYTES, Files};
use super::head::{FORMAT, Head};
use super::line::Line;
use super::reader::{Flaw, each_event, each_line};

/// What the next generation is called while it is written.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("jsonl.new")
}

/// Writes the first generation.
pub(crate) fn create(files: &Arc<dyn Files>, path: &Path, secret: &str) -> Result<Ledger, Flaw> {
    let mut writer = Writer::create(files, path, 1, 0, secret)?;
    writer.flush()?;
    Ok(writer.publish()?)
}

/// Writes `generation`, with every good line of the ledger at `path` that still counts at `now`.
///
/// The ledger may be damaged: then what is whole is kept.
pub(crate) fn compact(
    files: &Arc<dyn Files>,
    path: &Path,
    generation: u64,
    secret: &str,
    now: Timestamp,
) -> Result<Ledger, Flaw> {
    let live = live_places(path, now)?;
    let mut writer = Writer::create(files, path, generation, live.len() as u64, secret)?;
    let mut live = live.into_iter().peekable();
    let copied = each_line(path, |place, line| {
        if live.next_if_eq(&place).is_some() {
            writer.push(line.event)?;
        }
        Ok(())
    });
    let ledger = copied.and_then(|()| {
        writer.flush()?;
        Ok(writer.publish()?)
    });
    if ledger.is_err() {
        // It is in nobody's way but takes room, which may be what is missing.
        let _ = fs::remove_file(unfinished(path));
    }
    ledger
}

/// The places of the lines that still count, ascending.
fn live_places(path: &Path, now: Timestamp) -> Result<Vec<u64>, Flaw> {
    struct Contact {
        subscribed: u64,
        seen: Option<u64>,
    }
    struct Key {
        issued: u64,
        revoked: Option<u64>,
    }
    // An address is 16 bytes here whatever its length: this map bounds what compaction needs.
    let mut contacts: HashMap<[u8; 16], Contact> = HashMap::new();
    let mut keys: HashMap<[u8; 32], Key> = HashMap::new();
    let mut registrations: HashMap<[u8; 32], u64> = HashMap::new();
    each_event(path, |place, event| {
        match event {
            Event::ContactSubscribed { email, .. } => {
                contacts.entry(short_hash(&email)).or_insert(Contact {
                    subscribed: place,
                    seen: None,
                });
            }
            Event::ContactSeen { email, .. } => {
                if let Some(contact) = contacts.get_mut(&short_hash(&email)) {
                    contact.seen = Some(place);
                }
            }
            Event::ContactForgotten { email, .. } => {
                contacts.remove(&short_hash(&email));
            }
            Event::KeyIssued {
                key, expires_at, ..
            } => {
                // As in the index, one that is issued again starts afresh.
                keys.remove(&key.0);
                if now < expires_at {
                    keys.insert(
                        key.0,
                        Key {
                            issued: place,
                            revoked: None,
                        },
                    );
                }
            }
            Event::KeyRevoked { key, .. } => {
                if let Some(key) = keys.get_mut(&key.0) {
                    key.revoked.get_or_insert(place);
                }
            }
            Event::TokenRevoked {
                registration,
                expires_at,
                ..
            } => {
                if now < expires_at {
                    registrations.insert(registration.0, place);
                }
            }
        }
        Ok::<_, Flaw>(())
    })?;
    let contacts = contacts
        .into_values()
        .flat_map(|contact| [Some(contact.subscribed), contact.seen]);
    let keys = keys
        .into_values()
        .flat_map(|key| [Some(key.issued), key.revoked]);
    let mut live: Vec<u64> = contacts.chain(keys).flatten().collect();
    live.extend(registrations.into_values());
    live.sort_unstable();
    Ok(live)
}

fn short_hash(email: &str) -> [u8; 16] {
    let mut short = [0; 16];
    blake3::Hasher::new()
        .update(email.as_bytes())
        .finalize_xof()
        .fill(&mut short);
    short
}

/// Writes a generation, each line a batch of its own.
struct Writer {
    files: Arc<dyn Files>,
    path: PathBuf,
    file: Box<dyn AppendFile>,
    head: Head,
    written: u64,
    length: u64,
    buffer: Vec<u8>,
}

impl Writer {
    fn create(
        files: &Arc<dyn Files>,
        path: &Path,
        generation: u64,
        base: u64,
        secret: &str,
    ) -> io::Result<Self> {
        let head = Head {
            format: FORMAT,
            generation,
            base,
            secret: secret.to_owned(),
        };
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        head.write(&mut buffer)?;
        Ok(Self {
            files: Arc::clone(files),
            path: path.to_path_buf(),
            file: files.create(&unfinished(path))?,
            head,
            written: 0,
            length: 0,
            buffer,
        })
    }

    fn push(&mut self, event: &[u8]) -> io::Result<()> {
        self.written += 1;
        let line = Line {
            sequence: self.written,
            batch: self.written,
            left: 0,
            event,
        };
        line.write(&mut self.buffer);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        append_whole(self.file.as_mut(), &self.buffer)?;
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Gives the generation the ledger's name. That the name survives a power cut is for
    /// [`Ledger::repair`], which can be tried again.
    fn publish(mut self) -> io::Result<Ledger> {
        self.file.sync()?;
        self.files.rename(&unfinished(&self.path), &self.path)?;
        Ok(Ledger::renamed(
            self.files,
            &self.path,
            self.file,
            self.head,
            self.length,
        ))
    }
}
