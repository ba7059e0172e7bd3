//! Power cuts, kills and syncs that fail, in any operation of several lives of a ledger.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use landing_api::adapters::ledger::Tuning;
use landing_api::domain::contact::Subscription;
use landing_api::domain::delivery::{Delivery, DeliveryId, DeliveryKind};
use landing_api::ports::{ContactStore, DeliveryQueue, StoreError};

use crate::Run;
use crate::fixtures::{Opened, START, address, listed, origin, sign_up_of};
use crate::fuzz::{Parts, Trace, run as run_parts, runtime};
use crate::power::{PowerFiles, Then};
use crate::random::Random;

use super::house;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Its sign-up was acknowledged.
    There,
    /// That it be forgotten was acknowledged.
    Gone,
    /// The last change of it failed: it may have been made.
    Open,
}

type Contacts = BTreeMap<String, Known>;

pub(crate) fn power(run: Run) -> Result<String, String> {
    let states = run.of(20, 10_000);
    let parts = Parts {
        count: states,
        inputs: 1,
    };
    run_parts(run, "power", parts, |random, trace| {
        runtime().block_on(state(random, trace));
    })?;
    Ok(format!("{states} states"))
}

async fn state(random: &mut Random, trace: &Trace) {
    let house = house();
    let mut contacts = Contacts::new();
    let mut files = PowerFiles::new(random.next());
    let mut story = String::new();
    for life in 0..1 + random.below(4) {
        let tuning = Tuning {
            superfluous_min: *random.pick(&[4, 20, 65_536]),
            ..files.tuning()
        };
        match random.below(6) {
            0 => {}
            1 => {
                let then = *random.pick(&[Then::GoOn, Then::Kill]);
                files.fail_sync_after("ledger.jsonl", random.next() % 40, then);
                story += &format!("life {life}: a sync fails, {then:?}; ");
            }
            _ => {
                let operations = random.next() % 150;
                files.fail_after(operations);
                story += &format!("life {life}: no power after {operations}; ");
            }
        }
        trace.begin(story.as_bytes());
        if let Ok(opened) = house.try_open(tuning) {
            check(&opened, &mut contacts).await;
            work(&opened, &files, life, &mut contacts, random).await;
            if random.once_in(2) && opened.store.close().is_ok() {
                story += "stopped; ";
            }
            opened.crash();
        }
        if random.once_in(3) {
            story += "killed; ";
            files.restart();
        } else {
            story += "power cut; ";
            files.cut();
            files = PowerFiles::new(random.next());
        }
        trace.begin(story.as_bytes());
    }
    let opened = house.open();
    check(&opened, &mut contacts).await;
    opened.stop();
    check(&house.open(), &mut contacts).await;
}

/// What is known is so. What is open is known from here on: a start has synced what it found.
async fn check(opened: &Opened, contacts: &mut Contacts) {
    for (name, known) in contacts {
        let found = match opened.has(name).await {
            true => Known::There,
            false => Known::Gone,
        };
        let is_so = *known == Known::Open || *known == found;
        assert!(is_so, "{name}: {known:?}");
        *known = found;
    }
    // What is told of a contact is there exactly if the contact is.
    let deliveries = listed(DeliveryQueue::list(&*opened.store).await).await;
    let mut told: Vec<_> = deliveries.into_iter().flat_map(|it| it.email).collect();
    let kept = listed(ContactStore::list(&*opened.store, None, None).await).await;
    let mut kept: Vec<_> = kept.into_iter().map(|it| it.email).collect();
    told.sort_unstable();
    kept.sort_unstable();
    assert!(told == kept, "{} told, {} kept", told.len(), kept.len());
}

/// Signs a name up, and tells somebody of it.
async fn sign_up(opened: &Opened, name: &str) -> Result<Subscription, StoreError> {
    let mut sign_up = sign_up_of(address(name), origin(7, None), START);
    let kind = DeliveryKind::Subscribed;
    let id = DeliveryId::new(kind, &sign_up.leave_token, START);
    let email = Some(sign_up.email.clone());
    sign_up.notice = Some(Delivery::new(id, kind, email, name.to_owned(), START));
    opened.store.sign_up(sign_up).await
}

/// Changes contacts, some at a time, until there is no power or enough is done.
async fn work(
    opened: &Opened,
    files: &PowerFiles,
    life: usize,
    contacts: &mut Contacts,
    random: &mut Random,
) {
    for group in 0..random.below(80) {
        if !files.is_on() {
            return;
        }
        // Each once: who comes first within a group is not known.
        let mut changes = BTreeSet::new();
        for number in 0..=random.below(6) {
            changes.insert((format!("n{life}-{group}-{number}"), false));
        }
        let before: Vec<_> = contacts.keys().cloned().collect();
        if !before.is_empty() {
            changes.insert((random.pick(&before).clone(), random.once_in(3)));
        }
        let answers = changes.iter().map(async |(name, is_forgotten)| {
            if *is_forgotten {
                opened.forget(name).await.is_ok()
            } else {
                sign_up(opened, name).await.is_ok()
            }
        });
        let answers = join_all(answers).await;
        for ((name, is_forgotten), is_acknowledged) in changes.into_iter().zip(answers) {
            let wanted = match is_forgotten {
                true => Known::Gone,
                false => Known::There,
            };
            let is_known = is_acknowledged || contacts.get(&name) == Some(&wanted);
            contacts.insert(name, if is_known { wanted } else { Known::Open });
        }
    }
}
