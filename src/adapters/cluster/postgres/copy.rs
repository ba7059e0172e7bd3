//! The rows that a move from a data directory brings along, in one transaction: one that breaks off leaves nothing behind. Every
//! copy may be repeated: rows that are there are left alone, except that counts are set.

use tokio_postgres::types::Type;

use crate::domain::{
    Confirmation, Contact, Delivery, HourlyCounts, KeyRecord, RevokedRegistration, Settled,
    TextDigest, Timestamp, Tombstone,
};
use crate::ports::{DeliveryQueue as _, StoreError};

use super::counts::columns;
use super::dedicated::DedicatedConnection;
use super::link::Parameters;
use super::store::PostgresStore;
use super::values::{column, consent, instant, signer};

const CONTACTS: &str = "INSERT INTO contact \
         (email, id, sign_up, signers, earlier, subscribed_at, last_seen_at, consent, left_at, leave_token, \
             asked, mailed_at, undeliverable_at, confirmed_at, confirmed_ip) \
     SELECT email, id, id, array_remove(ARRAY[one, two, three, four], NULL), '{}', \
         subscribed_at, last_seen_at, consent, left_at, token, asked, mailed_at, \
         undeliverable_at, confirmed_at, confirmed_ip \
     FROM (SELECT *, gen_random_uuid() AS id FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
         $14, $15) WITH ORDINALITY AS rows (email, one, two, three, four, subscribed_at, last_seen_at, consent, left_at, \
             token, asked, mailed_at, undeliverable_at, confirmed_at, confirmed_ip, place)) AS new \
     ORDER BY new.place ON CONFLICT (email) DO NOTHING";

const CONSENT_TEXTS: &str =
    "INSERT INTO consent_text SELECT * FROM unnest($1, $2) ON CONFLICT (digest) DO NOTHING";

const KEYS: &str = "INSERT INTO api_key \
         (fingerprint, key_id, label, issued_at, expires_at, revoked_at) \
     SELECT fingerprint, key_id, label, issued_at, expires_at, revoked_at \
     FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY \
         AS new (fingerprint, key_id, label, issued_at, expires_at, revoked_at, place) \
     ORDER BY new.place ON CONFLICT (fingerprint) DO NOTHING";

const REVOCATIONS: &str = "INSERT INTO revocation \
         (fingerprint, id, client_id, revoked_at, expires_at) \
     SELECT fingerprint, gen_random_uuid(), client_id, revoked_at, expires_at \
     FROM unnest($1, $2, $3, $4) WITH ORDINALITY \
         AS new (fingerprint, client_id, revoked_at, expires_at, place) \
     ORDER BY new.place ON CONFLICT (fingerprint) DO NOTHING";

const COUNTS: &str = "INSERT INTO hourly_count (hour, counted, number) \
     SELECT * FROM unnest($1, $2, $3) \
     ON CONFLICT (hour, counted) DO UPDATE SET number = excluded.number";

const TOMBSTONES: &str = "INSERT INTO tombstone (address, refused_at) SELECT * FROM unnest($1, $2) \
     ON CONFLICT DO NOTHING";

const TOTALS: &str = "SELECT (SELECT count(*) FROM contact) AS contacts, \
     (SELECT count(*) FROM delivery) AS deliveries, \
     (SELECT count(*) FROM tombstone) AS tombstones, \
     (SELECT count(*) FROM api_key) AS keys, \
     (SELECT count(*) FROM revocation) AS revocations, \
     (SELECT count(DISTINCT hour) FROM hourly_count) AS hours";

/// How many rows there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub contacts: u64,
    /// What is to be delivered, and what was given up.
    pub deliveries: u64,
    /// Addresses that were forgotten.
    pub tombstones: u64,
    /// API keys, also revoked and expired ones.
    pub keys: u64,
    /// Revoked registrations.
    pub revocations: u64,
    /// Hours in which something was counted.
    pub hours: u64,
}

/// The server ends a filling whose machine is gone.
const BOUND: &str = "SELECT set_config('idle_in_transaction_session_timeout', '60s', true)";

