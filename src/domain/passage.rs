//! The sections of the service's pages, for the assistant to quote.

use super::language::Language;

/// A section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The title of its page.
    pub page: String,
    /// The section's heading.
    pub title: String,
    /// Its URL, with the anchor.
    pub url: String,
    /// Plain text in blocks, separated by an empty line. The lines of a code example, and no others,
    /// begin with [`Passage::CODE_INDENT`].
    pub text: String,
    /// Other words for it, by whoever wrote the page: never quoted.
    pub hints: Vec<String>,
    /// What visitors say or ask who mean it: learned from, never quoted.
    pub examples: Vec<&'static str>,
    /// Whether it is the operator's own, of which there are few examples.
    pub is_own: bool,
    /// What it is written in; `None` if it is for readers of any language.
    pub language: Option<Language>,
}

impl Passage {
    /// The indent of each line of a code example.
    pub const CODE_INDENT: &str = "    ";

    /// What it is called: its title, its hints and its examples.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        let title = std::iter::once(self.title.as_str());
        let hints = self.hints.iter().map(String::as_str);
        title.chain(hints).chain(self.examples.iter().copied())
    }

    /// The texts that tell what it is about: its title, the paragraphs of its prose, its hints and its examples.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines();
        let lines = lines.filter(|line| !line.starts_with(Self::CODE_INDENT));
        let texts = self.topics().chain(lines);
        texts.filter(|text| !text.is_empty())
    }
}

/// What visitors say that is no question, such as thanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Courtesy {
    /// The words that say it.
    pub words: Vec<&'static str>,
    /// What is answered.
    pub reply: String,
    /// Whether it closes a conversation, whatever comes after it.
    pub is_closing: bool,
}

/// What the assistant needs beside the passages, in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantTexts {
    /// The language.
    pub language: Language,
    /// Questions that no passage answers, by subject, to learn from.
    pub other_subjects: Vec<Vec<&'static str>>,
    /// Words that say how a question is asked, not what it is about.
    pub stop_words: Vec<&'static str>,
    /// Those of them after which comes what is asked for.
    pub question_words: Vec<&'static str>,
    /// Words that may be on any subject: of no weight in a question unless a page has them.
    pub vague_words: Vec<&'static str>,
    /// Groups of words and phrases that visitors use for the same thing.
    pub synonyms: Vec<Vec<&'static str>>,
    /// What is said without a question, the most telling first.
    pub courtesies: Vec<Courtesy>,
    /// Words beside those of courtesies.
    pub fillers: Vec<&'static str>,
    /// That the pages do not answer the question.
    pub unanswered: String,
    /// Asks what the visitor wants to know.
    pub question: String,
    /// Before some topics.
    pub topics: String,
    /// Where else there are answers: the URL of all topics, or of a person.
    pub elsewhere: String,
    /// Before the URL of the passage.
    pub more: String,
    /// That the operator's model is away, and the pages answer.
    pub away: String,
}
