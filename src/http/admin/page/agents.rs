//! The agents that were revoked.

use minijinja::context;

use crate::domain::agent::RevokedRegistration;

use super::page_request::{PageAnswer, PageRequest, minute};
use super::picked::{page_number, pick};

/// Shows them.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let number = page_number(&request.params);
    let list = request.app.revocations.list().await?;
    let picked = pick(list, number, |_revoked| true).await?;
    let row = |revoked: &RevokedRegistration| {
        context! {
            name => revoked.name(),
            revoked_at => minute(revoked.revoked_at),
            expires_at => minute(revoked.expires_at),
        }
    };
    request.page("agents.html", picked.values(number, row))
}
