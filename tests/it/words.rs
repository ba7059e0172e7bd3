//! Sentences that were found in texts, with words in their place that people use, may not come back.

use std::fs;
use std::path::Path;

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
    // Spanish
    "Desea no recibir más",
    "abra esta página antes de",
    "Mire en su correo",
    "Se usó para eliminar la dirección",
];

/// Files without words of this project's.
const FOREIGN: [&str; 3] = ["png", "ico", "woff2"];

#[test]
fn no_text_has_a_phrase_that_nobody_would_write() {
    let mut found = Vec::new();
    for path in ["README.md", ".github", "data", "src"] {
        search(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(path),
            &mut found,
        );
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn search(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            search(&entry.unwrap().path(), found);
        }
        return;
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|extension| FOREIGN.contains(&extension)) {
        return;
    }
    // A comment's or a macro's line breaks may divide a phrase.
    let text = fs::read_to_string(path).unwrap();
    let words = text.split_whitespace();
    let words = words.filter(|word| !["//", "///", "//!", "#", "\\"].contains(word));
    let text = words.collect::<Vec<_>>().join(" ");
    for phrase in PHRASES.iter().filter(|phrase| text.contains(**phrase)) {
        found.push(format!("{}: {phrase}", path.display()));
    }
}
