//! What an overlay counts is what a compaction keeps, whatever happens in whatever order.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::adapters::store::ledger::{self, Files, SystemFiles};
use crate::domain::agent::Registration;
use crate::domain::contact::SignUp;
use crate::domain::credential::KeyRecord;
use crate::domain::secret::Secret;

use super::*;

/// When the earliest event may happen: a registration may have expired by then.
const BEGIN_MS: u64 = Registration::LIFETIME_MS;

#[derive(Clone, Copy, Debug)]
enum Step {
    Subscribe(usize),
    See(usize),
    Forget(usize),
    Issue { key: usize, lifetime_ms: u64 },
    Revoke(usize),
    RevokeToken(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0_usize..3).prop_map(Step::Subscribe),
        (0_usize..3).prop_map(Step::See),
        (0_usize..3).prop_map(Step::Forget),
        (0_usize..4, 0_u64..1500).prop_map(|(key, lifetime_ms)| Step::Issue { key, lifetime_ms }),
        (0_usize..4).prop_map(Step::Revoke),
        (0_usize..4).prop_map(Step::RevokeToken),
    ]
}

/// Whom the events are about.
struct Cast {
    emails: [EmailAddress; 3],
    keys: Vec<Fingerprint>,
    registrations: Vec<Registration>,
}

impl Cast {
    /// Three keys and three registrations that share a bucket, so that each sweeps the others,
    /// and one of each elsewhere.
    fn new(hash_key: &MacKey) -> Self {
        let mut buckets: BTreeMap<BucketId, (Vec<_>, Vec<_>)> = BTreeMap::new();
        let emails = ["ada", "bob", "cy"]
            .map(|name| EmailAddress::parse(&format!("{name}@example.com")).unwrap());
        for number in 0_u64.. {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&number.to_be_bytes());
            let key = Fingerprint::from_bytes(bytes);
            // Each expires some time up to 2.5 s after the beginning.
            let made_at = Timestamp::from_ms(number * 7919 % 2500);
            let registration = Registration::new(*bytes.first_chunk().unwrap(), made_at);
            let fingerprint = registration.fingerprint();
            let key_bucket = bucket_id(hash_key, &key_name(&bytes));
            let bucket = bucket_id(hash_key, &revocation_name(fingerprint.as_bytes()));
            buckets.entry(key_bucket).or_default().0.push(key);
            let (keys, registrations) = buckets.entry(bucket).or_default();
            registrations.push(registration);
            if keys.len() >= 3 && registrations.len() >= 3 {
                return Self {
                    emails,
                    keys: [&keys[..3], &[key]].concat(),
                    registrations: [
                        &[Registration::new([0xff; 16], made_at)],
                        &registrations[..3],
                    ]
                    .concat(),
                };
            }
        }
        unreachable!("there are more names than buckets")
    }
}

fn event(step: Step, at: Timestamp, cast: &Cast) -> Event {
    let Cast {
        emails,
        keys,
        registrations,
    } = cast;
    let origin = Origin {
        network: [1; 16],
        credential: None,
    };
    match step {
        Step::Subscribe(email) => Event::subscribed(&SignUp {
            email: emails[email].clone(),
            origin,
            at,
        }),
        Step::See(email) => Event::seen(&emails[email], at),
        Step::Forget(email) => Event::forgotten(&emails[email], at),
        Step::Issue { key, lifetime_ms } => Event::issued(&KeyRecord {
            fingerprint: keys[key],
            label: None,
            issued_at: at,
            expires_at: at.plus_ms(lifetime_ms),
            revoked_at: None,
        }),
        Step::Revoke(key) => Event::revoked(&keys[key], at),
        Step::RevokeToken(registration) => Event::token_revoked(&registrations[registration], at),
    }
}

/// What an overlay says of everybody.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    contacts: Vec<Option<ContactEntry>>,
    keys: Vec<Option<KeyEntry>>,
    revocations: Vec<Option<RevocationEntry>>,
}

/// What an overlay says, without what has expired; and how many lines of the ledger it counts
/// for that.
fn content(overlay: &mut Overlay<'_>, cast: &Cast, now: Timestamp) -> (Content, u64) {
    let mut content = Content::default();
    let mut expired_lines = 0;
    for email in &cast.emails {
        content.contacts.push(overlay.contact(email).unwrap());
    }
    for key in &cast.keys {
        let mut found = overlay.key(key).unwrap();
        if let Some(expired) = found.take_if(|key| key.expires_at <= now) {
            expired_lines += expired.lines();
        }
        content.keys.push(found);
    }
    for registration in &cast.registrations {
        let mut found = overlay.revocation(&registration.fingerprint()).unwrap();
        if found.take_if(|found| found.expires_at <= now).is_some() {
            expired_lines += 1;
        }
        content.revocations.push(found);
    }
    (content, expired_lines)
}

#[test]
fn compaction_keeps_exactly_what_the_index_counts() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(ledger::LEDGER);
    let files: Arc<dyn Files> = Arc::new(SystemFiles);
    // Nothing is ever written to it.
    let index = Index::fresh(&root.path().join("index")).unwrap();
    let hash_key = Secret::new([7; 32]).keys().index;
    let cast = Cast::new(&hash_key);
    // The clock may run back between two events; compaction comes after all of them.
    let steps = vec((step(), 0_u64..1000), 0..60);
    proptest!(|(steps in steps, now_ms in 1000_u64..2000)| {
        let now = Timestamp::from_ms(BEGIN_MS + now_ms);
        let events: Vec<Event> = steps
            .into_iter()
            .map(|(step, at_ms)| event(step, Timestamp::from_ms(BEGIN_MS + at_ms), &cast))
            .collect();
        let mut before = Overlay::new(&index, &hash_key, Tally::default());
        for event in &events {
            before.apply(event).unwrap();
        }
        let mut written = ledger::create(&files, &path, "secret").unwrap();
        written.append(&events).unwrap();
        let compacted = ledger::compact(&files, &path, 2, "secret", now).unwrap();

        let mut after = Overlay::new(&index, &hash_key, Tally::default());
        ledger::each_event(&path, |_place, event| {
            after.apply(&event).unwrap();
            Ok::<_, ledger::Flaw>(())
        })
        .unwrap();
        let (content_before, expired_lines) = content(&mut before, &cast, now);
        let (content_after, none) = content(&mut after, &cast, now);
        prop_assert_eq!(content_after, content_before);
        prop_assert_eq!(none, 0);
        let lines = compacted.position().sequence;
        prop_assert_eq!(lines, before.tally.live - expired_lines);
        prop_assert_eq!(lines, after.tally.live);
        prop_assert_eq!(after.tally.contacts, before.tally.contacts);
    });
}
