//! Puts an answer together, and hands it out as it comes to whoever reads along.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ports::{Deltas, ReaderGone};

use super::answer::Completion;
use super::failure::{Failure, Kind};
use super::thoughts::ThoughtFilter;

/// The longest answer, in bytes.
const REPLY_BYTES_MAX: usize = 256 * 1024;

/// An answer in the making. What is handed out, piece after piece, is the answer.
pub(super) struct Collector<'a> {
    deltas: &'a dyn Deltas,
    /// Set once the model is known to end thoughts that it did not begin. What comes first may be
    /// thought then, so nothing is handed out before the end.
    thinks_first: &'a AtomicBool,
    filter: ThoughtFilter,
    text: String,
    /// How much of `text` has been handed out, in bytes.
    handed_out: usize,
    finish: Option<String>,
    has_thoughts: bool,
    /// A thought ended in this answer that had not begun in it.
    thought_first: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(deltas: &'a dyn Deltas, thinks_first: &'a AtomicBool) -> Self {
        Self {
            deltas,
            thinks_first,
            filter: ThoughtFilter::default(),
            text: String::new(),
            handed_out: 0,
            finish: None,
            has_thoughts: false,
            thought_first: false,
        }
    }

    /// Whether somebody has read a part of the answer.
    pub(super) fn was_read(&self) -> bool {
        self.handed_out > 0
    }

    /// The answer.
    pub(super) fn into_reply(self) -> String {
        self.text
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// [`Failure`] when the answer gets too long, turns out to have been thought, or is not read
    /// any more.
    pub(super) async fn take(&mut self, piece: &Completion) -> Result<(), Failure> {
        self.has_thoughts |= piece.has_thoughts;
        if piece.finish.is_some() {
            self.finish.clone_from(&piece.finish);
        }
        let spoken = self.filter.push(&piece.text);
        if spoken.was_thought_before {
            self.has_thoughts = true;
            self.thought_first = true;
            self.thinks_first.store(true, Ordering::Relaxed);
            if self.was_read() {
                return Err(Failure::unusable(
                    "the answer turned out to be thinking; from now on answers are held back to \
                     their end",
                ));
            }
            self.text.clear();
        }
        self.add(&spoken.text)?;
        if self.deltas.are_read() && !self.thinks_first.load(Ordering::Relaxed) {
            self.hand_out().await?;
        }
        Ok(())
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// [`Failure`] when there is no text in it.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        let rest = self.filter.finish();
        self.add(&rest)?;
        self.text.truncate(self.text.trim_end().len());
        if self.text.is_empty() {
            let finish = self.finish.as_deref();
            if finish == Some("content_filter") {
                let cause = "the answer was filtered out";
                return Err(Failure::new(Kind::Filtered, cause));
            }
            let thoughts = if self.has_thoughts {
                ", only thinking"
            } else {
                ""
            };
            let finish = match finish {
                Some(reason @ ("stop" | "length" | "tool_calls" | "function_call")) => reason,
                Some(_) => "of another kind",
                None => "none",
            };
            return Err(Failure::unusable(format!(
                "the answer is empty{thoughts}; finish reason: {finish}"
            )));
        }
        // An answer that said all it had to say and began no thought in the prompt: whoever made
        // an earlier one look otherwise has not switched streaming off for everybody.
        if self.finish.as_deref() == Some("stop") && !self.thought_first {
            self.thinks_first.store(false, Ordering::Relaxed);
        }
        self.hand_out().await.map_err(Failure::from)
    }

    fn add(&mut self, text: &str) -> Result<(), Failure> {
        if self.text.len() + text.len() > REPLY_BYTES_MAX {
            return Err(Failure::unusable("the answer is too long"));
        }
        // Blanks around an answer are no part of it.
        let text = if self.text.is_empty() {
            text.trim_start()
        } else {
            text
        };
        self.text.push_str(text);
        Ok(())
    }

    /// Hands out what is new, but for blanks that may be the last.
    async fn hand_out(&mut self) -> Result<(), ReaderGone> {
        let end = self.text.trim_end().len();
        if let Some(piece) = self.text.get(self.handed_out..end)
            && !piece.is_empty()
        {
            // Said before it is done: a piece that is on its way may be read.
            self.handed_out = end;
            self.deltas.push(piece).await?;
        }
        Ok(())
    }
}

impl From<ReaderGone> for Failure {
    fn from(gone: ReaderGone) -> Self {
        Self::new(Kind::ReaderGone, gone.to_string())
    }
}
