//! Links to the admin page.

use hyper::Response;
use serde::{Deserialize, Serialize};

use crate::http::admin::reply::{self, AdminBody, AdminError};
use crate::http::admin::request::AdminRequest;

/// A link, as the command prints it.
#[derive(Clone, Serialize, Deserialize)]
pub struct LinkRow {
    /// Its URL, which is a secret until it is used.
    pub url: String,
    /// When it ends, in RFC 3339.
    pub expires_at: String,
}

impl std::fmt::Debug for LinkRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LinkRow(..)")
    }
}

/// Makes a link.
pub(in crate::http::admin) async fn new_link(
    request: AdminRequest,
) -> Result<Response<AdminBody>, AdminError> {
    let sessions = request.sessions.ok_or_else(|| {
        AdminError::NotFound(
            "there is no admin page: no service runs with --admin-listen on this data directory; start \
             it with --admin-listen 127.0.0.1:9090, then ask for a link again"
                .to_owned(),
        )
    })?;
    let link = sessions.new_link(request.app.clock.now())?;
    reply::json(&LinkRow {
        url: link.url,
        expires_at: link.expires_at.to_rfc3339(),
    })
}
