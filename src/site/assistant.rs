//! The assistant's material besides the passages: sample questions of visitors, word lists, and the texts around a
//! passage.
//!
//! A file `questions` of `data/assistant/` has the samples of a language, a line each, under the title of the
//! section that answers them, and under headings with `-` if none does. One that two sections answer is under
//! both. A file `words` has the stop words of a language, its question words, vague words, synonyms, and messages
//! that are no question. Among the synonyms ☎, ⌚, ⌂ and ⚑ are the marks of a telephone number, hours, an address and
//! a year.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{AssistantTexts, Courtesy, Language, Passage, Settings};

use super::catalog::HELP;
use super::data::text_in;
use super::facts::{absolute, escape_markdown, is_legal};
use super::page::Page;
use super::site_file::SiteError;
use super::templates::Templates;

/// `passage` with the examples that stand under its title, if it is the service's.
pub(super) fn with_examples(mut passage: Passage) -> Passage {
    if !passage.is_own {
        let mut examples = headed_lines(passage.language.unwrap_or_default(), QUESTIONS);
        passage.examples = examples.remove(passage.title.as_str()).unwrap_or_default();
    }
    passage
}

/// Headings that the chat of the home page offers.
const SUGGESTIONS: usize = 3;

/// The questions that the chat offers, by language and separated by bars: the operator's choice, or headings of their
/// `pages`, first those about what most visitors ask. Where the operator has none, the service speaks for itself.
///
/// # Errors
/// [`SiteError`] when a message is missing.
pub(super) fn suggestions(
    templates: &Templates,
    settings: &Settings,
    pages: &[Page],
    has_own_pages: bool,
) -> Result<BTreeMap<&'static str, String>, SiteError> {
    let url = |page: &Page| absolute(&settings.base_url, &page.path);
    let tells = |page: &&Page| page.is_own && !is_legal(settings, &url(page));
    let offered = |language: Language| {
        if !settings.suggestions.is_empty() {
            return Ok((language.as_str(), settings.suggestions.join("|")));
        }
        if !has_own_pages {
            return Ok((
                language.as_str(),
                templates.text(language, "home-suggestions")?,
            ));
        }
        let lists = headed_lines(language, WORDS);
        let subjects = lists.get("common subjects").into_iter().flatten();
        let subjects: Vec<_> = subjects.collect();
        let mut titles = BTreeMap::new();
        for (page, number) in pages.iter().filter(tells).zip(subjects.len()..) {
            for title in page.headings(language).filter(|title| !title.contains('|')) {
                let subject = subjects.iter().position(|subject| names(title, subject));
                titles.entry(subject.unwrap_or(number)).or_insert(title);
            }
        }
        let titles: Vec<_> = titles.into_values().take(SUGGESTIONS).collect();
        Ok((language.as_str(), titles.join("|")))
    };
    Language::ALL.into_iter().map(offered).collect()
}

/// True if a word of `heading` begins with one of the `phrases`, which are separated by commas.
fn names(heading: &str, phrases: &str) -> bool {
    let heading = format!(" {}", heading.to_lowercase());
    let mut phrases = phrases.split(',').map(str::trim);
    phrases.any(|phrase| heading.contains(&format!(" {phrase}")))
}

/// The language that at least twice as many stop words of `text` belong to as to any other, else the default.
/// Addresses are no words.
pub(super) fn language_of(text: &str) -> Language {
    let text = text.to_lowercase();
    let trimmed = |word| str::trim_matches(word, |c: char| !c.is_alphanumeric());
    let words = text.split_whitespace().map(trimmed);
    let words = words.filter(|word| !word.contains(['@', '/', ':', '.']));
    let words: Vec<_> = words
        .flat_map(|word| word.split(|c: char| !c.is_alphabetic()))
        .collect();
    let mut counts = Language::ALL.map(|language| {
        let lists = headed_lines(language, WORDS);
        let lines = lists.get("stop words").into_iter().flatten();
        let known: BTreeSet<_> = lines.flat_map(|line| line.split_whitespace()).collect();
        (
            words.iter().filter(|word| known.contains(*word)).count(),
            language,
        )
    });
    counts.sort_by_key(|(count, _)| Reverse(*count));
    let [(most, language), (second, _), ..] = counts;
    match most >= 2 * second.max(1) {
        true => language,
        false => Language::default(),
    }
}

/// The way to further answers: the operator's contact, or the page that leads to the others.
fn elsewhere(
    templates: &Templates,
    settings: &Settings,
    language: Language,
    has_own: bool,
) -> Result<String, SiteError> {
    let (base_url, tag) = (&settings.base_url, language.as_str());
    let text = |key| templates.text(language, key);
    let Some(contact) = settings.contact.as_deref() else {
        let page = if has_own { "/" } else { HELP };
        let name = escape_markdown(&settings.service_name);
        let all = text("assistant-all")?;
        return Ok(format!("{all} [{name}]({base_url}{page}?lang={tag})"));
    };
    Ok(match contact.strip_prefix("mailto:") {
        Some(address) => format!("{} [{address}]({contact})", text("assistant-contact")?),
        None => {
            let contact = absolute(base_url, contact);
            format!("[{}]({contact})", text("assistant-contact-page")?)
        }
    })
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
        let lists = headed_lines(language, WORDS);
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
    let mut subjects = headed_lines(language, QUESTIONS);
    for passage in passages {
        if !passage.is_own && passage.language.unwrap_or_default() == language {
            subjects.remove(passage.title.as_str());
        }
    }
    subjects.into_values().collect()
}

/// The lines of a file of `data/assistant/`, by the headings that they stand under.
type Lines = BTreeMap<&'static str, Vec<&'static str>>;

const WORDS: &str = "assistant/words.";
const QUESTIONS: &str = "assistant/questions.";

fn headed_lines(language: Language, kind: &str) -> Lines {
    let mut lines = Lines::new();
    let mut heading = "";
    for line in text_in(language, kind)
        .lines()
        .filter(|line| !line.is_empty())
    {
        match line.strip_prefix("# ") {
            Some(title) => heading = title,
            None => lines.entry(heading).or_default().push(line),
        }
    }
    lines
}
