//! The sections of the service's pages, for the assistant to quote.

use super::language::Language;

/// A section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The section's heading.
    pub title: String,
    /// Its URL, with the anchor.
    pub url: String,
    /// Plain text in blocks, separated by an empty line. The lines of a code example, and no others,
    /// begin with [`Passage::CODE_INDENT`].
    pub text: String,
    /// Other words that visitors use for it: indexed, never quoted.
    pub hints: String,
    /// What it is written in; `None` if it is for readers of any language.
    pub language: Option<Language>,
}

impl Passage {
    /// The indent of each line of a code example.
    pub const CODE_INDENT: &str = "    ";
}

/// What the assistant says around a passage, in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Phrases {
    /// That the pages do not answer the question.
    pub unanswered: String,
    /// Asks what the visitor wants to know.
    pub question: String,
    /// Before some topics.
    pub topics: String,
    /// Before the URL of all topics.
    pub all: String,
    /// Before the URL of the passage.
    pub more: String,
    /// That there are no pages.
    pub no_pages: String,
    /// That the operator's model is away, and the pages answer.
    pub away: String,
}
