//! Links to the admin page.

use serde_json::json;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const LINK: &str = "admin link";

/// Answers a `url`, which is a secret until it is used, and its expiry `expires_at`, in RFC 3339.
pub(super) async fn link(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let sessions = request.sessions.ok_or_else(|| {
        OperatorError::NotFound(
            "there is no admin page: no service with --admin-listen is running on this data directory; start \
             it with --admin-listen 127.0.0.1:9090, then request a link again"
                .to_owned(),
        )
    })?;
    let (url, expires_at) = sessions.new_link(request.app.clock.now());
    Answer::one(&json!({"url": url, "expires_at": expires_at.to_rfc3339()}))
}
