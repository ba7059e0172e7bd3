//! Agents' registrations.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::domain::agent::{Registration, RevokedRegistration};
use crate::http::admin::reply::{self, AdminAnswer, AdminError};
use crate::http::admin::request::AdminRequest;
use crate::usecases::agents::{self, AgentRevocation};

/// A revoked registration, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRow {
    /// Its client id; of an old one `fp:` and the beginning of its fingerprint.
    pub client_id: String,
    /// When it was revoked, in RFC 3339.
    pub revoked_at: String,
    /// When it would have expired, in RFC 3339.
    pub expires_at: String,
}

impl From<&RevokedRegistration> for AgentRow {
    fn from(revoked: &RevokedRegistration) -> Self {
        Self {
            client_id: revoked.name(),
            revoked_at: revoked.revoked_at.to_rfc3339(),
            expires_at: revoked.expires_at.to_rfc3339(),
        }
    }
}

/// Lists the revoked registrations.
pub(in crate::http::admin) async fn list_revoked(request: AdminRequest) -> AdminAnswer {
    let pages = request.app.revocations.list().await?;
    tracing::info!(command = "agents list-revoked", "operator");
    Ok(reply::stream(pages.map(|page| {
        let page = page?;
        Ok(reply::lines(page.iter().map(AgentRow::from))?)
    })))
}

/// A registration that is to be revoked, and was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRevoked {
    /// Its client id.
    pub client_id: String,
    /// `revoked`, `revoked before` or `expired before`.
    #[serde(default)]
    pub result: String,
}

/// Revokes a registration.
pub(in crate::http::admin) async fn revoke(request: AdminRequest) -> AdminAnswer {
    let app = Arc::clone(&request.app);
    let mut revoked: AgentRevoked = request.json().await?;
    let registration = Registration::from_client_id(&revoked.client_id);
    let registration = registration.ok_or_else(|| {
        AdminError::Input(
            "not a client id: give the whole one, which begins with reg_ and stands in the answer to the \
             registration"
                .to_owned(),
        )
    })?;
    let now = app.clock.now();
    let result = match agents::revoke(&*app.revocations, &registration, now).await? {
        AgentRevocation::Revoked => "revoked",
        AgentRevocation::AlreadyRevoked => "revoked before",
        AgentRevocation::Expired => "expired before",
    };
    tracing::info!(
        command = "agents revoke",
        agent.client_id = revoked.client_id,
        result,
        "operator"
    );
    result.clone_into(&mut revoked.result);
    reply::json(&revoked)
}
