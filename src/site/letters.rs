//! The mail that asks contacts to confirm, in each language: a heading, which is its subject, and paragraphs, one of
//! which has the link.

use minijinja::context;

use crate::domain::{Language, LetterTemplate};

use super::error::SiteError;
use super::site_file::SiteFile;
use super::templates::Templates;

/// The longest such mail, text and HTML together, in bytes: as it is sent it takes three times as much at most, and the
/// store has it in a line.
const BYTES_MAX: usize = 4000;

/// The letter in each language, in their order.
pub(super) fn letters(
    templates: &Templates,
) -> Result<[LetterTemplate; Language::ALL.len()], SiteError> {
    let [english, german, french, spanish] = Language::ALL.map(|it| letter(templates, it));
    Ok([english?, german?, french?, spanish?])
}

fn letter(templates: &Templates, language: Language) -> Result<LetterTemplate, SiteError> {
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
    if subject.len() + text.len() + html.len() > BYTES_MAX {
        return Err(wrong(
            "is a mail of more than 4,000 bytes, text and HTML together",
        ));
    }
    Ok(LetterTemplate {
        subject: subject.to_owned(),
        text: format!("{text}\n"),
        html,
    })
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
