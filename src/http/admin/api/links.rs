//! Links to the admin page.

use serde::{Deserialize, Serialize};

use crate::http::admin::reply::{self, AdminAnswer, AdminError};
use crate::http::admin::request::AdminRequest;

/// A link, as the command prints it.
#[derive(Serialize, Deserialize)]
pub(crate) struct LinkRow {
    /// Its URL, which is a secret until it is used.
    pub(crate) url: String,
    /// When it ends, in RFC 3339.
    pub(crate) expires_at: String,
}

/// Makes a link.
pub(in crate::http::admin) async fn new_link(request: AdminRequest) -> AdminAnswer {
    let sessions = request.sessions.ok_or_else(|| {
        AdminError::NotFound(
            "there is no admin page: no service runs with --admin-listen on this data directory; start \
             it with --admin-listen 127.0.0.1:9090, then ask for a link again"
                .to_owned(),
        )
    })?;
    let (url, expires_at) = sessions.new_link(request.app.clock.now())?;
    reply::json(&LinkRow {
        url,
        expires_at: expires_at.to_rfc3339(),
    })
}
