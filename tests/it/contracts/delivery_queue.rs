//! What every [`DeliveryQueue`] does, beside the contacts that cause the deliveries.

use std::sync::Arc;

use futures_util::StreamExt as _;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::client::LimitKey;
use landing_api::domain::consent::MailOutcome;
use landing_api::domain::contact::{Contact, SignUp};
use landing_api::domain::delivery::{
    Channel, Delivery, DeliveryId, DeliveryKind, Failure, QueueStanding, Settled, Turn,
};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{Clock as _, ContactStore, DeliveryQueue};

use crate::fixtures::{origin, settled, sign_up_of};

const CHANNEL: Channel = Channel::Webhook;

fn address(name: &str) -> EmailAddress {
    EmailAddress::parse(&format!("{name}@delivery.example")).unwrap()
}

/// A sign-up with what is told of it.
fn sign_up(name: &str, at: Timestamp) -> SignUp {
    let mut sign_up = sign_up_of(address(name), origin(1, None), at);
    sign_up.notice = Some(delivery(DeliveryKind::Subscribed, &sign_up, at));
    sign_up
}

/// A sign-up that is to be confirmed, without the mail that asks for it.
fn asked(name: &str, at: Timestamp) -> SignUp {
    SignUp {
        is_to_be_confirmed: true,
        notice: None,
        ..sign_up(name, at)
    }
}

/// Notes that the mails to these ended so.
async fn note(queue: &dyn DeliveryQueue, names: &[&str], outcome: MailOutcome, at: Timestamp) {
    let mails = names.iter().map(|name| (address(name), outcome));
    let ended = Settled {
        mails: mails.collect(),
        ..Settled::default()
    };
    queue.settle(ended, at).await.unwrap();
}

pub(crate) fn delivery(kind: DeliveryKind, of: &SignUp, at: Timestamp) -> Delivery {
    let id = DeliveryId::new(kind, &of.leave_token, at);
    let body = format!("{} {}", kind.as_str(), of.email.as_str());
    Delivery::new(id, kind, Some(of.email.clone()), body, at)
}

fn later() -> Failure {
    Failure::Later {
        error: "answered 503".to_owned(),
        wait_ms: None,
    }
}

async fn bodies(queue: &dyn DeliveryQueue) -> Vec<String> {
    let pages = queue.list().await.unwrap();
    let pages: Vec<_> = pages.map(Result::unwrap).collect().await;
    let listed = pages.into_iter().flatten();
    listed.map(|delivery| delivery.body).collect()
}

/// A store by both its sides.
type Both<'a> = (&'a dyn ContactStore, &'a dyn DeliveryQueue);

async fn due(queue: &dyn DeliveryQueue, count: usize) -> Vec<Delivery> {
    let (turn, now) = (Turn::default(), SystemClock.now());
    queue.take_due(CHANNEL, count, &turn, now).await.unwrap()
}

/// Ends these attempts now.
async fn settle(queue: &dyn DeliveryQueue, made: Vec<DeliveryId>, failed: Vec<Delivery>) {
    let ended = settled(made, failed);
    queue.settle(ended, SystemClock.now()).await.unwrap();
}

/// Leaves a delivery that was given up, of `bob`, and one that waits, of `eve`; the channel is held.
pub(crate) async fn check(store: Arc<impl ContactStore + DeliveryQueue>) {
    let both: Both<'_> = (&*store, &*store);
    let (contacts, queue) = both;
    // A second ago: what is told now is due.
    let now = Timestamp::from_ms(SystemClock.now().as_ms() - 1000);
    assert_eq!(queue.standing(CHANNEL).await, Ok(QueueStanding::default()));
    assert_eq!(queue.add(Vec::new()).await, Ok(()));

    a_new_consent_alone_is_told(both, now).await;
    what_is_taken_is_nobody_elses(queue, now).await;
    what_is_given_up_stays_for_a_while(queue, now).await;
    an_erasure_drops_what_names_the_address(both, now).await;
    who_refuses_is_sent_no_mail(both, now).await;
    a_contact_is_noted_how_its_mail_ended(both, now).await;
    who_is_overdue_is_found(both).await;
    networks_take_turns(queue, now).await;

    // What is held is kept and not taken.
    contacts.sign_up(sign_up("eve", now)).await.unwrap();
    queue.hold(CHANNEL, true).await.unwrap();
    queue.hold(CHANNEL, true).await.unwrap();
    assert!(due(queue, 10).await.is_empty());
    queue.hold(CHANNEL, false).await.unwrap();
    let taken = due(queue, 10).await;
    assert_eq!(taken.len(), 1);
    settle(queue, Vec::new(), taken).await;
    queue.hold(CHANNEL, true).await.unwrap();
    assert_holds(queue).await;
}