impl PostgresStore {
    /// Makes one transaction of all changes of this store until [`PostgresStore::end_filling`]; without that, they are
    /// undone.
    pub async fn begin_filling(&self) -> Result<(), StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector).await?;
        transaction.ask(BOUND, &[]).await?;
        // Empty until now.
        let _ = self.filling.set(transaction);
        Ok(())
    }

    /// Commits the changes. It is the last thing that this store does.
    pub async fn end_filling(&self) -> Result<(), StoreError> {
        self.change("COMMIT", &[]).await.map(drop)
    }

    /// Copies contacts, in their order, each with its signers and both times. Some ten thousand at a time
    /// are best.
    pub async fn copy_contacts(&self, contacts: &[Contact]) -> Result<(), StoreError> {
        let emails = column_of(contacts, |it| it.email.as_str());
        let nth = |n: usize| column_of(contacts, |it| it.signers.iter().nth(n).map(signer));
        let [one, two, three, four] = [nth(0), nth(1), nth(2), nth(3)];
        let first = column_of(contacts, |it| instant(it.subscribed_at));
        let last = column_of(contacts, |it| instant(it.last_seen_at));
        let consents = contacts.iter().map(|it| it.consent.as_ref().map(consent));
        let consents = consents.map(Option::transpose);
        let consents = consents.collect::<Result<Vec<Option<String>>, _>>()?;
        let left = column_of(contacts, |it| it.left_at.map(instant));
        let tokens = column_of(contacts, |it| {
            it.leave_token.map(|it| it.as_bytes().to_vec())
        });
        let asked = column_of(contacts, |it| it.confirmation.is_some());
        let of = |value: fn(&Confirmation) -> Option<Timestamp>| {
            column_of(contacts, |it| {
                it.confirmation.as_ref().and_then(value).map(instant)
            })
        };
        let (mailed, undeliverable) = (of(|it| it.mailed_at), of(|it| it.undeliverable_at));
        let confirmed = of(|it| it.confirmed_at);
        let ip = |it: &Contact| Some(it.confirmation.as_ref()?.ip?.to_string());
        let ips = column_of(contacts, ip);
        let parameters: Parameters<'_> = &[
            (&emails, Type::TEXT_ARRAY),
            (&one, Type::BYTEA_ARRAY),
            (&two, Type::BYTEA_ARRAY),
            (&three, Type::BYTEA_ARRAY),
            (&four, Type::BYTEA_ARRAY),
            (&first, Type::TIMESTAMPTZ_ARRAY),
            (&last, Type::TIMESTAMPTZ_ARRAY),
            (&consents, Type::TEXT_ARRAY),
            (&left, Type::TIMESTAMPTZ_ARRAY),
            (&tokens, Type::BYTEA_ARRAY),
            (&asked, Type::BOOL_ARRAY),
            (&mailed, Type::TIMESTAMPTZ_ARRAY),
            (&undeliverable, Type::TIMESTAMPTZ_ARRAY),
            (&confirmed, Type::TIMESTAMPTZ_ARRAY),
            (&ips, Type::TEXT_ARRAY),
        ];
        self.copy(CONTACTS, parameters).await
    }

    /// Copies the texts that consents name.
    pub async fn copy_consent_texts(&self, texts: &[String]) -> Result<(), StoreError> {
        let digests = column_of(texts, |it| TextDigest::of(it).as_bytes().to_vec());
        let texts = column_of(texts, String::as_str);
        let parameters: Parameters<'_> =
            &[(&digests, Type::BYTEA_ARRAY), (&texts, Type::TEXT_ARRAY)];
        self.copy(CONSENT_TEXTS, parameters).await
    }

    /// Copies deliveries, in their order, each with what became of its attempts.
    pub async fn copy_deliveries(
        &self,
        deliveries: Vec<Delivery>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.add(deliveries.clone()).await?;
        let settled = Settled {
            failed: deliveries,
            ..Settled::default()
        };
        self.settle(settled, now).await
    }

    /// Copies keys, in their order.
    pub async fn copy_keys(&self, keys: &[KeyRecord]) -> Result<(), StoreError> {
        let prints = column_of(keys, |it| &it.fingerprint.as_bytes()[..]);
        let ids = column_of(keys, |it| it.id.to_string());
        let labels = column_of(keys, |it| it.label.as_ref().map(|label| label.as_str()));
        let issued = column_of(keys, |it| instant(it.issued_at));
        let expire = column_of(keys, |it| instant(it.expires_at));
        let revoked = column_of(keys, |it| it.revoked_at.map(instant));
        let parameters: Parameters<'_> = &[
            (&prints, Type::BYTEA_ARRAY),
            (&ids, Type::TEXT_ARRAY),
            (&labels, Type::TEXT_ARRAY),
            (&issued, Type::TIMESTAMPTZ_ARRAY),
            (&expire, Type::TIMESTAMPTZ_ARRAY),
            (&revoked, Type::TIMESTAMPTZ_ARRAY),
        ];
        self.copy(KEYS, parameters).await
    }

    /// Copies revoked registrations, in their order.
    pub async fn copy_revocations(
        &self,
        revoked: &[RevokedRegistration],
    ) -> Result<(), StoreError> {
        let prints = column_of(revoked, |it| it.registration.fingerprint());
        let prints = column_of(&prints, |it| &it.as_bytes()[..]);
        let client_ids = column_of(revoked, |it| it.registration.client_id());
        let since = column_of(revoked, |it| instant(it.revoked_at));
        let until = column_of(revoked, |it| instant(it.registration.expires_at()));
        let parameters: Parameters<'_> = &[
            (&prints, Type::BYTEA_ARRAY),
            (&client_ids, Type::TEXT_ARRAY),
            (&since, Type::TIMESTAMPTZ_ARRAY),
            (&until, Type::TIMESTAMPTZ_ARRAY),
        ];
        self.copy(REVOCATIONS, parameters).await
    }

    /// Copies what remains of forgotten addresses.
    pub async fn copy_tombstones(&self, tombstones: &[Tombstone]) -> Result<(), StoreError> {
        let addresses = column_of(tombstones, |it| &it.address[..]);
        let refused = column_of(tombstones, |it| it.refused_at.map(instant));
        let parameters: Parameters<'_> = &[
            (&addresses, Type::BYTEA_ARRAY),
            (&refused, Type::TIMESTAMPTZ_ARRAY),
        ];
        self.copy(TOMBSTONES, parameters).await
    }

    /// Copies the counts of hours: they become what they are here.
    pub async fn copy_counts(&self, hours: &[HourlyCounts]) -> Result<(), StoreError> {
        let (mut starts, mut names, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for hour in hours {
            let (of_hour, counted) = columns(&hour.counts);
            starts.extend(of_hour.iter().map(|_| instant(hour.hour.start())));
            names.extend(of_hour);
            numbers.extend(counted);
        }
        let parameters: Parameters<'_> = &[
            (&starts, Type::TIMESTAMPTZ_ARRAY),
            (&names, Type::TEXT_ARRAY),
            (&numbers, Type::INT8_ARRAY),
        ];
        self.copy(COUNTS, parameters).await
    }

    /// How many rows there are.
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        let counted = self.change(TOTALS, &[]).await?;
        let total = |name| -> Result<u64, StoreError> {
            let total: Option<i64> = counted.first().map(|row| column(row, name)).transpose()?;
            Ok(total.map_or(0, |it| u64::try_from(it).unwrap_or(0)))
        };
        Ok(Totals {
            contacts: total("contacts")?,
            deliveries: total("deliveries")?,
            tombstones: total("tombstones")?,
            keys: total("keys")?,
            revocations: total("revocations")?,
            hours: total("hours")?,
        })
    }

    async fn copy(&self, statement: &str, parameters: Parameters<'_>) -> Result<(), StoreError> {
        self.change(statement, parameters).await.map(drop)
    }
}

/// One value of each row.
fn column_of<'a, T, V>(rows: &'a [T], value: impl Fn(&'a T) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}
