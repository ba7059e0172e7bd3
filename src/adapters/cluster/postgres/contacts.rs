//! The newsletter's contacts.

use std::collections::HashSet;
use std::net::IpAddr;

use async_trait::async_trait;
use serde_json::json;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::adapters::consent_entry::{ConfirmationEntry, ConsentEntry};
use crate::domain::{
    Contact, Delivery, EmailAddress, Erasure, ImportOutcome, LeaveToken, SignUp, StatusCounts,
    Subscription, TextDigest, Timestamp,
};
use crate::ports::{ContactStore, ContactStream, ERASED_MAX, REFUSED_MS, StoreError};

use super::connection::Parameters;
use super::dedicated::DedicatedConnection;
use super::rows::{
    bytea, bytes_column, column, delivery_rows, instant, instant_column, json_column,
    optional_instant, queue, settings, signer, signers, timestamptz, unexpected,
};
use super::store::PostgresStore;

const KEEP: &str = concat!(settings!("50ms"), include_str!("upsert.sql"));

/// The columns that [`contact`] reads.
const CONTACT: &str = "SELECT place, email, signers, subscribed_at, last_seen_at, consent, left_at, leave_token, \
         confirmation::text \
     FROM contact";

const LEAVE: &str = concat!(
    ", gone AS (UPDATE contact SET left_at = $2 FROM settings \
         WHERE leave_token = $1 AND left_at IS NULL AND NOT is_pending \
         RETURNING place, email), \
     undelivered AS (DELETE FROM delivery USING gone WHERE delivery.email = gone.email), \
     queued AS (",
    queue!("gone", "$3"),
    ") SELECT place FROM gone"
);

const COUNT: &str = "SELECT count(*) FROM contact \
     WHERE ($1 IS NULL OR subscribed_at >= $1) AND ($2 IS NULL OR subscribed_at < $2)";

/// Each is answered by an index that has nothing else.
const STATUS_COUNTS: &str = "SELECT (SELECT count(*) FROM contact WHERE is_pending), \
     (SELECT count(*) FROM contact WHERE left_at IS NOT NULL AND NOT is_pending)";

const CONFIRM: &str = concat!(
    ", confirmed AS (UPDATE contact SET left_at = NULL, \
             confirmation = confirmation || jsonb_build_object('confirmed_at', $2::bigint, 'ip', $4::text) \
         FROM settings WHERE leave_token = $1 AND is_pending RETURNING place), \
     queued AS (",
    queue!("confirmed", "$3"),
    ") SELECT place FROM confirmed"
);

/// Same rule as [`Contact::pending_since`].
const OVERDUE: &str = ", LATERAL (SELECT greatest((confirmation->>'mailed_at')::bigint, \
             (confirmation->>'undeliverable_at')::bigint), \
         coalesce((consent::json->>'at')::bigint, (extract(epoch FROM last_seen_at) * 1000)::bigint)) \
         AS mail (ended_at, asked_at) \
     WHERE is_pending AND (NOT $2 OR ended_at IS NOT NULL) AND coalesce(ended_at, asked_at + $3) <= $1 \
     ORDER BY place LIMIT $4";

/// Expires contacts that had unsubscribed before. The others are erased after it.
const EXPIRE: &str = "UPDATE contact SET confirmation = NULL, consent = NULL \
     WHERE leave_token = ANY($1) AND is_pending AND left_at IS NOT NULL RETURNING email";
const ERASE_PENDING: &str =
    "DELETE FROM contact WHERE leave_token = ANY($1) AND is_pending RETURNING email, true";
/// All of the addresses are dropped from deliveries, and remembered.
const ERASE_NAMED: &str = "WITH erased AS (DELETE FROM contact WHERE email = ANY($1) RETURNING email) \
     SELECT named.email, erased.email IS NOT NULL FROM unnest($1) AS named (email) LEFT JOIN erased USING (email)";

/// Drops deliveries that contain an address. A separate statement, so that it sees deliveries queued by sign-ups that
/// the previous statement has waited for.
const DROP_NAMING: &str =
    "DELETE FROM delivery WHERE email = ANY($1) RETURNING coalesce(leased_until > now(), false)";

/// Remembers recipients that refused further email.
const REMEMBER_REFUSAL: &str = "INSERT INTO tombstone SELECT unnest($1), now() \
     ON CONFLICT (address) DO UPDATE SET refused_at = now()";