/// What [`check`] left is there.
pub(crate) async fn assert_holds(queue: &dyn DeliveryQueue) {
    let standing = queue.standing(CHANNEL).await.unwrap();
    assert_eq!((standing.waiting, standing.dead), (1, 1));
    assert!(standing.is_held);
    let expected = ["bob", "eve"].map(|it| format!("newsletter.subscribed {it}@delivery.example"));
    assert_eq!(bodies(queue).await, expected);
}

async fn a_new_consent_alone_is_told((contacts, queue): Both<'_>, now: Timestamp) {
    contacts.sign_up(sign_up("abe", now)).await.unwrap();
    let first = sign_up("ada", now);
    contacts.sign_up(first.clone()).await.unwrap();
    // Who is signed up again says nothing new.
    let again = sign_up("ada", now.plus_ms(1));
    contacts.sign_up(again).await.unwrap();
    assert_eq!(bodies(queue).await.len(), 2);
    // Leaving is told once, and what was not told before is not told after.
    let left = || Some(delivery(DeliveryKind::Unsubscribed, &first, now));
    let token = &first.leave_token;
    assert_eq!(contacts.leave(token, left(), now).await, Ok(true));
    let again = contacts.leave(token, left(), now).await;
    assert_eq!(again, Ok(false));
    // And who comes back.
    let back = sign_up("ada", now.plus_ms(2));
    contacts.sign_up(back).await.unwrap();
    let expected = ["subscribed abe", "unsubscribed ada", "subscribed ada"];
    let expected = expected.map(|it| format!("newsletter.{it}@delivery.example"));
    assert_eq!(bodies(queue).await, expected);
    let standing = queue.standing(CHANNEL).await.unwrap();
    let expected = QueueStanding {
        waiting: 3,
        oldest: Some(now),
        ..QueueStanding::default()
    };
    assert_eq!(standing, expected);
}

async fn what_is_taken_is_nobody_elses(queue: &dyn DeliveryQueue, now: Timestamp) {
    let (mut one, two) = (due(queue, 1).await, due(queue, 10).await);
    assert_eq!((one.len(), two.len()), (1, 2));
    assert_eq!(one[0].kind, DeliveryKind::Subscribed);
    assert!(due(queue, 10).await.is_empty());
    // One fails, one is made, one was not tried.
    one[0].fail(later(), 0, now);
    let [made, untried] = two.try_into().unwrap();
    let failed = vec![one[0].clone(), untried.clone()];
    settle(queue, vec![made.id], failed).await;
    assert_eq!(queue.find(made.id).await, Ok(None));
    let found = queue.find(one[0].id).await.unwrap().unwrap();
    assert_eq!(found.attempts, 1);
    assert_eq!(found.last_error.as_deref(), Some("answered 503"));
    // The one that was not tried is due at once, the other one in five seconds.
    let again = due(queue, 10).await;
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].id, again[0].attempts), (untried.id, 0));
    settle(queue, vec![untried.id], Vec::new()).await;
    // Until somebody wants it at once. What was dropped meanwhile stays so.
    assert_eq!(queue.retry(Some(one[0].id), now).await, Ok(1));
    let again = due(queue, 10).await;
    assert_eq!((again.len(), again[0].attempts), (1, 0));
    assert_eq!(queue.drop_one(again[0].id, now).await, Ok(true));
    assert_eq!(queue.drop_one(again[0].id, now).await, Ok(false));
    settle(queue, Vec::new(), again).await;
    assert!(bodies(queue).await.is_empty());
    assert_eq!(queue.retry(Some(one[0].id), now).await, Ok(0));
}

