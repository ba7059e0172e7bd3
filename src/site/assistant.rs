//! What the assistant gets beside the passages: examples of what visitors ask, stop words, and what it says
//! around a passage.
//!
//! A file `questions` of `data/assistant/` has the examples of a language, a line each, under the title of the
//! section that answers them, and under `-` if none does. One that two sections answer stands under both.

use crate::domain::{AssistantTexts, Language, Passage};

use super::error::SiteError;
use super::templates::Templates;

/// `passage` with the examples that stand under its title, if it is the service's.
pub(super) fn with_examples(passage: Passage) -> Passage {
    if passage.is_own {
        return passage;
    }
    let language = passage.language.unwrap_or_default();
    let asked = examples(language).filter(|(title, _)| *title == passage.title);
    let asked: Vec<_> = asked.map(|(_, example)| example.to_owned()).collect();
    Passage {
        examples: [passage.examples, asked].concat(),
        ..passage
    }
}

/// The texts of every language, English first. What is asked about a section that `passages` lack is about
/// another subject.
///
/// # Errors
/// [`SiteError`] when a message is missing.
pub(super) fn texts(
    templates: &Templates,
    passages: &[Passage],
) -> Result<Vec<AssistantTexts>, SiteError> {
    let texts = Language::ALL.into_iter().map(|language| {
        let text = |key| templates.text(language, key);
        Ok(AssistantTexts {
            language,
            other_subjects: other_subjects(language, passages),
            stop_words: stop_words(language),
            unanswered: text("assistant-unanswered")?,
            question: text("assistant-question")?,
            topics: text("assistant-topics")?,
            all: text("assistant-all")?,
            more: text("assistant-more")?,
            no_pages: text("assistant-no-pages")?,
            away: text("assistant-away")?,
        })
    });
    texts.collect()
}

fn stop_words(language: Language) -> Vec<String> {
    let file = match language {
        Language::English => include_str!("../../data/assistant/stop_words.en.txt"),
        Language::German => include_str!("../../data/assistant/stop_words.de.txt"),
        Language::French => include_str!("../../data/assistant/stop_words.fr.txt"),
        Language::Spanish => include_str!("../../data/assistant/stop_words.es.txt"),
    };
    file.split_whitespace().map(str::to_owned).collect()
}

fn other_subjects(language: Language, passages: &[Passage]) -> Vec<String> {
    let is_answered = |title: &str| {
        let is_it = |it: &Passage| {
            let is_for_them = it.language.unwrap_or_default() == language;
            is_for_them && !it.is_own && it.title == title
        };
        passages.iter().any(is_it)
    };
    let others = examples(language).filter(|(title, _)| !is_answered(title));
    others.map(|(_, example)| example.to_owned()).collect()
}

/// The examples of a language, each with the title that it stands under.
fn examples(language: Language) -> impl Iterator<Item = (&'static str, &'static str)> {
    let file = match language {
        Language::English => include_str!("../../data/assistant/questions.en.txt"),
        Language::German => include_str!("../../data/assistant/questions.de.txt"),
        Language::French => include_str!("../../data/assistant/questions.fr.txt"),
        Language::Spanish => include_str!("../../data/assistant/questions.es.txt"),
    };
    let mut title = "";
    let lines = file.lines().filter(|line| !line.is_empty());
    lines.filter_map(move |line| match line.strip_prefix("# ") {
        Some(heading) => {
            title = heading;
            None
        }
        None => Some((title, line)),
    })
}
