//! What every [`ContactStore`] must do.

use std::sync::Arc;

use landing_api::domain::consent::{
    Confirmation, Consent, ContactStatus, EndedConsent, LeaveToken, SignUpWay, Source, TextDigest,
};
use landing_api::domain::contact::{Contact, ImportOutcome, Origin, SignUp, Signers, Subscription};
use landing_api::domain::email::EmailAddress;
use landing_api::domain::language::Language;
use landing_api::domain::time::Timestamp;
use landing_api::ports::{ContactStore, REFUSED_MS};

use tokio::task::JoinSet;

use crate::fixtures::{listed, of_sign_up, origin, sign_up_of};

const EARLY: Timestamp = Timestamp::from_ms(1_000);
const LATE: Timestamp = Timestamp::from_ms(2_000);

fn email(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

fn sign_up(text: &str, origin: Origin, at: Timestamp) -> SignUp {
    sign_up_of(email(text), origin, at)
}

fn renewed(by_same_client: bool) -> Subscription {
    Subscription::Renewed { by_same_client }
}

fn signers(origins: &[Origin]) -> Signers {
    origins.iter().copied().collect()
}

/// The whole contract; `store` is empty.
pub(crate) async fn check(store: Arc<dyn ContactStore>) {
    assert_eq!(store.check(), Ok(()));
    assert_eq!(listed(store.list(None, None).await).await, []);
    a_new_address_is_created_once(&*store).await;
    addresses_are_told_apart(&*store).await;
    the_last_four_signers_are_remembered(&*store).await;
    a_signer_is_known_by_network_or_credential(&*store).await;
    a_forgotten_address_is_new_again(&*store).await;
    imported_contacts_have_no_origin_until_they_sign_up(&*store).await;
    an_import_leaves_what_is_known_and_what_was_forgotten(&*store).await;
    contacts_are_listed_as_they_are_in_the_order_of_their_addition(&*store).await;
    lists_and_counts_are_bounded_by_the_time_of_sign_up(&*store).await;
    several_addresses_are_forgotten_together(&*store).await;
    a_contact_leaves_by_its_token(&*store).await;
    only_who_has_left_gives_a_new_consent(&*store).await;
    the_consent_before_stays_proved_and_no_earlier_one(&*store).await;
    a_contact_counts_once_it_is_confirmed(&*store).await;
    who_has_left_stays_so_until_it_is_confirmed(&*store).await;
    who_refuses_is_forgotten(&*store).await;
    an_address_that_is_allowed_gets_mail_and_stays_forgotten(&*store).await;
    who_is_confirmed_meanwhile_does_not_expire(&*store).await;
    what_a_consent_names_is_kept(&*store).await;
    an_import_revives_nobody(&*store).await;
    of_racing_sign_ups_one_creates(&store).await;
    of_racing_sign_ups_by_one_client_all_but_one_are_its_own(&store).await;
    assert_eq!(store.check(), Ok(()));
}

async fn a_new_address_is_created_once(store: &dyn ContactStore) {
    let address = email("ada@example.com");
    assert_eq!(store.find(&address).await, Ok(None));
    let first = origin(1, Some(2));
    create(store, "ada@example.com", first).await;
    let mut kept = Contact::imported(address.clone(), EARLY, None, None);
    kept.signers = signers(&[first]);
    of_sign_up(&mut kept, sign_up("ada@example.com", first, EARLY));
    assert_eq!(store.find(&address).await, Ok(Some(kept.clone())));

    // A repeat changes nothing but when the address was last seen, and by whom.
    let second = origin(3, None);
    renew(store, "ada@example.com", second, LATE, false).await;
    kept.last_seen_at = LATE;
    kept.signers = signers(&[first, second]);
    assert_eq!(store.find(&address).await, Ok(Some(kept.clone())));

    // The clock may have been set back.
    renew(store, "ada@example.com", second, EARLY, true).await;
    kept.last_seen_at = EARLY;
    assert_eq!(store.find(&address).await, Ok(Some(kept)));
}

/// Signs a new address up, early.
async fn create(store: &dyn ContactStore, text: &str, origin: Origin) {
    let created = store.sign_up(sign_up(text, origin, EARLY)).await;
    assert_eq!(created, Ok(Subscription::Created), "{text}");
}

/// Signs a known address up again, by the client that signed it up before or by another one.
async fn renew(
    store: &dyn ContactStore,
    text: &str,
    origin: Origin,
    at: Timestamp,
    by_same_client: bool,
) {
    let again = store.sign_up(sign_up(text, origin, at)).await;
    assert_eq!(again, Ok(renewed(by_same_client)), "{text} {origin:?}");
}

async fn kept(store: &dyn ContactStore, text: &str) -> Contact {
    store.find(&email(text)).await.unwrap().unwrap()
}

async fn a_contact_leaves_by_its_token(store: &dyn ContactStore) {
    let before = store.status_counts().await.unwrap().unsubscribed;
    let all = store.count(None, None).await.unwrap();
    for name in ["leo@example.com", "lea@example.com"] {
        create(store, name, origin(1, None)).await;
    }
    let contact = kept(store, "leo@example.com").await;
    assert_eq!(contact.status(), ContactStatus::Subscribed);
    let token = contact.leave_token.unwrap();
    assert_eq!(store.find_by_token(&token).await, Ok(Some(contact)));
    assert_eq!(store.leave(&token, None, LATE).await, Ok(true));
    assert_eq!(store.leave(&token, None, EARLY).await, Ok(false));
    let left = kept(store, "leo@example.com").await;
    assert_eq!(left.left_at, Some(LATE));
    assert_eq!(store.find_by_token(&token).await, Ok(Some(left)));
    // Whose token it is not stays.
    let other = kept(store, "lea@example.com").await;
    assert_eq!(other.status(), ContactStatus::Subscribed);
    let unknown = LeaveToken::from_bytes([9; 16]);
    assert_eq!(store.find_by_token(&unknown).await, Ok(None));
    assert_eq!(store.leave(&unknown, None, LATE).await, Ok(false));
    let unsubscribed = store.status_counts().await.unwrap().unsubscribed;
    assert_eq!(unsubscribed, before + 1);
    assert_eq!(store.count(None, None).await, Ok(all + 2));
    // Whoever was erased cannot leave any more.
    assert_eq!(forget(store, &email("leo@example.com")).await, [true]);
    assert_eq!(store.leave(&token, None, LATE).await, Ok(false));
    assert_eq!(store.status_counts().await.unwrap().unsubscribed, before);
}

fn asked(text: &str, at: Timestamp) -> SignUp {
    SignUp {
        is_to_be_confirmed: true,
        ..sign_up(text, origin(3, None), at)
    }
}

async fn a_contact_counts_once_it_is_confirmed(store: &dyn ContactStore) {
    let (name, ip) = ("uma@example.com", "2001:db8::1".parse().ok());
    let before = store.status_counts().await.unwrap();
    store.sign_up(asked(name, EARLY)).await.unwrap();
    let pending = kept(store, name).await;
    assert_eq!(pending.status(), ContactStatus::Pending);
    let counted = store.status_counts().await.unwrap();
    assert_eq!(counted.pending, before.pending + 1);
    let token = pending.leave_token.unwrap();
    // It gets nothing that it could leave.
    let left = store.leave(&token, None, LATE).await;
    assert_eq!(left, Ok(false));
    // Another sign-up changes nothing of that, and the token stays good.
    store.sign_up(asked(name, LATE)).await.unwrap();
    let again = kept(store, name).await;
    assert_eq!(again.status(), ContactStatus::Pending);
    assert_eq!(again.leave_token, Some(token));
    assert_eq!(again.consent, pending.consent);
    let confirmed = store.confirm(&token, ip, None, LATE).await;
    assert_eq!(confirmed, Ok(true));
    let confirmed = kept(store, name).await;
    let expected = Confirmation {
        mailed_at: None,
        undeliverable_at: None,
        confirmed_at: Some(LATE),
        ip,
    };
    assert_eq!(confirmed.confirmation, Some(expected));
    assert_eq!(confirmed.status(), ContactStatus::Subscribed);
    assert_eq!(store.status_counts().await, Ok(before));
    let again = store.confirm(&token, None, None, LATE.plus_ms(1)).await;
    assert_eq!(again, Ok(false));
    assert_eq!(kept(store, name).await, confirmed);
    let unknown = LeaveToken::from_bytes([9; 16]);
    let unknown = store.confirm(&unknown, None, None, LATE).await;
    assert_eq!(unknown, Ok(false));
    // Nobody asks a second time.
    store.sign_up(asked(name, LATE)).await.unwrap();
    let again = kept(store, name).await;
    assert_eq!(again.confirmation, confirmed.confirmation);
    // A service that does not ask any more takes sign-ups as they are.
    store
        .sign_up(asked("noa@example.com", EARLY))
        .await
        .unwrap();
    let plain = sign_up("noa@example.com", origin(3, None), LATE);
    store.sign_up(plain).await.unwrap();
    let plain = kept(store, "noa@example.com").await;
    assert_eq!(plain.status(), ContactStatus::Subscribed);
    assert_eq!(plain.confirmation, None);
}

async fn who_has_left_stays_so_until_it_is_confirmed(store: &dyn ContactStore) {
    let name = "ora@example.com";
    create(store, name, origin(3, None)).await;
    let token = kept(store, name).await.leave_token.unwrap();
    assert_eq!(store.leave(&token, None, EARLY).await, Ok(true));
    let confirmed = store.confirm(&token, None, None, EARLY).await;
    assert_eq!(confirmed, Ok(false));
    let mut tokens = Vec::new();
    for at in [LATE, LATE.plus_ms(1)] {
        store.sign_up(asked(name, at)).await.unwrap();
        let asked = kept(store, name).await;
        assert_eq!(asked.status(), ContactStatus::Pending);
        assert_eq!(asked.left_at, Some(EARLY));
        tokens.push(asked.leave_token.unwrap());
    }
    assert_ne!(tokens[0], token);
    assert_eq!(tokens[0], tokens[1]);
    let confirmed = store.confirm(&tokens[0], None, None, LATE).await;
    assert_eq!(confirmed, Ok(true));
    let back = kept(store, name).await;
    assert_eq!(back.status(), ContactStatus::Subscribed);
    assert_eq!(back.left_at, None);
}

async fn who_is_confirmed_meanwhile_does_not_expire(store: &dyn ContactStore) {
    let names = ["rea@example.com", "sia@example.com", "tia@example.com"];
    let before = store.status_counts().await.unwrap();
    let [left, confirmed, gone] = names;
    let plain = sign_up(left, origin(3, None), EARLY);
    store.sign_up(plain).await.unwrap();
    let token = kept(store, left).await.leave_token.unwrap();
    store.leave(&token, None, EARLY).await.unwrap();
    let mut tokens = vec![token];
    for name in names {
        store.sign_up(asked(name, LATE)).await.unwrap();
        tokens.push(kept(store, name).await.leave_token.unwrap());
    }
    store.confirm(&tokens[2], None, None, LATE).await.unwrap();
    assert_eq!(store.expire(tokens.clone(), LATE).await, Ok(2));
    assert_eq!(store.expire(tokens, LATE).await, Ok(0));
    assert_eq!(store.expire(Vec::new(), LATE).await, Ok(0));
    let confirmed = kept(store, confirmed).await;
    assert_eq!(confirmed.status(), ContactStatus::Subscribed);
    // Who had left is one that left, of whom the stranger's sign-up tells nothing.
    let left = kept(store, left).await;
    assert_eq!(left.status(), ContactStatus::Unsubscribed);
    assert_eq!(left.left_at, Some(EARLY));
    assert_eq!(left.consent.map(|consent| consent.at), Some(EARLY));
    assert_eq!((left.confirmation, left.previous), (None, None));
    assert_eq!(store.find(&email(gone)).await, Ok(None));
    assert_eq!(import(store, gone, false).await, ImportOutcome::Forgotten);
    let after = store.status_counts().await.unwrap();
    assert_eq!(after.pending, before.pending);
    store.forget(&names.map(email), LATE).await.unwrap();
}

async fn who_refuses_is_forgotten(store: &dyn ContactStore) {
    let name = "pia@example.com";
    store.sign_up(asked(name, EARLY)).await.unwrap();
    let token = kept(store, name).await.leave_token.unwrap();
    assert_eq!(store.refuse(&token, EARLY).await, Ok(true));
    assert_eq!(store.refuse(&token, EARLY).await, Ok(false));
    assert_eq!(store.find(&email(name)).await, Ok(None));
    // Its mailbox is left alone, for a while.
    for (name, now, is_suppressed) in [
        (name, EARLY, true),
        (name, Timestamp::from_ms(1 << 42), false),
        ("pat@example.com", EARLY, false),
    ] {
        let until = store.suppressed_until(&email(name), now).await.unwrap();
        assert_eq!(until.is_some(), is_suppressed, "{name}");
        assert!(until.is_none_or(|until| until >= EARLY.plus_ms(REFUSED_MS)));
    }
    // No list brings it back.
    assert_eq!(import(store, name, false).await, ImportOutcome::Forgotten);
    // Who gets the newsletter leaves, and is not forgotten by that.
    create(store, "pat@example.com", origin(3, None)).await;
    let token = kept(store, "pat@example.com").await.leave_token.unwrap();
    assert_eq!(store.refuse(&token, EARLY).await, Ok(false));
    kept(store, "pat@example.com").await;
}

async fn an_address_that_is_allowed_gets_mail_and_stays_forgotten(store: &dyn ContactStore) {
    let (name, stranger) = ("ria@example.com", "rex@example.com");
    let suppressed = async |name| store.suppressed_until(&email(name), EARLY).await.unwrap();
    store.sign_up(asked(name, EARLY)).await.unwrap();
    let token = kept(store, name).await.leave_token.unwrap();
    assert_eq!(store.refuse(&token, EARLY).await, Ok(true));
    store.forget(&[email(stranger)], EARLY).await.unwrap();
    for allowed in [stranger, "roy@example.com"] {
        assert_eq!(store.allow(&email(allowed)).await, Ok(()));
        assert!(suppressed(name).await.is_some(), "{allowed}");
    }
    for _ in 0..2 {
        assert_eq!(store.allow(&email(name)).await, Ok(()));
        assert_eq!(suppressed(name).await, None);
    }
    for name in [name, stranger] {
        let outcome = import(store, name, false).await;
        assert_eq!(outcome, ImportOutcome::Forgotten, "{name}");
    }
    // A sign-up of the meantime stays.
    store.sign_up(asked(name, LATE)).await.unwrap();
    let token = kept(store, name).await.leave_token.unwrap();
    assert_eq!(store.refuse(&token, LATE).await, Ok(true));
    store.sign_up(asked(name, LATE)).await.unwrap();
    assert_eq!(store.allow(&email(name)).await, Ok(()));
    assert!(kept(store, name).await.is_pending());
    store.forget(&[email(name)], LATE).await.unwrap();
}

async fn only_who_has_left_gives_a_new_consent(store: &dyn ContactStore) {
    let sign_up_at = |at| sign_up("mia@example.com", origin(2, None), at);
    let created = store.sign_up(sign_up_at(EARLY)).await;
    assert_eq!(created, Ok(Subscription::Created));
    let first = kept(store, "mia@example.com").await;
    // Anybody can do that, so it changes neither the consent nor the link in mails that were sent.
    store.sign_up(sign_up_at(LATE)).await.unwrap();
    let again = kept(store, "mia@example.com").await;
    assert_eq!(again.consent, first.consent);
    assert_eq!(again.leave_token, first.leave_token);
    let token = first.leave_token.unwrap();
    assert_eq!(store.leave(&token, None, LATE).await, Ok(true));
    let revived = store.sign_up(sign_up_at(LATE)).await;
    assert_eq!(revived, Ok(renewed(true)));
    let mut expected = again_of(&sign_up_at(EARLY), &sign_up_at(LATE));
    expected.previous = Some(EndedConsent {
        consent: first.consent,
        confirmation: None,
        left_at: LATE,
    });
    let revived = kept(store, "mia@example.com").await;
    expected.signers = revived.signers.clone();
    assert_eq!(revived, expected);
    // A link of before removes nothing.
    assert_eq!(store.leave(&token, None, LATE).await, Ok(false));
    let token = revived.leave_token.unwrap();
    assert_eq!(store.leave(&token, None, LATE).await, Ok(true));
}

async fn the_consent_before_stays_proved_and_no_earlier_one(store: &dyn ContactStore) {
    let (name, imported) = ("ivo@example.com", "uwe@example.com");
    let at = |number| LATE.plus_ms(number);
    let back = async |name, number| {
        let mut back = asked(name, at(number));
        back.consent.source = Source::parse(&format!("page-{number}"));
        store.sign_up(back).await.unwrap();
        kept(store, name).await
    };
    let confirmed = async |name, number| {
        let token = back(name, number).await.leave_token.unwrap();
        store.confirm(&token, None, None, at(number)).await.unwrap();
        kept(store, name).await
    };
    let mut contact = confirmed(name, 0).await;
    assert_eq!(contact.previous, None);
    for number in [10, 20] {
        let token = contact.leave_token.unwrap();
        let left = store.leave(&token, None, at(number)).await;
        assert_eq!(left, Ok(true));
        let ended = EndedConsent {
            consent: contact.consent.clone(),
            confirmation: contact.confirmation.clone(),
            left_at: at(number),
        };
        // The one before that is proved until there is a new one.
        let left = kept(store, name).await;
        assert_eq!(left.previous, contact.previous);
        for _ in 0..2 {
            contact = back(name, number + 1).await;
            assert_eq!(contact.previous, Some(ended.clone()));
            assert_ne!(contact.consent, ended.consent);
        }
        // A consent that is not confirmed leaves nothing.
        let tokens = vec![contact.leave_token.unwrap()];
        assert_eq!(store.expire(tokens, at(number + 1)).await, Ok(1));
        let expired = kept(store, name).await;
        assert_eq!(expired.status(), ContactStatus::Unsubscribed);
        assert_eq!(expired.left_at, Some(ended.left_at));
        assert_eq!(expired.consent, ended.consent);
        assert_eq!(expired.confirmation, ended.confirmation);
        assert_eq!(expired.previous, None);
        contact = confirmed(name, number + 2).await;
        assert_eq!(contact.status(), ContactStatus::Subscribed);
        assert_eq!(contact.previous, Some(ended));
    }
    // Of a consent that was given elsewhere, only its end is known.
    let row = Contact::imported(email(imported), EARLY, Some(at(0)), None);
    store.import(vec![row], false).await.unwrap();
    let ended = EndedConsent {
        consent: None,
        confirmation: None,
        left_at: at(0),
    };
    assert_eq!(confirmed(imported, 1).await.previous, Some(ended));
    // It is erased with the contact.
    let emails = [name, imported].map(email);
    store.forget(&emails, LATE).await.unwrap();
    assert_eq!(confirmed(name, 1).await.previous, None);
    store.forget(&emails, LATE).await.unwrap();
}

/// The contact of the first sign-up, to which the second gave its consent.
fn again_of(first: &SignUp, second: &SignUp) -> Contact {
    let (mut contact, ..) = Contact::signed_up(None, first.clone());
    contact.last_seen_at = second.consent.at;
    of_sign_up(&mut contact, second.clone());
    contact
}

async fn what_a_consent_names_is_kept(store: &dyn ContactStore) {
    let text = "Leave your address. \"Quoted\", ä, and a\nline".to_owned();
    let digest = TextDigest::of(&text);
    assert_eq!(store.consent_text(&digest).await, Ok(None));
    let mut all = sign_up("nia@example.com", origin(3, None), EARLY);
    all.consent = Consent {
        at: EARLY,
        way: SignUpWay::Element,
        language: Some(Language::German),
        text: Some(digest),
        source: Source::parse("https://shop.example/danke"),
        ip: Some("2001:db8::1".parse().unwrap()),
    };
    all.consent_text = Some(text.clone());
    let mut other = all.clone();
    other.email = email("nils@example.com");
    other.leave_token = LeaveToken::from_bytes([3; 16]);
    for sign_up in [all.clone(), other] {
        assert_eq!(store.sign_up(sign_up).await, Ok(Subscription::Created));
    }
    let contact = kept(store, "nia@example.com").await;
    assert_eq!(contact.consent, Some(all.consent));
    assert_eq!(store.consent_text(&digest).await, Ok(Some(text)));
}

async fn an_import_revives_nobody(store: &dyn ContactStore) {
    let row = |name: &str, left_at| {
        let token = LeaveToken::from_bytes(*TextDigest::of(name).as_bytes());
        Contact::imported(email(name), EARLY, left_at, Some(token))
    };
    let (left, gone) = (row("ole@example.com", Some(LATE)), "oda@example.com");
    let outcomes = store.import(vec![left, row(gone, None)], false).await;
    assert_eq!(outcomes, Ok(vec![ImportOutcome::Created; 2]));
    let contact = kept(store, "ole@example.com").await;
    assert_eq!((contact.left_at, contact.consent), (Some(LATE), None));
    let token = kept(store, gone).await.leave_token.unwrap();
    assert_eq!(store.leave(&token, None, LATE).await, Ok(true));
    let again = vec![row("ole@example.com", None), row(gone, None)];
    let outcomes = store.import(again, true).await;
    assert_eq!(outcomes, Ok(vec![ImportOutcome::Known; 2]));
    for name in ["ole@example.com", gone] {
        assert_eq!(kept(store, name).await.left_at, Some(LATE), "{name}");
    }
}

async fn addresses_are_told_apart(store: &dyn ContactStore) {
    for text in ["bob@example.com", "bo@example.com", "bob@example.co"] {
        create(store, text, origin(1, None)).await;
    }
    assert_eq!(store.find(&email("b@example.com")).await, Ok(None));
}

async fn the_last_four_signers_are_remembered(store: &dyn ContactStore) {
    let address = email("dan@example.com");
    create(store, "dan@example.com", origin(1, None)).await;
    for (seed, is_known, remembered) in [
        (1, true, &[1][..]),
        (2, false, &[1, 2]),
        (3, false, &[1, 2, 3]),
        (1, true, &[2, 3, 1]),
        (4, false, &[2, 3, 1, 4]),
        (4, true, &[2, 3, 1, 4]),
        (5, false, &[3, 1, 4, 5]),
        (2, false, &[1, 4, 5, 2]),
        (1, true, &[4, 5, 2, 1]),
    ] {
        renew(store, "dan@example.com", origin(seed, None), LATE, is_known).await;
        let kept = store.find(&address).await.unwrap().unwrap();
        let kept: Vec<_> = kept.signers.iter().copied().collect();
        let remembered: Vec<_> = remembered.iter().map(|&seed| origin(seed, None)).collect();
        assert_eq!(kept, remembered);
    }
}

async fn a_signer_is_known_by_network_or_credential(store: &dyn ContactStore) {
    create(store, "fay@example.com", origin(1, Some(2))).await;
    for (origin, is_known) in [
        // A network and a credential are different things.
        (origin(2, Some(1)), false),
        (origin(3, None), false),
        (origin(4, Some(5)), false),
        (origin(1, Some(6)), true),
        (origin(7, Some(5)), true),
    ] {
        renew(store, "fay@example.com", origin, LATE, is_known).await;
    }
}

async fn a_forgotten_address_is_new_again(store: &dyn ContactStore) {
    let address = email("cy@example.com");
    assert_eq!(forget(store, &address).await, [false]);
    for round in 1..=2 {
        create(store, "cy@example.com", origin(round, None)).await;
        // Who signed it up before is forgotten, too.
        renew(store, "cy@example.com", origin(9, None), LATE, false).await;
        assert_eq!(forget(store, &address).await, [true]);
        assert_eq!(store.find(&address).await, Ok(None));
        assert_eq!(forget(store, &address).await, [false]);
    }
}

async fn forget(store: &dyn ContactStore, address: &EmailAddress) -> Vec<bool> {
    let erasure = store.forget(std::slice::from_ref(address), LATE).await;
    erasure.unwrap().was_known
}

/// Imports a contact of an early time, and returns what became of it.
async fn import(store: &dyn ContactStore, text: &str, unforget: bool) -> ImportOutcome {
    let row = Contact::imported(email(text), EARLY, None, None);
    let outcomes = store.import(vec![row], unforget).await.unwrap();
    assert_eq!(outcomes.len(), 1);
    outcomes[0]
}

async fn imported_contacts_have_no_origin_until_they_sign_up(store: &dyn ContactStore) {
    let address = email("gus@example.com");
    let outcome = import(store, "gus@example.com", false).await;
    assert_eq!(outcome, ImportOutcome::Created);
    let mut kept = Contact::imported(address.clone(), EARLY, None, None);
    assert_eq!(store.find(&address).await, Ok(Some(kept.clone())));
    let signer = origin(1, Some(2));
    for by_same_client in [false, true] {
        renew(store, "gus@example.com", signer, LATE, by_same_client).await;
    }
    of_sign_up(&mut kept, sign_up("gus@example.com", signer, LATE));
    kept.last_seen_at = LATE;
    kept.signers = signers(&[signer]);
    assert_eq!(store.find(&address).await, Ok(Some(kept)));
}

async fn an_import_leaves_what_is_known_and_what_was_forgotten(store: &dyn ContactStore) {
    let signer = origin(1, None);
    let created = store.sign_up(sign_up("hal@example.com", signer, LATE));
    assert_eq!(created.await, Ok(Subscription::Created));
    let kept = store.find(&email("hal@example.com")).await.unwrap();
    for unforget in [false, true] {
        let outcome = import(store, "hal@example.com", unforget).await;
        assert_eq!(outcome, ImportOutcome::Known);
        let after = store.find(&email("hal@example.com")).await.unwrap();
        assert_eq!(after, kept);
    }
    // An address that was never known can be forgotten, too.
    for (text, was_known) in [("hal@example.com", true), ("ida@example.com", false)] {
        assert_eq!(forget(store, &email(text)).await, [was_known]);
        for _ in 0..2 {
            let outcome = import(store, text, false).await;
            assert_eq!(outcome, ImportOutcome::Forgotten);
        }
        assert_eq!(store.find(&email(text)).await, Ok(None));
        assert_eq!(import(store, text, true).await, ImportOutcome::Created);
        assert_eq!(import(store, text, false).await, ImportOutcome::Known);
        // A person may sign up again, and is known then.
        assert_eq!(forget(store, &email(text)).await, [true]);
        let again = store.sign_up(sign_up(text, signer, LATE));
        assert_eq!(again.await, Ok(Subscription::Created));
        assert_eq!(import(store, text, false).await, ImportOutcome::Known);
    }
    // Rows of one import see each other.
    let rows = ["jo@example.com", "jo@example.com", "hal@example.com"];
    let rows = rows.map(|name| Contact::imported(email(name), EARLY, None, None));
    let outcomes = store.import(rows.to_vec(), false).await.unwrap();
    let known = ImportOutcome::Known;
    assert_eq!(outcomes, [ImportOutcome::Created, known, known]);
    assert_eq!(store.import(Vec::new(), false).await, Ok(Vec::new()));
}

async fn contacts_are_listed_as_they_are_in_the_order_of_their_addition(store: &dyn ContactStore) {
    let before = listed(store.list(None, None).await).await;
    let mut added = Vec::new();
    for number in 0..1100 {
        let text = format!("z{:04}@example.com", 7919 * number % 2000);
        let outcome = import(store, &text, false).await;
        assert_eq!(outcome, ImportOutcome::Created);
        added.push(text);
    }
    // Seen again, forgotten, and new again: only the last place counts.
    for text in [&added[0], &added[1]] {
        renew(store, text, origin(1, None), LATE, false).await;
    }
    assert_eq!(forget(store, &email(&added[1])).await, [true]);
    let created = store.sign_up(sign_up(&added[1], origin(1, None), LATE));
    assert_eq!(created.await, Ok(Subscription::Created));
    let moved = added.remove(1);
    added.push(moved);

    let after = listed(store.list(None, None).await).await;
    assert_eq!(after[..before.len()], before);
    let names = after[before.len()..].iter();
    assert!(names.map(|contact| contact.email.as_str()).eq(&added));
    for contact in after {
        assert_eq!(store.find(&contact.email).await, Ok(Some(contact)));
    }
}

async fn lists_and_counts_are_bounded_by_the_time_of_sign_up(store: &dyn ContactStore) {
    let all = listed(store.list(None, None).await).await;
    for since in [None, Some(EARLY), Some(LATE), Some(LATE.plus_ms(1))] {
        for until in [None, Some(EARLY), Some(LATE), Some(LATE.plus_ms(1))] {
            let found = listed(store.list(since, until).await).await;
            let is_within = |contact: &&Contact| {
                let at = contact.subscribed_at;
                since.is_none_or(|since| since <= at) && until.is_none_or(|until| at < until)
            };
            let expected: Vec<_> = all.iter().filter(is_within).cloned().collect();
            assert_eq!(found, expected, "{since:?} {until:?}");
            let count = store.count(since, until).await;
            assert_eq!(count, Ok(expected.len() as u64), "{since:?} {until:?}");
        }
    }
    let early = listed(store.list(None, Some(LATE)).await).await;
    assert!(!early.is_empty() && early.len() < all.len());
}

async fn several_addresses_are_forgotten_together(store: &dyn ContactStore) {
    let names = ["kim", "nobody", "lee", "kim"].map(|name| email(&format!("{name}@example.com")));
    for text in ["kim@example.com", "lee@example.com"] {
        create(store, text, origin(1, None)).await;
    }
    let erasure = store.forget(&names, LATE).await.unwrap();
    assert_eq!(erasure.was_known, [true, false, true, false]);
    for name in &names {
        assert_eq!(store.find(name).await, Ok(None));
    }
    let nothing = store.forget(&[], LATE).await.unwrap();
    assert!(nothing.was_known.is_empty());
}

/// How many of racing sign-ups of `text`, one by each of `origins`, created the contact, and how many
/// renewed it as another client and as the same one.
async fn race(
    store: &Arc<dyn ContactStore>,
    text: &str,
    origins: impl Iterator<Item = Origin>,
) -> (usize, usize, usize) {
    let race = |origin| {
        let store = Arc::clone(store);
        let sign_up = sign_up(text, origin, EARLY);
        async move { store.sign_up(sign_up).await.unwrap() }
    };
    let ended = origins.map(race).collect::<JoinSet<_>>().join_all().await;
    let count = |end| ended.iter().filter(|it| **it == end).count();
    (
        count(Subscription::Created),
        count(renewed(false)),
        count(renewed(true)),
    )
}

async fn of_racing_sign_ups_one_creates(store: &Arc<dyn ContactStore>) {
    for round in 0..20 {
        let text = format!("racer{round}@example.com");
        let racers = (0..32).map(|racer| origin(racer, None));
        assert_eq!(race(store, &text, racers).await, (1, 31, 0));
        // The last four are among them, each once.
        let kept = store.find(&email(&text)).await.unwrap().unwrap().signers;
        let among = (0..32).filter(|&racer| kept.iter().any(|it| *it == origin(racer, None)));
        assert_eq!((kept.iter().count(), among.count()), (4, 4));
    }
}

async fn of_racing_sign_ups_by_one_client_all_but_one_are_its_own(store: &Arc<dyn ContactStore>) {
    for round in 0..20 {
        let text = format!("alone{round}@example.com");
        let racers = (0..2).map(|_| origin(1, None));
        assert_eq!(race(store, &text, racers).await, (1, 0, 1));
    }
}

/// Erases addresses while clients sign them up and imports bring them, and returns how many are contacts
/// afterwards. The caller compares that with the number of tombstones: an address has one of the two.
pub(crate) async fn race_erasures(store: &Arc<dyn ContactStore>, addresses: usize) -> u64 {
    for round in 0..addresses {
        let text = format!("contested{round}@example.com");
        create(&**store, &text, origin(1, None)).await;
        let (keeper, importer) = (Arc::clone(store), Arc::clone(store));
        let keeps = tokio::spawn({
            let sign_up = sign_up(&text, origin(1, None), EARLY);
            async move { keeper.sign_up(sign_up).await.map(drop) }
        });
        let imports = tokio::spawn({
            let row = Contact::imported(email(&text), EARLY, None, None);
            async move { importer.import(vec![row], true).await.map(drop) }
        });
        let erased = store.forget(&[email(&text)], LATE).await.unwrap();
        assert_eq!(erased.was_known, [true]);
        for racer in [keeps, imports] {
            racer.await.unwrap().unwrap();
        }
    }
    store.count(None, None).await.unwrap()
}