async fn what_is_given_up_stays_for_a_while(queue: &dyn DeliveryQueue, now: Timestamp) {
    let of = sign_up("bob", now);
    let dead = delivery(DeliveryKind::Subscribed, &of, now);
    queue.add(vec![dead.clone()]).await.unwrap();
    let mut taken = due(queue, 10).await;
    taken[0].fail(Failure::Final("refused".to_owned()), 0, now);
    settle(queue, Vec::new(), taken).await;
    assert!(due(queue, 10).await.is_empty());
    let standing = queue.standing(CHANNEL).await.unwrap();
    assert_eq!((standing.waiting, standing.dead), (0, 1));
    assert_eq!(queue.drop_dead(now).await, Ok(0));
    // All that were given up, or wait for their next attempt, are tried again.
    assert_eq!(queue.retry(None, now).await, Ok(1));
    let mut taken = due(queue, 10).await;
    assert_eq!(taken.len(), 1);
    taken[0].fail(later(), 0, SystemClock.now());
    settle(queue, Vec::new(), taken).await;
    assert!(due(queue, 10).await.is_empty());
    let now = SystemClock.now();
    assert_eq!(queue.retry(None, now).await, Ok(1));
    let mut taken = due(queue, 10).await;
    assert_eq!((taken.len(), taken[0].attempts), (1, 0));
    taken[0].fail(Failure::Final("refused".to_owned()), 0, now);
    settle(queue, Vec::new(), taken).await;
}

async fn who_refuses_is_sent_no_mail((contacts, queue): Both<'_>, now: Timestamp) {
    let asked = || {
        let mut asked = asked("fay", now);
        let mail = delivery(DeliveryKind::ConfirmationMail, &asked, now);
        asked.notice = Some(mail);
        asked
    };
    contacts.sign_up(asked()).await.unwrap();
    let standing = async || queue.standing(Channel::Mail).await.unwrap().waiting;
    assert_eq!(standing().await, 1);
    let token = asked().leave_token;
    assert_eq!(contacts.refuse(&token, now).await, Ok(true));
    assert_eq!(standing().await, 0);
    // It is taken, twice, and nobody is sent anything.
    for _ in 0..2 {
        contacts.sign_up(asked()).await.unwrap();
        assert_eq!(standing().await, 0);
    }
    // What is told of a confirmation comes with it.
    contacts.sign_up(asked()).await.unwrap();
    let told = delivery(DeliveryKind::Confirmed, &asked(), now);
    for _ in 0..2 {
        let confirmed = contacts.confirm(&token, None, Some(told.clone()), now);
        confirmed.await.unwrap();
    }
    let waiting = queue.standing(CHANNEL).await.unwrap().waiting;
    assert_eq!(waiting, 1);
    contacts.forget(&[address("fay")], now).await.unwrap();
    assert_eq!(queue.standing(CHANNEL).await.unwrap().waiting, 0);
}

async fn an_erasure_drops_what_names_the_address((contacts, queue): Both<'_>, now: Timestamp) {
    for name in ["cat", "dan"] {
        contacts.sign_up(sign_up(name, now)).await.unwrap();
    }
    assert_eq!(due(queue, 1).await.len(), 1);
    let emails = ["cat", "dan"].map(address);
    let erasure = contacts.forget(&emails, now).await.unwrap();
    assert_eq!(erasure.was_known, [true, true]);
    assert_eq!(erasure.in_flight, 1);
    assert_eq!(bodies(queue).await.len(), 1);
    let nobody = contacts.forget(&[address("nobody")], now).await.unwrap();
    assert_eq!(nobody.in_flight, 0);
}

async fn a_contact_is_noted_how_its_mail_ended((contacts, queue): Both<'_>, now: Timestamp) {
    contacts.sign_up(asked("gus", now)).await.unwrap();
    for (outcome, at) in [
        (MailOutcome::Refused, now),
        (MailOutcome::Taken, now.plus_ms(1)),
    ] {
        note(queue, &["gus", "nobody"], outcome, at).await;
        let found = contacts.find(&address("gus")).await.unwrap().unwrap();
        let noted = found.confirmation.unwrap();
        let is_taken = outcome == MailOutcome::Taken;
        assert_eq!(noted.mailed_at, is_taken.then_some(at));
        assert_eq!(noted.undeliverable_at, (!is_taken).then_some(at));
    }
    contacts.forget(&[address("gus")], now).await.unwrap();
}

