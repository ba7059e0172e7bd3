//! Ending a credential before its time.

use crate::domain::time::Timestamp;
use crate::ports::StoreError;

use super::admit::{AuthenticateError, Credential, Credentials, authenticate};

/// Revokes a key, or a token and with it all that its registration was given. Whoever presents it
/// may: there is nobody else whom it could belong to. One that is not good, for whatever reason,
/// needs no revocation.
///
/// # Errors
/// [`StoreError`] when the credential may still be good.
pub async fn revoke(
    credentials: Credentials<'_>,
    now: Timestamp,
    presented: &str,
) -> Result<(), StoreError> {
    match authenticate(credentials, now, presented).await {
        Ok(Credential::Key(fingerprint)) => credentials.keys.revoke(&fingerprint, now).await?,
        Ok(Credential::Token(registration)) => {
            credentials.revocations.revoke(&registration, now).await?
        }
        Err(AuthenticateError::Invalid) => return Ok(()),
        Err(AuthenticateError::Store(error)) => return Err(error),
    };
    Ok(())
}
