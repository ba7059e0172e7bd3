//! The mail that asks contacts to confirm, in each language: a heading, which is its subject, and paragraphs, one of
//! which has the link.

use minijinja::context;

use crate::domain::{Language, LetterTemplate};

use super::error::SiteError;
use super::site_file::SiteFile;
use super::templates::Templates;

/// The longest such mail, subject, text and HTML together, in bytes as [`sent_bytes`] counts them: a store has the whole
/// mail in a line of 12 KiB, of which its head takes up to 3.
const BYTES_MAX: usize = 8000;

/// The length of a token, which ends a link.
const TOKEN_LENGTH: usize = 32;

/// The letter in each language, in their order. The links lead to `base_url`.
pub(super) fn letters(
    templates: &Templates,
    base_url: &str,
) -> Result<[LetterTemplate; Language::ALL.len()], SiteError> {
    let [english, german, french, spanish] =
        Language::ALL.map(|language| letter(templates, base_url, language));
    Ok([english?, german?, french?, spanish?])
}

fn letter(
    templates: &Templates,
    base_url: &str,
    language: Language,
) -> Result<LetterTemplate, SiteError> {
    let name = templates.source_in(language, SiteFile::CONFIRMATION);
    let values = context! { confirm_url => LetterTemplate::LINK };
    let filled = templates.fill_in(language, &name, values)?;
    let wrong = |why: &str| SiteError::new(&name, why);
    let heading = filled.strip_prefix("# ").and_then(|it| it.split_once('\n'));
    let no_subject = "must begin with the subject of the mail, as a heading: # Please confirm";
    let (subject, text) = heading.ok_or_else(|| wrong(no_subject))?;
    let (subject, text) = (subject.trim(), text.trim());
    if subject.is_empty() || subject.chars().any(char::is_control) {
        return Err(wrong(no_subject));
    }
    if !text.contains(LetterTemplate::LINK) {
        return Err(wrong("must have the link: {{ confirm_url }}"));
    }
    let html = html(language, text);
    let token = "0".repeat(TOKEN_LENGTH);
    let link = format!("{base_url}/newsletter/confirm/{token}");
    let filled = [subject, text, &html].map(|part| part.replace(LetterTemplate::LINK, &link));
    let bytes: usize = filled.iter().map(|part| sent_bytes(part)).sum();
    // A link in the head is as long.
    if bytes + link.len() > BYTES_MAX {
        return Err(wrong(&format!(
            "is an email of more than 8,000 bytes as it is sent, text and HTML together with {} links to {base_url}: \
             make it shorter, or use {{{{ confirm_url }}}} once",
            text.matches(LetterTemplate::LINK).count() + html.matches(LetterTemplate::LINK).count()
        )));
    }
    Ok(LetterTemplate {
        subject: subject.to_owned(),
        text: format!("{text}\n"),
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

/// The paragraphs of a text, the link as one.
fn html(language: Language, text: &str) -> String {
    let link = LetterTemplate::LINK;
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let escaped = html_escape(paragraph.trim());
        let linked = escaped.replace(link, &format!("<a href=\"{link}\">{link}</a>"));
        format!("<p>{linked}</p>\n")
    });
    let paragraphs: String = paragraphs.collect();
    let tag = language.tag();
    format!("<!DOCTYPE html>\n<html lang=\"{tag}\">\n<body>\n{paragraphs}</body>\n</html>\n")
}

fn html_escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
