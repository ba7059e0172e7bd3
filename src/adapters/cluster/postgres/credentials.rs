//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::domain::{
    Fingerprint, KeyId, KeyRecord, Label, Registration, RevokedRegistration, Timestamp,
};
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

use super::connection::Parameters;
use super::rows::{bytes_column, column, instant, instant_column, optional_instant, unexpected};
use super::store::PostgresStore;

const KEY: &str =
    "SELECT place, fingerprint, key_id, label, issued_at, expires_at, revoked_at FROM api_key";

const REVOKE: &str = "UPDATE api_key SET revoked_at = $2 FROM settings \
     WHERE fingerprint = $1 AND revoked_at IS NULL RETURNING true";

#[async_trait]
impl KeyIssuer for PostgresStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.add_new(&record).await.map(drop)
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let fingerprint = &fingerprint.as_bytes()[..];
        let find = format!("{KEY} WHERE fingerprint = $1");
        let rows = self.look_up(&find, &[(&fingerprint, Type::BYTEA)]).await?;
        rows.first().map(key_record).transpose()
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        let list = format!("{KEY} WHERE place > $1");
        self.pages(&list, (None, None), key_record).await
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let parameters: Parameters<'_> = &[
            (&&fingerprint.as_bytes()[..], Type::BYTEA),
            (&instant(now), Type::TIMESTAMPTZ),
        ];
        let revoked = self.change(REVOKE, parameters).await?;
        Ok(!revoked.is_empty())
    }

    fn check(&self) -> Result<(), StoreError> {
        self.check_writes()
    }
}

#[async_trait]
impl RevocationList for PostgresStore {
    async fn revoke(
        &self,
        registration: &Registration,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let revoked = RevokedRegistration {
            registration: *registration,
            revoked_at: now,
        };
        self.add_new(&revoked).await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let fingerprint = registration.fingerprint();
        let parameters: Parameters<'_> = &[(&&fingerprint.as_bytes()[..], Type::BYTEA)];
        let find = "SELECT true FROM revocation WHERE fingerprint = $1";
        let rows = self.look_up(find, parameters).await?;
        Ok(!rows.is_empty())
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        let list = "SELECT place, client_id, revoked_at FROM revocation WHERE place > $1";
        self.pages(list, (None, None), revoked_registration).await
    }
}

fn key_record(row: &Row) -> Result<KeyRecord, StoreError> {
    let id: String = column(row, 2)?;
    let label: Option<String> = column(row, 3)?;
    Ok(KeyRecord {
        fingerprint: Fingerprint::from_bytes(bytes_column(row, 1)?.ok_or_else(unexpected)?),
        id: KeyId::parse(&id).ok_or_else(unexpected)?,
        // Every stored label was parsed when the key was issued.
        label: label.and_then(|label| Label::parse(label).ok()),
        issued_at: instant_column(row, 4)?,
        expires_at: instant_column(row, 5)?,
        revoked_at: optional_instant(row, 6)?,
    })
}

fn revoked_registration(row: &Row) -> Result<RevokedRegistration, StoreError> {
    let client_id: String = column(row, 1)?;
    Ok(RevokedRegistration {
        registration: Registration::from_client_id(&client_id).ok_or_else(unexpected)?,
        revoked_at: instant_column(row, 2)?,
    })
}
