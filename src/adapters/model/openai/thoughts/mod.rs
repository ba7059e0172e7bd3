//! Cuts a model's thinking out of its text. Some models think aloud in the answer itself, between
//! marks, and a stream splits the marks anywhere.
//!
//! An answer may also speak of such marks, and should not be cut for that. But a thought that is
//! shown is worse than an answer that is cut, so whatever could be a thought is taken for one:
//!
//! - At the start of the answer or of a line, an opening mark begins a thought. It ends with the
//!   closing mark that belongs to it, or with the answer.
//! - Further right in a line it does so, too: nobody can tell a thought that was not ended from prose
//!   about marks, so such prose is cut unless its marks stand in code. What differs is which closing
//!   mark ends it: at the start of a line, or after a control token, only its own; otherwise any
//!   may, unless the model is trusted.
//! - In code (between runs of backticks in one line, or between fences of backticks) an opening
//!   mark is text, and so is what follows, if the code ends as it should: until then it is held
//!   back. Otherwise the backticks mean nothing.
//! - A closing mark where no thought has begun ends one that the server began in its own prompt:
//!   all text before it was thought. Only one that stands alone between backticks is text, in a
//!   thought as well.
//! - Until the model is known not to think first, nothing before a closing mark is said, whatever
//!   that mark belongs to: all of it may be one thought that speaks of marks.

use super::marks::{BARE, Marks, Place, Token, next_token};

/// Passes on what is not thought.
#[derive(Debug)]
pub(super) struct ThoughtFilter {
    /// What cannot be read yet: it may be the beginning of a mark, or of a run of backticks.
    unread: String,
    /// Nothing but blanks stands before, in this line.
    is_line_start: bool,
    code: Code,
    thought: Option<Thought>,
    quote: Option<Quote>,
    /// Something was said that may have to be taken back.
    has_spoken: bool,
    has_ended_thought: bool,
}

/// Whether the text is code, as Markdown has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Outside,
    /// After a run of so many backticks in this line.
    Span {
        ticks: usize,
        /// With three or more of them there, a fence begins if none ends the span in this line.
        is_line_start: bool,
        is_empty: bool,
    },
    /// After a fence of so many.
    Fence(usize),
    /// Backticks mean nothing in the rest of this line.
    NotInLine,
    /// Nor in the rest of the text.
    Nowhere,
}

/// A thought that has not ended.
#[derive(Debug)]
struct Thought {
    closing: &'static str,
    /// It begins as thoughts do; otherwise it may be prose that speaks of a mark.
    is_certain: bool,
}

/// What is text, from a mark in code on, if the code ends as it should.
#[derive(Debug)]
struct Quote {
    text: String,
    is_line_start: bool,
    /// It is a closing mark, and nothing else may come.
    is_closing: bool,
}

/// Text without thoughts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) text: String,
    pub(super) before: Before,
}

/// What is known now of all text that was given out before this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Before {
    /// It was said.
    #[default]
    Said,
    /// It may have been thought.
    Doubtful,
    /// A thought ended that had not begun: it was thought.
    Thought,
}

impl Default for ThoughtFilter {
    fn default() -> Self {
        Self {
            unread: String::new(),
            is_line_start: true,
            code: Code::Outside,
            thought: None,
            quote: None,
            has_spoken: false,
            has_ended_thought: false,
        }
    }
}

impl ThoughtFilter {
    /// Takes the next piece and gives what is spoken of it. `is_trusted` says that the model is
    /// known not to think first.
    pub(super) fn push(&mut self, piece: &str, is_trusted: bool) -> Spoken {
        let mut text = std::mem::take(&mut self.unread);
        text.push_str(piece);
        let mut spoken = Spoken::default();
        let end = self.read(&text, false, is_trusted, &mut spoken);
        self.unread = text.split_off(end);
        spoken
    }

    /// What is left when no more comes.
    pub(super) fn finish(&mut self, is_trusted: bool) -> Spoken {
        let rest = std::mem::take(&mut self.unread);
        let mut spoken = Spoken::default();
        self.read(&rest, true, is_trusted, &mut spoken);
        self.code = Code::Nowhere;
        self.read_again(is_trusted, &mut spoken);
        spoken
    }

