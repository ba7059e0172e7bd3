//! Registrations of agents.

use serde::{Deserialize, Serialize};

use crate::domain::agent::{Registration, RevokedRegistration};
use crate::usecases::revoke::revoke_registration;

use super::operation::{Answer, Operation, OperatorError, OperatorRequest};

pub static LIST_REVOKED: Operation = Operation {
    name: "agents list-revoked",
    handler: |request| Box::pin(list_revoked(request)),
};

pub static REVOKE: Operation = Operation {
    name: "agents revoke",
    handler: |request| Box::pin(revoke(request)),
};

/// A revoked registration. Times are in RFC 3339.
#[derive(Serialize)]
struct AgentRow {
    client_id: String,
    revoked_at: String,
    expires_at: String,
}

impl From<&RevokedRegistration> for AgentRow {
    fn from(revoked: &RevokedRegistration) -> Self {
        Self {
            client_id: revoked.registration.client_id(),
            revoked_at: revoked.revoked_at.to_rfc3339(),
            expires_at: revoked.registration.expires_at().to_rfc3339(),
        }
    }
}

async fn list_revoked(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let pages = request.app.revocations.list().await?;
    tracing::info!(command = LIST_REVOKED.name, "operator");
    Answer::rows(pages, |revoked| AgentRow::from(revoked))
}

#[derive(Debug, Serialize, Deserialize)]
pub struct AgentRevoked {
    pub client_id: String,
    /// `revoked`, `revoked before` or `expired before`.
    pub result: String,
}

/// Revokes the registration `client_id`.
async fn revoke(request: OperatorRequest) -> Result<Answer, OperatorError> {
    let client_id = request.params.text("client_id").unwrap_or_default();
    let registration = Registration::from_client_id(client_id).ok_or_else(|| {
        OperatorError::Input(
            "not a client id: give the whole one, which begins with reg_ and stands in the answer to the \
             registration"
                .to_owned(),
        )
    })?;
    let (revocations, now) = (&*request.app.revocations, request.app.clock.now());
    let revocation = revoke_registration(revocations, &registration, now).await?;
    let result = revocation.as_str();
    tracing::info!(
        command = REVOKE.name,
        agent.client_id = client_id,
        result,
        "operator"
    );
    Answer::one(&AgentRevoked {
        client_id: client_id.to_owned(),
        result: result.to_owned(),
    })
}
