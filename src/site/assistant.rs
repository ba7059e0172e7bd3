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

use super::catalog::HELP;
use super::facts::{absolute, escape_markdown, is_legal};
use super::page::Page;
use super::site_file::SiteError;
use super::templates::Templates;

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

/// `passage` with the examples that stand under its title, if it is the service's.
pub(super) fn with_examples(mut passage: Passage) -> Passage {
    if !passage.is_own {
        let mut examples = examples(passage.language.unwrap_or_default());
        passage.examples = examples.remove(passage.title.as_str()).unwrap_or_default();
    }
    passage
}

/// Headings that the chat of the home page offers.
const SUGGESTIONS: usize = 3;

/// The questions that the chat of the home page offers, by language and separated by bars: the operator's choice, or
/// headings of their `pages`, first those about what most visitors ask.
pub(super) fn suggestions(settings: &Settings, pages: &[Page]) -> BTreeMap<&'static str, String> {
    let url = |page: &Page| absolute(&settings.base_url, &page.path);
    let tells = |page: &&Page| page.is_own && !is_legal(settings, &url(page));
    let mut told: Vec<_> = pages.iter().filter(tells).collect();
    told.sort_by_key(|page| &page.path);
    let offered = |language: Language| {
        if !settings.suggestions.is_empty() {
            return (language.tag(), settings.suggestions.join("|"));
        }
        let lists = headed_lines(text_in!(language, "words"));
        let subjects = lists.get("common subjects").into_iter().flatten();
        let subjects: Vec<_> = subjects.collect();
        let mut titles = BTreeMap::new();
        for (page, number) in told.iter().zip(subjects.len()..) {
            for title in page.headings(language).filter(|title| !title.contains('|')) {
                let subject = subjects.iter().position(|subject| names(title, subject));
                titles.entry(subject.unwrap_or(number)).or_insert(title);
            }
        }
        let titles: Vec<_> = titles.into_values().take(SUGGESTIONS).collect();
        (language.tag(), titles.join("|"))
    };
    Language::ALL.into_iter().map(offered).collect()
}

/// True if a word of `heading` begins with one of the `phrases`, which are separated by commas.
fn names(heading: &str, phrases: &str) -> bool {
    let heading = format!(" {}", heading.to_lowercase());
    let mut phrases = phrases.split(',').map(str::trim);
    phrases.any(|phrase| heading.contains(&format!(" {phrase}")))
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
        Some(contact) => {
            let address = contact.strip_prefix("mailto:");
            let link = |address| format!("[{address}]({contact})");
            let link = address.map_or_else(|| absolute(base_url, contact), link);
            ("assistant-contact", link)
        }
        None => {
            let page = if has_own { "/" } else { HELP };
            let name = escape_markdown(&settings.service_name);
            let link = format!("[{name}]({base_url}{page}?lang={tag})");
            ("assistant-all", link)
        }
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
        let lists = headed_lines(text_in!(language, "words"));
        let lines = |heading| lists.get(heading).into_iter().flatten();
        let words = |heading| {
            let words = lines(heading).flat_map(|line| line.split_whitespace());
            words.collect::<Vec<_>>()
        };
        let courtesy = |heading, key, is_closing| {
            Ok::<_, SiteError>(Courtesy {
                words: words(heading),
                reply: text(key)?,
                is_closing,
            })
        };
        let phrases = lines("synonyms").map(|line| line.split(',').map(str::trim).collect());
        Ok(AssistantTexts {
            language,
            other_subjects: other_subjects(language, passages),
            stop_words: words("stop words"),
            question_words: words("question words"),
            vague_words: words("vague words"),
            synonyms: phrases.collect(),
            common_subjects: lines("common subjects").copied().collect(),
            legal_subjects: lines("legal subjects").copied().collect(),
            follow_up_words: words("follow-up words"),
            courtesies: vec![
                courtesy("thanks", "assistant-thanks", true)?,
                courtesy("praise", "assistant-praise", true)?,
                courtesy("greetings", "assistant-greeting", false)?,
                courtesy("assent", "assistant-assent", false)?,
            ],
            fillers: words("fillers"),
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

/// The examples under headings that no passage of the service has.
fn other_subjects(language: Language, passages: &[Passage]) -> Vec<Vec<&'static str>> {
    let mut subjects = examples(language);
    for passage in passages {
        if !passage.is_own && passage.language.unwrap_or_default() == language {
            subjects.remove(passage.title.as_str());
        }
    }
    subjects.into_values().collect()
}

/// The lines of a file of `data/assistant/`, by the headings that they stand under.
type Lines = BTreeMap<&'static str, Vec<&'static str>>;

/// The examples of a language, by the titles that they stand under.
fn examples(language: Language) -> Lines {
    headed_lines(text_in!(language, "questions"))
}

fn headed_lines(file: &'static str) -> Lines {
    let mut lines = Lines::new();
    let mut heading = "";
    for line in file.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(title) => heading = title,
            None => lines.entry(heading).or_default().push(line),
        }
    }
    lines
}
