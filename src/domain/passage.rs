//! Pieces of the service's pages that the assistant quotes.

/// One self-contained section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The section's heading.
    pub title: String,
    /// Where to read it, with its anchor.
    pub url: String,
    /// What it says: plain text in blocks with an empty line between them. The lines of a code
    /// example, and no others, begin with [`Passage::CODE_INDENT`].
    pub text: String,
    /// Other words people ask for it with; to find it by, never to quote.
    pub hints: String,
}

impl Passage {
    /// Begins each line of a code example.
    pub const CODE_INDENT: &str = "    ";
}
