//! The confirmation email, in each language: a heading as the subject, and paragraphs, one of which has the link. A
//! paragraph with nothing else becomes the button. Signature and imprint follow.

use minijinja::context;

use crate::domain::{Language, LetterContent, Settings};

use super::script::accented;
use super::site_file::{SiteError, SiteFile};

use super::templates::Templates;

/// Maximum length of the email, subject, text and HTML together, in bytes as [`sent_bytes`] counts them: a store has the
/// whole email in a line of 12 KiB, of which its head takes up to 3.
const BYTES_MAX: usize = 8000;

/// The letter in each language, in their order.
pub(super) fn letters(
    templates: &Templates,
    settings: &Settings,
) -> Result<[LetterContent; Language::ALL.len()], SiteError> {
    let [english, german, french, spanish] =
        Language::ALL.map(|language| letter(templates, settings, language));
    let mut letters = [english?, german?, french?, spanish?];
    // A fault in any file is found, but emails are only sent in the languages of the site.
    let languages = &templates.languages;
    let default = languages.first().copied().unwrap_or_default();
    let default = letters.get(default as usize).cloned();
    for (language, letter) in Language::ALL.iter().zip(&mut letters) {
        if let Some(default) = default.as_ref().filter(|_| !languages.contains(language)) {
            letter.clone_from(default);
        }
    }
    Ok(letters)
}

fn letter(
    templates: &Templates,
    settings: &Settings,
    language: Language,
) -> Result<LetterContent, SiteError> {
    let name = templates.source_in(language, SiteFile::CONFIRMATION);
    let values = context! { confirm_url => LetterContent::LINK };
    let filled = templates
        .fill(language, &name, values.clone())?
        .replace("\r\n", "\n");
    let wrong = |why: &str| SiteError::new(&name, why);
    let heading = filled
        .strip_prefix("# ")
        .and_then(|text| text.split_once('\n'));
    let no_subject = "must begin with the subject of the email, as a heading: # Please confirm";
    let (subject, body) = heading.ok_or_else(|| wrong(no_subject))?;
    let (subject, body) = (subject.trim(), body.trim());
    if subject.is_empty() || subject.chars().any(char::is_control) {
        return Err(wrong(no_subject));
    }
    if !body.contains(LetterContent::LINK) {
        return Err(wrong("must contain the link: {{ confirm_url }}"));
    }
    let values = context! { body, ..values };
    let text = templates.fill(language, "parts/confirmation.txt", values.clone())?;
    let html = templates.fill(language, "parts/confirmation.html", values)?;
    let html = accented(&html, settings.accent);
    // As long as any token.
    let token = "0".repeat(32);
    let link = format!("{}/newsletter/confirm/{token}", settings.base_url);
    let filled = [subject, &text, &html].map(|part| part.replace(LetterContent::LINK, &link));
    let bytes: usize = filled.iter().map(|part| sent_bytes(part)).sum();
    // A link in the head is as long. Without double opt-in nobody gets it.
    if settings.opt_in_ms.is_some() && bytes + link.len() > BYTES_MAX {
        return Err(wrong(
            "is an email of more than 8,000 bytes as it is sent, text and HTML together with their links: make it \
             shorter, use {{ confirm_url }} once, or shorten the service's name and the imprint's address",
        ));
    }
    Ok(LetterContent {
        subject: subject.to_owned(),
        text,
        html,
    })
}

/// The most bytes that a part takes in the store: quoted-printable, as a string of JSON.
fn sent_bytes(part: &str) -> usize {
    let bytes = part.bytes().map(|byte| match byte {
        b'"' | b'\\' => 2,
        // As two escapes, behind a blank that is encoded.
        b'\n' => 6,
        b' '..=b'~' if byte != b'=' => 1,
        _ => 3,
    });
    let bytes: usize = bytes.sum();
    // A line of 76 ends in an escaped line break.
    bytes + bytes / 70 * 5
}
