//! A data directory as a process left it, and starts with something else in it.

use futures_util::future::join_all;
use landing_api::adapters::ledger::Tuning;
use landing_api::domain::consent::LeaveToken;
use landing_api::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use landing_api::ports::{DeliveryQueue, KeyIssuer};

use crate::fixtures::{House, Opened, START, copy_dir, key_record, settled};
use crate::random::Random;

use super::house;

pub(crate) struct Left {
    house: House,
    pub(crate) ledger: Vec<u8>,
    /// Each with the offset of the end of its batch, its last newline not included.
    contacts: Vec<(String, usize)>,
}

impl Left {
    /// Some batches, by a process that was killed or that stopped.
    pub(crate) async fn new(random: &mut Random, is_clean: bool) -> Self {
        let house = house();
        let opened = house.open();
        let mut names = Vec::new();
        for group in 0..2 + random.below(6) {
            let together: Vec<_> = (0..=random.below(5))
                .map(|number| format!("n{group}-{number}"))
                .collect();
            let answers = join_all(together.iter().map(|name| opened.sign_up(name))).await;
            assert!(answers.iter().all(Result::is_ok));
            names.extend(together);
            match random.below(5) {
                0 => assert!(opened.sign_up(random.pick::<String>(&names)).await.is_ok()),
                1 => {
                    opened.sign_up("gone").await.unwrap();
                    opened.forget("gone").await.unwrap();
                }
                2 => {
                    let mut record = key_record(u8::try_from(group).unwrap(), Some("label"));
                    record.expires_at = START.plus_ms(1_000);
                    opened.store.issue(record).await.unwrap();
                }
                3 => {
                    let store = &opened.store;
                    let token = LeaveToken::from_bytes([u8::try_from(group).unwrap(); 16]);
                    let kind = DeliveryKind::Confirmed;
                    let id = DeliveryId::new(kind, &token, START);
                    let delivery = Delivery::new(id, kind, None, "told".to_owned(), START);
                    store.add(vec![delivery.clone()]).await.unwrap();
                    let (made, failed) = match random.once_in(2) {
                        true => (vec![id], Vec::new()),
                        false => (Vec::new(), vec![delivery]),
                    };
                    store.settle(settled(made, failed), START).await.unwrap();
                }
                _ => {}
            }
        }
        opened.end(!is_clean);
        let ledger = house.ledger();
        let end_of = |name: &String| {
            let subscribed =
                format!("\"created\":{{\"contact\":{{\"email\":\"{name}@example.com\"");
            let text = std::str::from_utf8(&ledger).unwrap();
            let begin = text[..text.find(&subscribed).unwrap()].rfind('\n').unwrap() + 1;
            let left = begin + text[begin..].find("\"left\":0,").unwrap();
            left + text[left..].find('\n').unwrap()
        };
        let contacts = names.iter().map(|name| (name.clone(), end_of(name)));
        Self {
            contacts: contacts.collect(),
            ledger,
            house,
        }
    }

    /// Starts in a copy whose ledger is `bytes`: what cannot have been lost without a fault is there,
    /// and what is not is in a file that was kept. `is_forged` if lines in it are others with a right
    /// checksum.
    pub(crate) async fn check(&self, bytes: &[u8], is_forged: bool) {
        let copy = house();
        copy_dir(&self.house.path, &copy.path);
        copy.write_ledger(bytes);
        let Some(opened) = start(&copy) else {
            assert!(bytes != self.ledger, "refused as it was");
            return;
        };
        let same = std::iter::zip(bytes, &self.ledger);
        let same = same.take_while(|(one, other)| one == other).count();
        let head = self.ledger.iter().position(|byte| *byte == b'\n').unwrap();
        assert!(is_forged || same >= head, "a head that is not as written");
        let changed = String::from_utf8_lossy(&bytes[same..]);
        let mut missing = Vec::new();
        for (name, end) in &self.contacts {
            if !opened.has(name).await {
                let is_touched = is_forged && changed.contains(&format!("{name}@"));
                // A last newline that is missing is no change, and one that is something else is.
                let has_changed = *end > same || *end == same && *end < bytes.len();
                assert!(
                    has_changed || is_touched,
                    "{name} stood before what was changed"
                );
                missing.push(name);
            }
        }
        opened.crash();
        // The mark names each acknowledged one, behind a kill as behind a stop.
        assert!(is_forged || missing.is_empty(), "{missing:?} lost silently");
    }
}

/// The store, unless the start is refused, with one line that tells no address.
fn start(house: &House) -> Option<Opened> {
    match house.try_open(Tuning::default()) {
        Ok(opened) => Some(opened),
        Err(error) => {
            let text = error.to_string();
            assert!(
                !text.contains('\n') && !text.contains("example.com"),
                "{text}"
            );
            None
        }
    }
}
