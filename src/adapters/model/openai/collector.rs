//! Puts an answer together, and hands it out as it comes to whoever reads along.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::ports::{AnswerSink, SinkClosed};

use super::answer::Completion;
use super::failure::{Failure, Kind};
use super::habit::Habit;
use super::thoughts::{Before, Spoken, ThoughtFilter};

/// The longest answer, in bytes.
const REPLY_BYTES_MAX: usize = 256 * 1024;
/// How long beyond the model's deadline a slow reader may hold its place.
pub const HAND_OUT_GRACE: Duration = Duration::from_secs(5);

/// An answer in the making. What is handed out, piece after piece, is the answer.
///
/// Nothing is handed out before the end unless the model is known not to think first: what comes
/// before could turn out to be thought.
pub(super) struct Collector<'a> {
    sink: &'a dyn AnswerSink,
    habit: &'a Habit,
    /// Until then the reader may take what is handed out.
    hand_out_deadline: Instant,
    filter: ThoughtFilter,
    text: String,
    /// How much of `text` has been handed out, in bytes.
    handed_out: usize,
    finish: Option<String>,
    /// There were thoughts in a member of their own.
    has_thoughts_apart: bool,
    /// What this answer says of how the model thinks.
    before: Before,
}

impl<'a> Collector<'a> {
    /// An answer of a model that has until `deadline`.
    pub(super) fn new(sink: &'a dyn AnswerSink, habit: &'a Habit, deadline: Instant) -> Self {
        Self {
            sink,
            habit,
            hand_out_deadline: deadline + HAND_OUT_GRACE,
            filter: ThoughtFilter::default(),
            text: String::new(),
            handed_out: 0,
            finish: None,
            has_thoughts_apart: false,
            before: Before::Said,
        }
    }

    /// Whether somebody has read a part of the answer.
    pub(super) const fn was_read(&self) -> bool {
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
        self.has_thoughts_apart |= piece.has_thoughts;
        if piece.finish.is_some() {
            self.finish.clone_from(&piece.finish);
        }
        let spoken = self.filter.push(&piece.text, self.is_trusted());
        self.add(spoken)?;
        if self.sink.is_streamed() && self.habit.speaks() {
            self.hand_out().await?;
        }
        Ok(())
    }

    /// Ends the answer.
    ///
    /// # Errors
    /// [`Failure`] when there is no text in it, or none that is known not to be thought.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        let spoken = self.filter.finish(self.is_trusted());
        self.add(spoken)?;
        self.text.truncate(self.text.trim_end().len());
        if self.text.is_empty() {
            return Err(self.emptiness());
        }
        let may_be_thought = self.may_be_thought();
        if self.before == Before::Said {
            self.habit.spoke(!self.was_cut());
        }
        if may_be_thought {
            return Err(Failure::unusable(format!(
                "the answer was cut short, and may be nothing but thinking; finish reason: {}",
                self.finish_reason()
            )));
        }
        self.hand_out().await
    }

    /// Whether nothing is thought but what the filter cuts out. What somebody has read cannot be
    /// taken back for a doubt.
    fn is_trusted(&self) -> bool {
        self.was_read() || self.habit.speaks()
    }

    /// Whether this may be the beginning of a thought whose end is missing.
    fn may_be_thought(&self) -> bool {
        let is_told_apart = self.has_thoughts_apart || self.filter.has_ended_thought();
        self.was_cut() && !is_told_apart && !self.habit.speaks()
    }

    /// Whether the model had more to say. Reasons that nobody knows are taken for its own: servers
    /// have many names for the end of an answer, and some have none.
    fn was_cut(&self) -> bool {
        const CUT: [&str; 8] = [
            "length",
            "model_length",
            "max_tokens",
            "max_output_tokens",
            "content_filter",
            "error",
            "abort",
            "insufficient_system_resource",
        ];
        let is_finish = |cut: &&str| {
            let finish = self.finish.as_deref();
            finish.is_some_and(|finish| finish.eq_ignore_ascii_case(cut))
        };
        CUT.iter().any(is_finish)
    }

    fn emptiness(&self) -> Failure {
        if self.finish.as_deref() == Some("content_filter") {
            return Failure::new(Kind::Filtered, "the answer was filtered out");
        }
        let has_thoughts =
            self.has_thoughts_apart || self.filter.has_ended_thought() || self.filter.is_thinking();
        let thoughts = if has_thoughts { ", only thinking" } else { "" };
        let finish = self.finish_reason();
        Failure::unusable(format!(
            "the answer is empty{thoughts}; finish reason: {finish}"
        ))
    }

    /// For the log: the reasons that are known.
    fn finish_reason(&self) -> &str {
        match self.finish.as_deref() {
            Some(
                reason @ ("stop" | "length" | "content_filter" | "tool_calls" | "function_call"),
            ) => reason,
            Some(_) => "of another kind",
            None => "none",
        }
    }

    fn add(&mut self, spoken: Spoken) -> Result<(), Failure> {
        match spoken.before {
            Before::Said => {}
            Before::Doubtful => self.text.clear(),
            Before::Thought => {
                self.habit.thought_first();
                if self.was_read() {
                    return Err(Failure::unusable(
                        "the answer turned out to be thinking; from now on answers are held back \
                         to their end",
                    ));
                }
                self.text.clear();
            }
        }
        self.before = self.before.max(spoken.before);
        if self.text.len() + spoken.text.len() + self.filter.held_bytes() > REPLY_BYTES_MAX {
            return Err(Failure::unusable("the answer is too long"));
        }
        // Blanks around an answer are no part of it.
        let text = if self.text.is_empty() {
            spoken.text.trim_start()
        } else {
            &spoken.text
        };
        self.text.push_str(text);
        Ok(())
    }

    /// Hands out what is new, but for blanks that may be the last.
    async fn hand_out(&mut self) -> Result<(), Failure> {
        let end = self.text.trim_end().len();
        if let Some(piece) = self.text.get(self.handed_out..end)
            && !piece.is_empty()
        {
            // Said before it is done: a piece that is on its way may be read.
            self.handed_out = end;
            timeout_at(self.hand_out_deadline, self.sink.push(piece))
                .await
                .map_err(|_elapsed| {
                    let cause = "the reader did not take the answer in time";
                    Failure::new(Kind::SinkClosed, cause)
                })??;
        }
        Ok(())
    }
}

impl From<SinkClosed> for Failure {
    fn from(gone: SinkClosed) -> Self {
        Self::new(Kind::SinkClosed, gone.to_string())
    }
}
