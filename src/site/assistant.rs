//! The assistant's material besides the passages: sample questions of visitors, word lists, and the texts around a
//! passage.
//!
//! A file `questions` of `data/assistant/` has the samples of a language, a line each, under the title of the
//! section that answers them, and under headings with `-` if none does. One that two sections answer is under
//! both. A file `words` has the stop words of a language, its question words, vague words, synonyms, and messages
//! that are no question. Among the synonyms ☎, ⌚, ⌂ and ⚑ are the marks of a telephone number, hours, an address and
//! a year.

use std::collections::BTreeMap;

use crate::domain::{AssistantTexts, Courtesy, Language, Passage, Settings};

use super::context::{absolute, is_legal};
use super::error::SiteError;
use super::templates::Templates;

/// `passage` with the examples that stand under its title, if it is the service's.
pub(super) fn with_examples(passage: Passage) -> Passage {
    if passage.is_own {
        return passage;
    }
    let language = passage.language.unwrap_or_default();
    let asked = examples(language).filter(|(title, _)| *title == passage.title);
    let examples = asked.map(|(_, example)| example).collect();
    Passage {
        examples,
        ..passage
    }
}

/// Headings that the chat of the home page offers.
const SUGGESTIONS: usize = 3;

/// The questions that the chat of the home page offers, by language and separated by bars: the operator's choice, or the
/// first heading of some of their pages.
pub(super) fn suggestions(
    settings: &Settings,
    passages: &[Passage],
) -> BTreeMap<&'static str, String> {
    let page = |passage: &Passage| {
        let mut parts = passage.url.split(['?', '#']);
        parts.next().unwrap_or_default().to_owned()
    };
    let of_language = |language: Language| {
        let is_read = |passage: &&Passage| {
            passage.is_own && passage.language.is_none_or(|own| own == language)
        };
        let mut first: Vec<_> = passages.iter().filter(is_read).collect();
        // A translation comes before the text that it translates.
        first.sort_by_key(|passage| (page(passage), passage.language.is_none()));
        first.dedup_by_key(|passage| page(passage));
        first.retain(|passage| !is_legal(settings, &page(passage)));
        let titles = first.iter().map(|passage| passage.title.as_str());
        let titles = titles.filter(|title| !title.contains('|'));
        let titles: Vec<_> = titles.take(SUGGESTIONS).collect();
        titles.join("|")
    };
    let chosen = settings.suggestions.join("|");
    let offered = |language: Language| match chosen.as_str() {
        "" => (language.tag(), of_language(language)),
        chosen => (language.tag(), chosen.to_owned()),
    };
    Language::ALL.into_iter().map(offered).collect()
}

/// The way to further answers: the operator's contact, or the page that leads to the others.
fn elsewhere(
    templates: &Templates,
    settings: &Settings,
    language: Language,
    has_own: bool,
) -> Result<String, SiteError> {
    let base_url = &settings.base_url;
    let tag = language.tag();
    let (key, link) = match settings.contact.as_deref() {
        Some(contact) => match contact.strip_prefix("mailto:") {
            Some(address) => ("assistant-contact", format!("[{address}]({contact})")),
            None => ("assistant-contact", absolute(base_url, contact)),
        },
        None if has_own => ("assistant-all", format!("{base_url}/?lang={tag}")),
        None => ("assistant-all", format!("{base_url}/help?lang={tag}")),
    };
    Ok(format!("{} {link}", templates.text(language, key)?))
}

/// The texts of every language, English first. What is asked about a section that `passages` lack is about
/// another subject.
///
/// # Errors
/// [`SiteError`] when a message is missing.
pub(super) fn texts(
    templates: &Templates,
    settings: &Settings,
    passages: &[Passage],
) -> Result<Vec<AssistantTexts>, SiteError> {
    let has_own = passages.iter().any(|passage| passage.is_own);
    let texts = Language::ALL.into_iter().map(|language| {
        let text = |key| templates.text(language, key);
        let courtesy = |part, key, is_closing| {
            Ok::<_, SiteError>(Courtesy {
                words: all_words(language, part),
                reply: text(key)?,
                is_closing,
            })
        };
        Ok(AssistantTexts {
            language,
            other_subjects: other_subjects(language, passages),
            stop_words: all_words(language, "stop words"),
            question_words: all_words(language, "question words"),
            vague_words: all_words(language, "vague words"),
            synonyms: synonyms(language),
            courtesies: vec![
                courtesy("thanks", "assistant-thanks", true)?,
                courtesy("praise", "assistant-praise", true)?,
                courtesy("greetings", "assistant-greeting", false)?,
                courtesy("assent", "assistant-assent", false)?,
            ],
            fillers: all_words(language, "fillers"),
            unanswered: text("assistant-unanswered")?,
            question: text("assistant-question")?,
            topics: text("assistant-topics")?,
            elsewhere: elsewhere(templates, settings, language, has_own)?,
            more: text("assistant-more")?,
            away: text("assistant-away")?,
        })
    });
    texts.collect()
}

/// The words of a language under a heading of its file.
fn all_words(language: Language, part: &str) -> Vec<&'static str> {
    let lines = words(language).filter(|(heading, _)| *heading == part);
    lines
        .flat_map(|(_, line)| line.split_whitespace())
        .collect()
}

/// The groups of synonyms of a language: a line each, with commas between the words and phrases.
fn synonyms(language: Language) -> Vec<Vec<&'static str>> {
    let lines = words(language).filter(|(heading, _)| *heading == "synonyms");
    lines
        .map(|(_, line)| line.split(',').map(str::trim).collect())
        .collect()
}

fn other_subjects(language: Language, passages: &[Passage]) -> Vec<Vec<&'static str>> {
    let is_answered = |title: &str| {
        passages.iter().any(|passage| {
            let is_for_them = passage.language.unwrap_or_default() == language;
            is_for_them && !passage.is_own && passage.title == title
        })
    };
    let others = examples(language).filter(|(title, _)| !is_answered(title));
    let mut subjects: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (title, example) in others {
        subjects.entry(title).or_default().push(example);
    }
    subjects.into_values().collect()
}

/// The text of a file of `data/assistant/` in a language.
macro_rules! text_in {
    ($language:expr, $file:literal) => {
        match $language {
            Language::English => include_str!(concat!("../../data/assistant/", $file, ".en.txt")),
            Language::German => include_str!(concat!("../../data/assistant/", $file, ".de.txt")),
            Language::French => include_str!(concat!("../../data/assistant/", $file, ".fr.txt")),
            Language::Spanish => include_str!(concat!("../../data/assistant/", $file, ".es.txt")),
        }
    };
}

/// The examples of a language, each with the title that it stands under.
fn examples(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    headed_lines(text_in!(language, "questions"))
}

/// The lines about the words of a language, each with the heading that it stands under.
fn words(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    headed_lines(text_in!(language, "words"))
}

/// The lines of a file that are not empty, each with the heading that it stands under.
fn headed_lines(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut heading = "";
    let lines = file.lines().filter(|line| !line.is_empty());
    lines.filter_map(move |line| match line.strip_prefix("# ") {
        Some(title) => {
            heading = title;
            None
        }
        None => Some((heading, line)),
    })
}