/// Remembers forgotten addresses by their hashes.
const REMEMBER: &str = "INSERT INTO tombstone SELECT DISTINCT unnest($1) ON CONFLICT DO NOTHING";

/// Of addresses and their hashes, returns the forgotten addresses.
const FORGOTTEN: &str =
    "SELECT email FROM unnest($1, $2) AS hashed (email, address) JOIN tombstone USING (address)";

/// Makes an erasure wait for the sign-ups in progress, and later sign-ups wait until it is committed. Otherwise a
/// sign-up that began earlier could not see the new tombstone, and the address would have both a contact and a
/// tombstone. The lock is on `tombstone`, which is small: its vacuum is short.
///
/// Sign-ups wait for the lock, and their deadline is 2 s: an erasure that does not get it soon fails, and the server
/// ends one whose node is gone.
const BOUND_ERASURE: &str = "SET LOCAL lock_timeout = '500ms'; \
     SET LOCAL idle_in_transaction_session_timeout = '1s'; \
     LOCK TABLE tombstone IN SHARE ROW EXCLUSIVE MODE";

/// Erased addresses are in no file of this program. The rows are gone for every reader; the server's own files,
/// its log and its backups lose them when the server vacuums, recycles and expires them. So [`Erasure`] lists
/// no file.
#[async_trait]
impl ContactStore for PostgresStore {
    async fn keep(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let tombstones = self.tombstones([&sign_up.email]);
        let tombstones: Vec<_> = tombstones.iter().map(|hash| bytea(hash)).collect();
        let row = json!({
            "email": sign_up.email.as_str(),
            "signer": bytea(&signer(&sign_up.origin)),
            "at": timestamptz(sign_up.at),
            "consent": ConsentEntry::from(&sign_up.consent),
            "token": bytea(sign_up.leave_token.as_bytes()),
            "confirmation": sign_up.is_to_be_confirmed.then(|| json!({})),
            "digest": sign_up.consent.text.map(|digest| bytea(digest.as_bytes())),
            "text": sign_up.consent.text.and(sign_up.consent_text.as_deref()),
            "tombstones": tombstones,
        });
        let values: Parameters<'_> = &[
            (&row.to_string(), Type::TEXT),
            (&delivery_rows(&sign_up.notice), Type::TEXT),
        ];
        let rows = self.change_by(KEEP, values).await?;
        let row = rows.first().ok_or_else(unexpected)?;
        if column(row, 0)? {
            return Ok(Subscription::Created);
        }
        let earlier: Vec<Vec<u8>> = column(row, 1)?;
        let by_same_client = signers(&earlier).renew(sign_up.origin);
        Ok(Subscription::Renewed { by_same_client })
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let find = format!("{CONTACT} WHERE email = $1");
        self.contact(&find, &[(&email.as_str(), Type::TEXT)]).await
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        // The semaphore is never closed.
        let _turn = self.looking_up_tokens.acquire().await;
        let find = format!("{CONTACT} WHERE leave_token = $1");
        let token = &token.as_bytes()[..];
        self.contact(&find, &[(&token, Type::BYTEA)]).await
    }

    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values: Parameters<'_> = &[
            (&&token.as_bytes()[..], Type::BYTEA),
            (&instant(now), Type::TIMESTAMPTZ),
            (&delivery_rows(&notice), Type::TEXT),
        ];
        Ok(!self.change(LEAVE, values).await?.is_empty())
    }

    async fn consent_text(&self, digest: &TextDigest) -> Result<Option<String>, StoreError> {
        let find = "SELECT text FROM consent_text WHERE digest = $1";
        let digest = &digest.as_bytes()[..];
        let rows = self.look_up(find, &[(&digest, Type::BYTEA)]).await?;
        rows.first().map(|row| column(row, 0)).transpose()
    }

    async fn confirm(
        &self,
        token: &LeaveToken,
        ip: Option<IpAddr>,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let values: Parameters<'_> = &[
            (&&token.as_bytes()[..], Type::BYTEA),
            (&now.as_ms().cast_signed(), Type::INT8),
            (&delivery_rows(&notice), Type::TEXT),
            (&ip.map(|ip| ip.to_string()), Type::TEXT),
        ];
        Ok(!self.change(CONFIRM, values).await?.is_empty())
    }

    async fn refuse(&self, token: &LeaveToken, _now: Timestamp) -> Result<bool, StoreError> {
        let tokens = [&token.as_bytes()[..]];
        let which: Parameters<'_> = &[(&&tokens[..], Type::BYTEA_ARRAY)];
        let erased = self.erase(ERASE_PENDING, which, REMEMBER_REFUSAL).await?;
        Ok(!erased.contacts.is_empty())
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, _now: Timestamp) -> Result<u64, StoreError> {
        let mut count = 0;
        for tokens in tokens.chunks(ERASED_MAX) {
            let tokens: Vec<_> = tokens.iter().map(|token| &token.as_bytes()[..]).collect();
            let which: Parameters<'_> = &[(&tokens, Type::BYTEA_ARRAY)];
            let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
            let stayed = first_column(&transaction.ask(EXPIRE, which).await?)?;
            let stayed = Vec::from_iter(stayed);
            let named: Parameters<'_> = &[(&stayed, Type::TEXT_ARRAY)];
            transaction.ask(DROP_NAMING, named).await?;
            transaction.commit().await?;
            let erased = self.erase(ERASE_PENDING, which, REMEMBER).await?;
            count += stayed.len() + erased.contacts.len();
        }
        Ok(count as u64)
    }

    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let hashes = self.tombstones([email]);
        let hashes: Parameters<'_> = &[(&hashes, Type::BYTEA_ARRAY)];
        let find = "SELECT max(refused_at) FROM tombstone WHERE address = ANY($1)";
        let rows = self.look_up(find, hashes).await?;
        let refused_at = optional_instant(rows.first().ok_or_else(unexpected)?, 0)?;
        let until = refused_at.map(|at| at.plus_ms(REFUSED_MS));
        Ok(until.filter(|until| now < *until))
    }

    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError> {
        let hashes = self.tombstones([email]);
        let allow = "UPDATE tombstone SET refused_at = NULL FROM settings WHERE address = ANY($1)";
        let hashes: Parameters<'_> = &[(&hashes, Type::BYTEA_ARRAY)];
        self.change(allow, hashes).await.map(drop)
    }

    async fn overdue(
        &self,
        before: Timestamp,
        is_mailed: bool,
        count: usize,
    ) -> Result<Vec<Contact>, StoreError> {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let values: Parameters<'_> = &[
            (&before.as_ms().cast_signed(), Type::INT8),
            (&is_mailed, Type::BOOL),
            (&Delivery::ATTEMPTS_MS_MAX.cast_signed(), Type::INT8),
            (&count, Type::INT8),
        ];
        let rows = self
            .ask_apart(&format!("{CONTACT} {OVERDUE}"), values)
            .await?;
        rows.iter().map(contact).collect()
    }

    async fn status_counts(&self) -> Result<StatusCounts, StoreError> {
        let rows = self.ask_apart(STATUS_COUNTS, &[]).await?;
        let row = rows.first().ok_or_else(unexpected)?;
        Ok(StatusCounts {
            pending: column::<i64>(row, 0)?.cast_unsigned(),
            unsubscribed: column::<i64>(row, 1)?.cast_unsigned(),
        })
    }

    async fn list(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<ContactStream, StoreError> {
        let list = format!(
            "{CONTACT} WHERE place > $1 AND ($2 IS NULL OR subscribed_at >= $2) \
             AND ($3 IS NULL OR subscribed_at < $3)"
        );
        self.pages(&list, (since, until), contact).await
    }

    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let parameters: Parameters<'_> = &[
            (&since.map(instant), Type::TIMESTAMPTZ),
            (&until.map(instant), Type::TIMESTAMPTZ),
        ];
        let rows = self.ask_apart(COUNT, parameters).await?;
        column::<i64>(rows.first().ok_or_else(unexpected)?, 0).map(i64::cast_unsigned)
    }

    async fn import(
        &self,
        rows: Vec<Contact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, "").await?;
        let forgotten = if unforget {
            HashSet::new()
        } else {
            let emails = rows.iter().map(|row| &row.email);
            let hashes = self.tombstones(emails.clone());
            let emails: Vec<&str> = emails.map(EmailAddress::as_str).collect();
            let hashed: Parameters<'_> = &[
                (
                    &emails.repeat(hashes.len() / emails.len().max(1)),
                    Type::TEXT_ARRAY,
                ),
                (&hashes, Type::BYTEA_ARRAY),
            ];
            first_column(&transaction.ask(FORGOTTEN, hashed).await?)?
        };
        let wanted = rows
            .iter()
            .filter(|row| !forgotten.contains(row.email.as_str()));
        let wanted: Vec<_> = wanted.cloned().collect();
        let created = transaction.insert(wanted, "email").await?;
        let mut created = first_column(&created)?;
        if unforget {
            // After the contacts, in the same order as a sign-up: otherwise the two could deadlock.
            let hashes = self.tombstones(rows.iter().map(|row| &row.email));
            let hashes: Parameters<'_> = &[(&hashes, Type::BYTEA_ARRAY)];
            let unforget = "DELETE FROM tombstone WHERE address = ANY($1)";
            transaction.ask(unforget, hashes).await?;
        }
        transaction.commit().await?;
        let outcome = |row: &Contact| {
            if created.remove(row.email.as_str()) {
                ImportOutcome::Created
            } else if forgotten.contains(row.email.as_str()) {
                ImportOutcome::Forgotten
            } else {
                ImportOutcome::Known
            }
        };
        Ok(rows.iter().map(outcome).collect())
    }

    async fn forget(
        &self,
        emails: &[EmailAddress],
        _now: Timestamp,
    ) -> Result<Erasure, StoreError> {
        let mut erasure = Erasure::default();
        // So that sign-ups do not wait behind all of them.
        for emails in emails.chunks(ERASED_MAX) {
            let addresses: Vec<_> = emails.iter().map(EmailAddress::as_str).collect();
            let which: Parameters<'_> = &[(&addresses, Type::TEXT_ARRAY)];
            let mut erased = self.erase(ERASE_NAMED, which, REMEMBER).await?;
            erasure.in_flight += erased.in_flight;
            // An address listed twice was known once.
            let was_known = addresses.iter();
            let was_known = was_known.map(|address| erased.contacts.remove(*address));
            erasure.was_known.extend(was_known);
        }
        Ok(erasure)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.check_writes()
    }
}

