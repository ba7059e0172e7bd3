//! Contacts.

use hyper::Response;
use serde::{Deserialize, Serialize};

use crate::domain::contact::Contact;
use crate::domain::email::EmailAddress;
use crate::http::admin::reply::{self, AdminBody, AdminError};
use crate::http::admin::request::AdminRequest;

/// A contact, as commands print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactRow {
    /// The address.
    pub email: String,
    /// When it was signed up, in RFC 3339.
    pub subscribed_at: String,
    /// When it was last signed up again, in RFC 3339.
    pub last_seen_at: String,
}

impl From<&Contact> for ContactRow {
    fn from(contact: &Contact) -> Self {
        Self {
            email: contact.email.as_str().to_owned(),
            subscribed_at: contact.subscribed_at.to_rfc3339(),
            last_seen_at: contact.last_seen_at.to_rfc3339(),
        }
    }
}

/// Shows the contact with the address `email`.
pub(in crate::http::admin) async fn show(
    request: AdminRequest,
) -> Result<Response<AdminBody>, AdminError> {
    let email = request.params.required("email", EmailAddress::parse)?;
    match request.app.contacts.find(&email).await? {
        Some(contact) => reply::json(&ContactRow::from(&contact)),
        None => Err(AdminError::NotFound(
            "no contact has this address".to_owned(),
        )),
    }
}