async fn who_is_overdue_is_found((store, queue): Both<'_>) {
    const EARLY: Timestamp = Timestamp::from_ms(1_000);
    const LATE: Timestamp = Timestamp::from_ms(2_000);
    let [mailed, refused, unmailed, confirmed] = ["va", "vb", "vc", "vd"];
    for name in [mailed, refused, unmailed, confirmed] {
        store.sign_up(asked(name, EARLY)).await.unwrap();
    }
    note(queue, &[mailed, confirmed], MailOutcome::Taken, LATE).await;
    note(queue, &[refused], MailOutcome::Refused, LATE).await;
    let token = async |name| {
        let found = store.find(&address(name)).await.unwrap();
        found.unwrap().leave_token.unwrap()
    };
    let confirmed_token = token(confirmed).await;
    let confirmed_at = store.confirm(&confirmed_token, None, None, LATE);
    confirmed_at.await.unwrap();
    let attempts_end = EARLY.plus_ms(Delivery::ATTEMPTS_MS_MAX);
    for (before, is_mailed, expected) in [
        (EARLY, false, &[][..]),
        (LATE, false, &[mailed, refused]),
        (LATE, true, &[mailed, refused]),
        (attempts_end, true, &[mailed, refused]),
        (attempts_end, false, &[mailed, refused, unmailed]),
    ] {
        let overdue = store.overdue(before, is_mailed, 100).await.unwrap();
        let names = [mailed, refused, unmailed, confirmed].into_iter();
        let found =
            names.filter(|name| overdue.iter().any(|contact| contact.email == address(name)));
        assert!(found.eq(expected.iter().copied()), "{before:?} {is_mailed}");
        assert!(overdue.iter().all(Contact::is_pending));
    }
    let one = store.overdue(attempts_end, false, 1).await.unwrap();
    assert_eq!(one.len(), 1);
    let mut tokens = Vec::new();
    for name in [mailed, refused, unmailed] {
        tokens.push(token(name).await);
    }
    assert_eq!(store.expire(tokens, LATE).await, Ok(3));
    let overdue = store.overdue(attempts_end, false, 100).await.unwrap();
    let mailed = address(mailed);
    assert!(overdue.iter().all(|contact| contact.email != mailed));
}

/// One network has four mails, another two, and one has none; two mails are of nobody.
async fn networks_take_turns(queue: &dyn DeliveryQueue, now: Timestamp) {
    let network = |number: u8| Some(LimitKey::from_bytes([number; 16]));
    let networks = [1, 1, 1, 1, 2, 2].map(network);
    for (number, network) in networks.into_iter().chain([None, None]).enumerate() {
        let at = Timestamp::from_ms(now.as_ms() - 100 + number as u64);
        let mail = Delivery {
            network,
            ..delivery(DeliveryKind::ConfirmationMail, &sign_up("hal", at), at)
        };
        queue.add(vec![mail]).await.unwrap();
    }
    let mut turn = Turn::default();
    let mut taken = Vec::new();
    let take = async |turn: &Turn| {
        let due = queue.take_due(Channel::Mail, 1, turn, SystemClock.now());
        due.await.unwrap().pop()
    };
    while let Some(mail) = take(&turn).await {
        turn.after = mail.network;
        taken.push(mail);
    }
    let order: Vec<_> = taken.iter().map(|mail| mail.network).collect();
    let [nobody, one, two] = [None, network(1), network(2)];
    assert_eq!(order, [one, two, nobody, one, two, nobody, one, one]);
    let ones = taken.iter().filter(|mail| mail.network == one);
    assert!(ones.is_sorted_by_key(|mail| mail.queued_at));
    // A network that has used up its share waits, and what a worker had taken is free again.
    let count = taken.len();
    settle(queue, Vec::new(), taken).await;
    turn.without = one.into_iter().collect();
    let due = queue.take_due(Channel::Mail, count, &turn, SystemClock.now());
    let rest = due.await.unwrap();
    assert_eq!(rest.len(), 4);
    assert!(rest.iter().all(|mail| mail.network != one));
    let turn = Turn::default();
    let all = queue.take_due(Channel::Mail, count, &turn, SystemClock.now());
    let all = all.await.unwrap().into_iter().chain(rest);
    settle(queue, all.map(|mail| mail.id).collect(), Vec::new()).await;
    assert_eq!(queue.standing(Channel::Mail).await.unwrap().waiting, 0);
}
