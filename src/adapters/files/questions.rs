//! [`QuestionStore`] over a file, which is rewritten as a whole. Each line is a question without an answer:
//!
//! ```text
//! {"hour":"2026-11-29T12","language":"de","text":"Haben Sie sonntags offen?"}
//! ```

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::domain::{Hour, Language, Question, Timestamp};
use crate::ports::{QuestionStore, StoreError};

use crate::adapters::files::small_file::{in_background, json_lines, read_lines};
use crate::adapters::files::{SystemFiles, remove_for_good, write_whole};

/// Maximum number of stored questions. A new one replaces the oldest.
const QUESTIONS_MAX: usize = 1000;

/// Our own files are smaller.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Questions in memory and in a file. The default stores none.
#[derive(Debug, Default)]
pub struct FileQuestionStore {
    path: PathBuf,
    /// 0 if no question is stored.
    kept_days: u64,
    questions: Mutex<VecDeque<Question>>,
}

impl FileQuestionStore {
    /// The questions in the file at `path`, which is created with the first one. A file that cannot be read is left
    /// alone with a warning, and nothing is stored. With 0 days it is removed by the next save.
    pub fn open(path: PathBuf, kept_days: u64) -> Self {
        let read = read_lines(&path, FILE_BYTES_MAX, "a question", parse);
        if let Err(error) = &read {
            tracing::warn!(%error, path = %path.display(), "unanswered questions cannot be read");
            if kept_days > 0 {
                return Self::default();
            }
        }
        Self {
            path,
            kept_days,
            questions: Mutex::new(read.unwrap_or_default().into()),
        }
    }

    /// The lines of the file. Expired questions are dropped.
    fn lines(&self, now: Hour) -> io::Result<String> {
        let mut questions = self.questions.lock();
        let expired = now.minus(24 * self.kept_days);
        questions.retain(|question| self.kept_days > 0 && question.hour > expired);
        json_lines(questions.iter().map(|question| {
            let (hour, language) = (question.hour.name(), question.language.as_str());
            json!({"hour": hour, "language": language, "text": question.text})
        }))
    }
}

#[async_trait]
impl QuestionStore for FileQuestionStore {
    fn add(&self, question: Question) {
        let mut questions = self.questions.lock();
        let is_stored =
            |stored: &Question| stored.hour == question.hour && stored.text == question.text;
        if self.kept_days > 0 && !questions.iter().any(is_stored) {
            questions.push_back(question);
            let excess = questions.len().saturating_sub(QUESTIONS_MAX);
            questions.drain(..excess);
        }
    }

    fn list(&self) -> Vec<Question> {
        self.questions.lock().iter().cloned().collect()
    }

    async fn save(&self, now: Timestamp) -> Result<(), StoreError> {
        let (path, lines) = (self.path.clone(), self.lines(Hour::of(now)));
        in_background("questions", move || {
            let lines = lines?;
            if !lines.is_empty() {
                return write_whole(&SystemFiles, &path, lines.as_bytes());
            }
            // Left over if a crash interrupted a write.
            remove_for_good(&SystemFiles, &path.with_extension("new"))?;
            remove_for_good(&SystemFiles, &path)
        })
        .await
    }
}

fn parse(line: &str) -> Option<Question> {
    let line: Value = serde_json::from_str(line).ok()?;
    let field = |name| line.get(name).and_then(Value::as_str);
    Some(Question {
        hour: Hour::from_name(field("hour")?)?,
        language: Language::of_tag(field("language")?)?,
        text: field("text")?.to_owned(),
    })
}
