//! Sentences that were found in texts, with words in their place that people use, may not come back.

use crate::handbook::texts_in;

/// Substrings, with a single space for each run of white space.
const PHRASES: &[&str] = &[
    // English: emails and pages
    "Somebody, you we think",
    "press the button there",
    "It was not you? Then do nothing",
    "get no more mails",
    "is good no longer",
    "we ask it no more",
    "One press, and you get",
    "look into your mailbox",
    "You get the newsletter from now on",
    "The pages of this service do not answer that",
    // English: the admin page, commands, flags
    "What waits to be told",
    "Whom each policy counts most",
    "Mails taken, pages shown",
    "Stores take changes",
    "Written anew",
    "a mail asks to confirm it first",
    "Address that is told of",
    // English: documents and errors
    "Who does not confirm within",
    "you have to find out",
    "stands what is known of",
    "1 member is not valid",
    "some members of it",
    "It has what this has not",
    "This has what it has not",
    "Others were not tried",
    "alone is mended",
    "By what it leaves",
    "Unlike in all rows",
    // German
    "Ein Druck auf den Knopf",
    "sehen Sie in Ihr Postfach",
    "wurde über ihn entfernt",
    "Dann tun Sie nichts",
    "alles, was diese Seiten können",
    // French
    "Une pression sur le bouton",
    "ne la solliciterons plus",
    "Souhaitez-vous ne plus recevoir",
    "description pour machines",
    // Before a vowel or an article: « d’Atelier », « du Café ».
    "newsletter de {{",
    // Spanish
    "Desea no recibir más",
    "abra esta página antes de",
    "Mire en su correo",
    "Se usó para eliminar la dirección",
];

/// French has no-break spaces there.
#[test]
fn no_line_of_a_french_text_begins_with_a_mark() {
    let mut found = Vec::new();
    let marks = [" ;", " :", " !", " ?", " »", "« "];
    for (path, text) in texts_in(&["data"]) {
        let name = path.to_string_lossy();
        if name.ends_with("locales/fr.txt") || name.ends_with(".fr.md") {
            for line in text.lines() {
                let is_comment = line.starts_with("<!--");
                if !is_comment && marks.iter().any(|mark| line.contains(mark)) {
                    found.push(format!("{name}: {line}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_text_has_a_phrase_that_nobody_would_write() {
    let mut found = Vec::new();
    for (path, text) in texts_in(&["README.md", ".github", "data", "src"]) {
        // A comment's or a macro's line breaks may divide a phrase.
        let words = text.split_whitespace();
        let words = words.filter(|word| !["//", "///", "//!", "#", "\\"].contains(word));
        let text = words.collect::<Vec<_>>().join(" ");
        for phrase in PHRASES.iter().filter(|phrase| text.contains(**phrase)) {
            found.push(format!("{}: {phrase}", path.display()));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
