//! Questions that the assistant could not answer.

use futures_util::stream::{self, StreamExt as _};
use serde_json::json;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const LIST: &str = "questions list";

/// Lists them, oldest first. `asked_at` is the beginning of the hour, in RFC 3339.
pub(super) async fn list(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let questions = request.app.questions.list();
    tracing::info!(command = LIST, "operator");
    Answer::rows(stream::iter([Ok(questions)]).boxed(), |question| {
        json!({
            "asked_at": question.hour.start().to_rfc3339(),
            "language": question.language.as_str(),
            "text": question.text,
        })
    })
}
