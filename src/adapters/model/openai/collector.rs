//! Assembles the answer and pushes it to the sink as it arrives.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::ports::AnswerSink;

use super::completion::Completion;
use super::failure::{TurnFailure, is_identifier};
use super::think_tags::ThinkTags;

/// Longest answer, in bytes.
const REPLY_BYTES_MAX: usize = 256 * 1024;
/// Time after the model's deadline for a slow reader to receive the answer.
pub const SLOW_READER_GRACE: Duration = Duration::from_secs(5);

/// An unfinished answer. The pushed pieces, concatenated, are the answer.
pub(super) struct Collector<'a> {
    pub(super) sink: &'a dyn AnswerSink,
    /// Deadline of the model.
    pub(super) deadline: Instant,
    tags: ThinkTags,
    text: String,
    /// Pushed part of `text`, in bytes.
    pushed: usize,
    finish_reason: Option<String>,
    has_reasoning: bool,
}

impl<'a> Collector<'a> {
    pub(super) fn new(sink: &'a dyn AnswerSink, thinks_first: bool, deadline: Instant) -> Self {
        Self {
            sink,
            deadline,
            tags: ThinkTags::new(thinks_first),
            text: String::new(),
            pushed: 0,
            finish_reason: None,
            has_reasoning: false,
        }
    }

    /// True if a part of the answer may have been read.
    pub(super) const fn was_read(&self) -> bool {
        self.pushed > 0
    }

    pub(super) fn into_reply(self) -> String {
        self.text
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// [`TurnFailure`] when the answer gets too long or the reader has disconnected.
    pub(super) async fn add(&mut self, piece: &Completion) -> Result<(), TurnFailure> {
        self.has_reasoning |= piece.has_reasoning;
        if piece.finish_reason.is_some() {
            self.finish_reason.clone_from(&piece.finish_reason);
        }
        let text = self.tags.push(&piece.text);
        self.append(&text)?;
        if self.sink.is_streamed() {
            self.push().await?;
        }
        Ok(())
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// [`TurnFailure`] when nothing is left of it, or the reader has disconnected.
    pub(super) async fn finish(&mut self) -> Result<(), TurnFailure> {
        let rest = self.tags.finish();
        self.append(&rest)?;
        self.text.truncate(self.text.trim_end().len());
        if self.text.is_empty() {
            return Err(self.empty());
        }
        self.push().await
    }

    fn append(&mut self, text: &str) -> Result<(), TurnFailure> {
        // White space around the answer is dropped.
        let text = if self.text.is_empty() {
            text.trim_start()
        } else {
            text
        };
        if self.text.len() + text.len() > REPLY_BYTES_MAX {
            return Err(TurnFailure::unusable("the answer is too long"));
        }
        self.text.push_str(text);
        Ok(())
    }

    /// Pushes new text except trailing white space, which may be the end.
    async fn push(&mut self) -> Result<(), TurnFailure> {
        let end = self.text.trim_end().len();
        if let Some(piece) = self.text.get(self.pushed..end)
            && !piece.is_empty()
        {
            // Before the await: a cancelled push may have been read.
            self.pushed = end;
            timeout_at(self.deadline + SLOW_READER_GRACE, self.sink.push(piece))
                .await
                .map_err(|_elapsed| {
                    TurnFailure::started("the reader did not receive the answer in time")
                })??;
        }
        Ok(())
    }

    fn empty(&self) -> TurnFailure {
        let reason = self.finish_reason.as_deref().unwrap_or("none");
        if reason == "content_filter" {
            return TurnFailure::started("the answer was filtered out");
        }
        let reason = if is_identifier(reason) {
            reason
        } else {
            "other"
        };
        let thinking = if self.has_reasoning || self.tags.has_thinking() {
            ", only thinking"
        } else {
            ""
        };
        TurnFailure::unusable(format!(
            "the answer is empty{thinking}; finish reason: {reason}"
        ))
    }
}
