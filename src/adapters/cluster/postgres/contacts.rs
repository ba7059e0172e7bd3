//! The newsletter's contacts.

use std::collections::HashSet;
use std::net::IpAddr;

use async_trait::async_trait;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::domain::{
    Confirmation, Confirming, Contact, ContactStatus, Delivery, EmailAddress, Erasure,
    ImportOutcome, LeaveToken, SignUp, StatusCounts, Subscription, TextDigest, Timestamp,
};
use crate::ports::{ContactStore, ContactStream, ERASED_MAX, REFUSED_MS, StoreError};

use super::committer::tombstones;
use super::connection::Parameters;
use super::connector::DedicatedConnection;
use super::rows::{
    Stored as _, bytes_column, column, consent_column, delivery_rows, instant, instant_column,
    optional_instant, queue, signers, unexpected,
};
use super::store::PostgresStore;

/// The columns that [`contact`] reads.
const CONTACT: &str = "SELECT place, email, signers, subscribed_at, last_seen_at, consent, left_at, leave_token, \
         asked, mailed_at, undeliverable_at, confirmed_at, confirmed_ip \
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
    ", confirmed AS (UPDATE contact SET confirmed_at = $2, confirmed_ip = $4, left_at = NULL FROM settings \
         WHERE leave_token = $1 AND is_pending RETURNING place), \
     queued AS (",
    queue!("confirmed", "$3"),
    ") SELECT place FROM confirmed"
);

/// Same rule as [`Contact::pending_since`].
const OVERDUE: &str = "WHERE is_pending AND (NOT $2 OR coalesce(mailed_at, undeliverable_at) IS NOT NULL) \
         AND coalesce(greatest(mailed_at, undeliverable_at), \
             coalesce(to_timestamp((consent::json->>'at')::float8 / 1000), last_seen_at) \
                 + make_interval(secs => $3)) <= $1 \
     ORDER BY place LIMIT $4";

/// Applied to unconfirmed contacts: first those that had unsubscribed before, then all others.
const EXPIRE: &str = "UPDATE contact SET asked = false, consent = NULL \
     WHERE leave_token = ANY($1) AND is_pending AND left_at IS NOT NULL RETURNING email";
const ERASE_PENDING: &str =
    "DELETE FROM contact WHERE leave_token = ANY($1) AND is_pending RETURNING email";

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
        self.commit(sign_up).await
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        let find = format!("{CONTACT} WHERE email = $1");
        let email: Parameters<'_> = &[(&email.as_str(), Type::TEXT)];
        let rows = self.look_up(&find, email).await?;
        rows.first().map(contact).transpose()
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        // The semaphore is never closed.
        let _turn = self.looking_up_tokens.acquire().await;
        let find = format!("{CONTACT} WHERE leave_token = $1");
        let token: Parameters<'_> = &[(&&token.as_bytes()[..], Type::BYTEA)];
        let rows = self.look_up(&find, token).await?;
        rows.first().map(contact).transpose()
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
    ) -> Result<Confirming, StoreError> {
        let values: Parameters<'_> = &[
            (&&token.as_bytes()[..], Type::BYTEA),
            (&instant(now), Type::TIMESTAMPTZ),
            (&delivery_rows(&notice), Type::TEXT),
            (&ip.map(|ip| ip.to_string()), Type::TEXT),
        ];
        if !self.change(CONFIRM, values).await?.is_empty() {
            return Ok(Confirming::Confirmed);
        }
        let contact = self.find_by_token(token).await?;
        let status = contact.map(|contact| contact.status());
        Ok(match status {
            Some(ContactStatus::Subscribed) => Confirming::ConfirmedBefore,
            Some(ContactStatus::Pending | ContactStatus::Unsubscribed) | None => {
                Confirming::Unknown
            }
        })
    }

    async fn refuse(&self, token: &LeaveToken, _now: Timestamp) -> Result<bool, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
        let tokens = [&token.as_bytes()[..]];
        let gone = emails(&transaction, ERASE_PENDING, &tokens).await?;
        self.erase(&transaction, &gone, REMEMBER_REFUSAL).await?;
        transaction.commit().await?;
        Ok(!gone.is_empty())
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, _now: Timestamp) -> Result<u64, StoreError> {
        let mut count = 0;
        for tokens in tokens.chunks(ERASED_MAX) {
            let tokens: Vec<_> = tokens.iter().map(|token| &token.as_bytes()[..]).collect();
            let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
            let stay = emails(&transaction, EXPIRE, &tokens).await?;
            let gone = emails(&transaction, ERASE_PENDING, &tokens).await?;
            let waiting: Parameters<'_> = &[(&column_of(&stay), Type::TEXT_ARRAY)];
            transaction.ask(DROP_NAMING, waiting).await?;
            self.erase(&transaction, &gone, REMEMBER).await?;
            transaction.commit().await?;
            count += (stay.len() + gone.len()) as u64;
        }
        Ok(count)
    }

    async fn suppressed_until(
        &self,
        email: &EmailAddress,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, StoreError> {
        let hashes = tombstones(&self.tombstone_keys, [email]);
        let hashes: Parameters<'_> = &[(&hashes, Type::BYTEA_ARRAY)];
        let find = "SELECT max(refused_at) FROM tombstone WHERE address = ANY($1)";
        let rows = self.look_up(find, hashes).await?;
        let refused_at = optional_instant(rows.first().ok_or_else(unexpected)?, 0)?;
        let until = refused_at.map(|at| at.plus_ms(REFUSED_MS));
        Ok(until.filter(|until| now < *until))
    }

    async fn allow(&self, email: &EmailAddress) -> Result<(), StoreError> {
        let hashes = tombstones(&self.tombstone_keys, [email]);
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
        let attempts_s = Delivery::ATTEMPTS_MS_MAX as f64 / 1000.0;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let values: Parameters<'_> = &[
            (&instant(before), Type::TIMESTAMPTZ),
            (&is_mailed, Type::BOOL),
            (&attempts_s, Type::FLOAT8),
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
            let hashes = tombstones(&self.tombstone_keys, emails.clone());
            let emails: Vec<&str> = emails.map(EmailAddress::as_str).collect();
            let hashed: Parameters<'_> = &[
                (&emails.repeat(self.tombstone_keys.len()), Type::TEXT_ARRAY),
                (&hashes, Type::BYTEA_ARRAY),
            ];
            first_column(&transaction.ask(FORGOTTEN, hashed).await?)?
        };
        let wanted = rows
            .iter()
            .filter(|row| !forgotten.contains(row.email.as_str()));
        let wanted: Vec<_> = wanted.cloned().collect();
        let encoded = move || wanted.iter().flat_map(Contact::rows).collect();
        let created = transaction.insert(Contact::TABLE, encoded, "email").await?;
        let mut created = first_column(&created)?;
        if unforget {
            // After the contacts, in the same order as a sign-up: otherwise the two could deadlock.
            let hashes = tombstones(&self.tombstone_keys, rows.iter().map(|row| &row.email));
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
            let addresses = column_of(emails);
            let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
            let delete = "DELETE FROM contact WHERE email = ANY($1) RETURNING email";
            let deleted = transaction
                .ask(delete, &[(&addresses, Type::TEXT_ARRAY)])
                .await?;
            let mut deleted = first_column(&deleted)?;
            erasure.in_flight += self.erase(&transaction, emails, REMEMBER).await?;
            transaction.commit().await?;
            // An address listed twice was known once.
            let was_known = addresses.iter().map(|address| deleted.remove(*address));
            erasure.was_known.extend(was_known);
        }
        Ok(erasure)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.writes.check()
    }
}

