//! Contacts: searched, exported, erased.

use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use minijinja::context;

use crate::domain::contact::Contact;
use crate::domain::email::EmailAddress;
use crate::domain::time::Timestamp;
use crate::http::admin::contact_rows::FileFormat;

use super::answer::PageError;
use super::page_request::{PageAnswer, PageRequest, minute};
use super::picked::{page_number, pick};
use super::views::{ConfirmationPage, MessagePage};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// The choices of when they signed up: days, and words.
const AGES: [(&str, &str); 5] = [
    ("", "at any time"),
    ("1", "in the last 24 hours"),
    ("7", "in the last 7 days"),
    ("30", "in the last 30 days"),
    ("365", "in the last 365 days"),
];

/// Shows the contacts whose address holds `q`.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let app = &request.app;
    let part = request.params.get("q").unwrap_or_default().trim();
    // Addresses are kept in lower case.
    let needle = part.to_lowercase();
    let age = request.params.get("age").unwrap_or_default();
    let number = page_number(&request.params);
    let list = app.contacts.list(since(age, request.now), None).await?;
    let picked = pick(list, number, |it| it.email.as_str().contains(&needle)).await?;
    let row = |contact: &Contact| {
        context! {
            email => contact.email.as_str(),
            subscribed_at => minute(contact.subscribed_at),
            last_seen_at => minute(contact.last_seen_at),
        }
    };
    request.page(
        "contacts.html",
        context! {
            q => part,
            age,
            ages => AGES.map(|(days, words)| [days, words]).to_vec(),
            passes_on => app.notifier.is_some(),
            ..picked.values(number, row)
        },
    )
}

/// From when on contacts are shown that signed up in the last `age` days.
fn since(age: &str, now: Timestamp) -> Option<Timestamp> {
    let days = AGES.iter().find(|(days, _)| *days == age)?.0;
    let days: u64 = days.parse().ok()?;
    let ms = now.as_ms().saturating_sub(days * DAY_MS);
    Some(Timestamp::from_ms(ms))
}

/// All contacts as a file, in `format`.
pub(super) async fn export(request: PageRequest) -> PageAnswer {
    let format = request.params.get("format").unwrap_or_default();
    let format = FileFormat::parse(format)
        .map_err(|error| PageError::Input(format!("The format {error}.")))?;
    let pages = request.app.contacts.list(None, None).await?;
    tracing::info!(page = "contacts export", "operator");
    let mut response = format.answer(pages);
    let (media_type, disposition) = match format {
        FileFormat::Csv => (
            "text/csv; charset=utf-8",
            "attachment; filename=\"contacts.csv\"",
        ),
        FileFormat::JsonLines => (
            "application/jsonl",
            "attachment; filename=\"contacts.jsonl\"",
        ),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static(disposition));
    Ok(response)
}

/// Asks whether to erase the contact with the address `email`.
pub(super) async fn confirm_erasure(request: PageRequest) -> PageAnswer {
    let email = email(&request)?;
    let contact = request.app.contacts.find(&email).await?;
    let mut facts = vec![("Address", email.as_str().to_owned())];
    facts.push(match &contact {
        Some(contact) => ("Signed up", minute(contact.subscribed_at)),
        None => ("Signed up", "no contact has this address".to_owned()),
    });
    request.confirm(&ConfirmationPage {
        title: "Erase this contact?",
        paragraphs: &[
            "The address is removed from every file of the data directory. It cannot be brought back \
             from there.",
            "A keyed hash of it remains, so that an import does not add it again. A new sign-up by \
             the person is accepted.",
        ],
        facts,
        action: "/contacts/erase",
        fields: vec![("email", email.as_str())],
        button: "Erase it",
        back: "/contacts",
    })
}

/// Erases it.
pub(super) async fn erase(request: PageRequest) -> PageAnswer {
    let email = email(&request)?;
    let emails = std::slice::from_ref(&email);
    let erasure = request.app.contacts.forget(emails, request.now).await?;
    let was_known = erasure.was_known.first() == Some(&true);
    tracing::info!(
        page = "contacts erase",
        contacts.known = usize::from(was_known),
        complete = erasure.is_complete(),
        "operator"
    );
    let mut paragraphs = vec![match was_known {
        true => "The contact was erased.".to_owned(),
        false => "No contact had this address. An import will leave it out.".to_owned(),
    }];
    for remainder in &erasure.remaining {
        let (file, reason) = (&remainder.file, &remainder.reason);
        paragraphs.push(format!("It may still be in {file}: {reason}"));
    }
    let mut facts = vec![
        ("Address", email.as_str().to_owned()),
        ("Done at", request.now.to_rfc3339()),
    ];
    if !erasure.rewritten.is_empty() {
        facts.push(("Files written without it", erasure.rewritten.join(", ")));
    }
    let title = match (was_known, erasure.is_complete()) {
        (true, true) => "Erased",
        (false, true) => "Nothing to erase",
        (_, false) => "Not erased from every file",
    };
    request.message(&MessagePage {
        title,
        paragraphs,
        facts,
        next: Some(("/contacts", "To the contacts")),
    })
}

fn email(request: &PageRequest) -> Result<EmailAddress, PageError> {
    let email = request.params.get("email").unwrap_or_default();
    EmailAddress::parse(email)
        .map_err(|error| PageError::Input(format!("The address {error}. Nothing was done.")))
}
