//! Registrations of agents.

use serde_json::json;

use crate::domain::Registration;
use crate::usecases::revoke::revoke_registration;

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const LIST_REVOKED: &str = "agents list-revoked";
pub const REVOKE: &str = "agents revoke";

/// Lists the revoked registrations. Times are in RFC 3339.
pub(super) async fn list_revoked(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = request.app.revocations.list().await?;
    tracing::info!(command = LIST_REVOKED, "operator");
    Answer::rows(pages, |revoked| {
        json!({
            "client_id": revoked.registration.client_id(),
            "revoked_at": revoked.revoked_at.to_rfc3339(),
            "expires_at": revoked.registration.expires_at().to_rfc3339(),
        })
    })
}

/// Revokes the registration `client_id`. The result is `revoked`, `revoked before` or `expired before`.
pub(super) async fn revoke(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let client_id = request.params.text("client_id").unwrap_or_default();
    let registration = Registration::from_client_id(client_id).ok_or_else(|| {
        OperatorError::Input(
            "not a client ID: give the whole ID, which begins with reg_ and is in the response to the \
             registration"
                .to_owned(),
        )
    })?;
    let (revocations, now) = (&*request.app.revocations, request.app.clock.now());
    let revocation = revoke_registration(revocations, &registration, now).await?;
    let result = revocation.as_str();
    tracing::info!(
        command = REVOKE,
        agent.client_id = client_id,
        result,
        "operator"
    );
    Answer::one(&json!({"client_id": client_id, "result": result}))
}