impl PostgresStore {
    /// Drops deliveries that contain one of the addresses, which are not contacts any more, and remembers the addresses
    /// by `remember`. Returns the number of deliveries in flight.
    async fn erase(
        &self,
        transaction: &DedicatedConnection,
        emails: &[EmailAddress],
        remember: &str,
    ) -> Result<u64, StoreError> {
        let named: Parameters<'_> = &[(&column_of(emails), Type::TEXT_ARRAY)];
        let mut in_flight = 0;
        for row in transaction.ask(DROP_NAMING, named).await? {
            in_flight += u64::from(column::<bool>(&row, 0)?);
        }
        let current = self.tombstone_keys.get(..1).unwrap_or_default();
        let tombstones = tombstones(current, emails);
        let tombstones: Parameters<'_> = &[(&tombstones, Type::BYTEA_ARRAY)];
        transaction.ask(remember, tombstones).await?;
        Ok(in_flight)
    }
}

/// The addresses returned by a statement about the contacts with these tokens.
async fn emails(
    transaction: &DedicatedConnection,
    statement: &str,
    tokens: &[&[u8]],
) -> Result<Vec<EmailAddress>, StoreError> {
    let tokens: Parameters<'_> = &[(&tokens, Type::BYTEA_ARRAY)];
    let rows = transaction.ask(statement, tokens).await?;
    let emails = rows.iter().map(|row| column(row, 0));
    emails
        .map(|email| email.map(EmailAddress::from_stored))
        .collect()
}

fn column_of(emails: &[EmailAddress]) -> Vec<&str> {
    emails.iter().map(EmailAddress::as_str).collect()
}

fn first_column(rows: &[Row]) -> Result<HashSet<String>, StoreError> {
    rows.iter().map(|row| column(row, 0)).collect()
}

fn contact(row: &Row) -> Result<Contact, StoreError> {
    let kept: Vec<Vec<u8>> = column(row, 2)?;
    Ok(Contact {
        email: EmailAddress::from_stored(column(row, 1)?),
        signers: signers(&kept),
        subscribed_at: instant_column(row, 3)?,
        last_seen_at: instant_column(row, 4)?,
        consent: consent_column(row, 5)?,
        left_at: optional_instant(row, 6)?,
        leave_token: bytes_column(row, 7)?.map(LeaveToken::from_bytes),
        confirmation: confirmation(row)?,
    })
}

/// Columns 8 to 12.
fn confirmation(row: &Row) -> Result<Option<Confirmation>, StoreError> {
    let ip: Option<String> = column(row, 12)?;
    let confirmation = Confirmation {
        mailed_at: optional_instant(row, 9)?,
        undeliverable_at: optional_instant(row, 10)?,
        confirmed_at: optional_instant(row, 11)?,
        ip: ip.and_then(|text| text.parse().ok()),
    };
    Ok(column::<bool>(row, 8)?.then_some(confirmation))
}