impl PostgresStore {
    async fn contact(
        &self,
        find: &str,
        which: Parameters<'_>,
    ) -> Result<Option<Contact>, StoreError> {
        let rows = self.look_up(find, which).await?;
        rows.first().map(contact).transpose()
    }

    /// Deletes contacts by a statement that returns the addresses and which of them were contacts. Drops the deliveries
    /// that contain one of the addresses, and remembers these by `remember`.
    async fn erase(
        &self,
        delete: &str,
        which: Parameters<'_>,
        remember: &str,
    ) -> Result<Erased, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
        let mut erased = Erased::default();
        let mut emails = Vec::new();
        for row in transaction.ask(delete, which).await? {
            let email: String = column(&row, 0)?;
            if column(&row, 1)? {
                erased.contacts.insert(email.clone());
            }
            emails.push(EmailAddress::from_stored(email));
        }
        let addresses: Vec<_> = emails.iter().map(EmailAddress::as_str).collect();
        let named: Parameters<'_> = &[(&addresses, Type::TEXT_ARRAY)];
        for row in transaction.ask(DROP_NAMING, named).await? {
            erased.in_flight += u64::from(column::<bool>(&row, 0)?);
        }
        let mut tombstones = self.tombstones(&emails);
        // Those under the current key.
        tombstones.truncate(emails.len());
        let tombstones: Parameters<'_> = &[(&tombstones, Type::BYTEA_ARRAY)];
        transaction.ask(remember, tombstones).await?;
        transaction.commit().await?;
        Ok(erased)
    }
}

/// The result of an erasure.
#[derive(Default)]
struct Erased {
    /// The addresses that were contacts.
    contacts: HashSet<String>,
    /// Number of dropped deliveries in flight.
    in_flight: u64,
}

fn first_column(rows: &[Row]) -> Result<HashSet<String>, StoreError> {
    rows.iter().map(|row| column(row, 0)).collect()
}

fn contact(row: &Row) -> Result<Contact, StoreError> {
    let kept: Vec<Vec<u8>> = column(row, 2)?;
    let consent: Option<ConsentEntry> = json_column(row, 5)?;
    let confirmation: Option<ConfirmationEntry> = json_column(row, 8)?;
    Ok(Contact {
        email: EmailAddress::from_stored(column(row, 1)?),
        signers: signers(&kept),
        subscribed_at: instant_column(row, 3)?,
        last_seen_at: instant_column(row, 4)?,
        consent: consent.and_then(ConsentEntry::into_consent),
        left_at: optional_instant(row, 6)?,
        leave_token: bytes_column(row, 7)?.map(LeaveToken::from_bytes),
        confirmation: confirmation.map(Into::into),
    })
}