    /// How much text is held back, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        let quoted = self.quote.as_ref().map_or(0, |quote| quote.text.len());
        self.unread.len() + quoted
    }

    /// Whether a thought has ended, so that what came after it is none.
    pub(super) const fn has_ended_thought(&self) -> bool {
        self.has_ended_thought
    }

    /// Whether a thought has begun and not ended.
    pub(super) const fn is_thinking(&self) -> bool {
        self.thought.is_some()
    }

    /// Reads as much of `text` as can be told, all of it if no more comes. Gives how much, in bytes.
    fn read(&mut self, text: &str, is_end: bool, is_trusted: bool, spoken: &mut Spoken) -> usize {
        let mut rest = text;
        while let Some((token, len)) = next_token(rest, is_end, self.place()) {
            let (text, after) = rest.split_at(len);
            let is_out_of_place = self.quote.as_ref().is_some_and(|quote| quote.is_closing)
                && !(token == Token::Ticks && self.ends_code(len));
            if is_out_of_place {
                self.code = Code::NotInLine;
                self.read_again(is_trusted, spoken);
            }
            match token {
                Token::Text => self.text(text, spoken),
                Token::NewLine => self.new_line(text, is_trusted, spoken),
                Token::Ticks => self.ticks(text, spoken),
                Token::Opening(marks) => self.opening(text, marks, spoken),
                Token::Closing(closing) => self.closing(text, closing, is_trusted, spoken),
            }
            rest = after;
        }
        text.len() - rest.len()
    }

    fn place(&self) -> Place {
        match &self.thought {
            Some(thought) if thought.closing == BARE.closing => Place::InBare,
            Some(_) => Place::Elsewhere,
            None if self.has_spoken || self.has_ended_thought || self.code != Code::Outside => {
                Place::Elsewhere
            }
            None => Place::Start,
        }
    }

    /// The code did not end as it should: what was held back is read for what it is.
    fn read_again(&mut self, is_trusted: bool, spoken: &mut Spoken) {
        if let Some(quote) = self.quote.take() {
            self.is_line_start = quote.is_line_start;
            self.read(&quote.text, true, is_trusted, spoken);
        }
    }

    fn text(&mut self, text: &str, spoken: &mut Spoken) {
        self.is_line_start &= text.trim().is_empty();
        self.say(text, spoken);
    }

    fn new_line(&mut self, text: &str, is_trusted: bool, spoken: &mut Spoken) {
        self.code = match self.code {
            Code::Span {
                ticks,
                is_line_start: true,
                ..
            } if ticks >= 3 => Code::Fence(ticks),
            Code::Span { .. } => {
                self.code = Code::NotInLine;
                self.read_again(is_trusted, spoken);
                Code::Outside
            }
            Code::NotInLine => Code::Outside,
            same @ (Code::Outside | Code::Fence(_) | Code::Nowhere) => same,
        };
        self.say(text, spoken);
        self.is_line_start = true;
    }

    fn ticks(&mut self, text: &str, spoken: &mut Spoken) {
        let is_line_start = self.is_line_start;
        if self.ends_code(text.len()) {
            self.code = Code::Outside;
            self.say(text, spoken);
            if let Some(quote) = self.quote.take() {
                self.say(&quote.text, spoken);
            }
        } else {
            self.say(text, spoken);
            if self.code == Code::Outside {
                self.code = Code::Span {
                    ticks: text.len(),
                    is_line_start,
                    is_empty: true,
                };
            }
        }
        self.is_line_start = false;
    }

    /// Whether a run of so many backticks ends the code.
    fn ends_code(&self, len: usize) -> bool {
        match self.code {
            Code::Span { ticks, .. } => len == ticks,
            Code::Fence(ticks) => self.is_line_start && len >= ticks,
            Code::Outside | Code::NotInLine | Code::Nowhere => false,
        }
    }

    fn opening(&mut self, text: &str, marks: &Marks, spoken: &mut Spoken) {
        let is_line_start = std::mem::take(&mut self.is_line_start);
        let is_in_code = matches!(self.code, Code::Span { .. } | Code::Fence(_));
        if self.quote.is_some() {
            self.say(text, spoken);
        } else if is_in_code {
            self.quote = Some(Quote {
                text: text.to_owned(),
                is_line_start,
                is_closing: false,
            });
        } else {
            let thought = self.thought.get_or_insert(Thought {
                closing: marks.closing,
                is_certain: false,
            });
            thought.is_certain |= is_line_start || marks.is_control;
            self.say(text, spoken);
        }
    }

    fn closing(&mut self, text: &str, closing: &str, is_trusted: bool, spoken: &mut Spoken) {
        let is_line_start = std::mem::take(&mut self.is_line_start);
        if self.quote.is_some() {
            return self.say(text, spoken);
        }
        if matches!(self.code, Code::Span { is_empty: true, .. }) {
            self.quote = Some(Quote {
                text: text.to_owned(),
                is_line_start,
                is_closing: true,
            });
            return;
        }
        let before = match &self.thought {
            None => Before::Thought,
            Some(_) if self.has_spoken && !is_trusted => Before::Doubtful,
            Some(_) => Before::Said,
        };
        if before != Before::Said {
            spoken.text.clear();
            spoken.before = spoken.before.max(before);
            self.has_spoken = false;
        }
        // Another's mark ends no thought, but what only may be one.
        let goes_on = self.thought.as_ref().is_some_and(|thought| {
            thought.closing != closing && (thought.is_certain || is_trusted)
        });
        if goes_on {
            return self.say(text, spoken);
        }
        self.thought = None;
        self.has_ended_thought = true;
        // What follows begins afresh.
        if self.code != Code::Nowhere {
            self.code = Code::Outside;
        }
        self.is_line_start = true;
    }

    /// Passes `text` on, or keeps it for where it may belong.
    fn say(&mut self, text: &str, spoken: &mut Spoken) {
        if let Code::Span { is_empty, .. } = &mut self.code {
            *is_empty = false;
        }
        if let Some(quote) = &mut self.quote {
            quote.text.push_str(text);
        } else if self.thought.is_none() {
            self.has_spoken |= !text.trim().is_empty();
            spoken.text.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests;
