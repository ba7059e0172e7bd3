//! The free API keys, and the agents' registrations that were revoked.

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use tokio_postgres::types::Type;

use crate::domain::{Fingerprint, KeyRecord, Registration, RevokedRegistration, Timestamp};
use crate::ports::{KeyIssuer, PageStream, RevocationList, StoreError};

use super::connection::Parameters;
use super::rows::{ms, state};
use super::store::PostgresStore;

const REVOKE: &str = "UPDATE api_key SET state = state || jsonb_build_object('revoked_at', $2) FROM settings \
     WHERE fingerprint = $1 AND NOT state ? 'revoked_at' RETURNING true";

#[async_trait]
impl KeyIssuer for PostgresStore {
    async fn issue(&self, record: KeyRecord) -> Result<(), StoreError> {
        self.begin_change()?.add_new(&record).await.map(drop)
    }

    async fn find(&self, fingerprint: &Fingerprint) -> Result<Option<KeyRecord>, StoreError> {
        let find = async {
            let find = "SELECT place, state::text FROM api_key WHERE fingerprint = $1";
            let digits = hex(fingerprint);
            let rows = self.look_up(find, &[(&digits, Type::TEXT)]).await?;
            rows.first().map(state).transpose()
        };
        self.known_keys.look_up(*fingerprint, find).await
    }

    async fn list(&self) -> Result<PageStream<KeyRecord>, StoreError> {
        let list = "SELECT place, state::text FROM api_key WHERE place > $1";
        self.pages(list, (None, None), state).await
    }

    async fn revoke(&self, fingerprint: &Fingerprint, now: Timestamp) -> Result<bool, StoreError> {
        let parameters: Parameters<'_> = &[(&hex(fingerprint), Type::TEXT), (&ms(now), Type::INT8)];
        let change = self.change(REVOKE, parameters);
        let revoked = self.known_keys.revoke(*fingerprint, change).await?;
        Ok(!revoked.is_empty())
    }

    fn check(&self) -> Result<(), StoreError> {
        self.links.check()
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
        let change = async { self.begin_change()?.add_new(&revoked).await };
        let known = &self.known_revocations;
        known.revoke(registration.fingerprint(), change).await
    }

    async fn is_revoked(&self, registration: &Registration) -> Result<bool, StoreError> {
        let find = async {
            let find = "SELECT true FROM revocation WHERE client_id = $1";
            let id = registration.client_id();
            let rows = self.look_up(find, &[(&id, Type::TEXT)]).await?;
            Ok(Some(!rows.is_empty()))
        };
        let known = &self.known_revocations;
        let is_revoked = known.look_up(registration.fingerprint(), find).await?;
        Ok(is_revoked == Some(true))
    }

    async fn list(&self) -> Result<PageStream<RevokedRegistration>, StoreError> {
        let list = "SELECT place, state::text FROM revocation WHERE place > $1";
        self.pages(list, (None, None), state).await
    }
}

fn hex(fingerprint: &Fingerprint) -> String {
    HEXLOWER.encode(fingerprint.as_bytes())
}
