//! The newsletter's contacts.

use std::collections::HashSet;
use std::hash::Hash;
use std::net::IpAddr;

use async_trait::async_trait;
use serde_json::json;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSqlOwned, Type};

use crate::adapters::stored_json::Wire as _;
use crate::domain::{
    Contact, ContactStatus, Delivery, EmailAddress, Erasure, ImportOutcome, LeaveToken, SignUp,
    StatusCounts, Subscription, TextDigest, Timestamp,
};
use crate::ports::{ContactStore, ContactStream, ERASED_MAX, REFUSED_MS, StoreError};

use super::connection::{DedicatedConnection, Parameters};
use super::rows::{column, json_rows, ms, settings, state, timestamp, unexpected};
use super::store::{Change, LOCK_TIMEOUT, PostgresStore};

/// Replaces the state of a contact that is still the expected one.
const CHANGE: &str = include_str!("change.sql");

/// The part for a sign-up, whose address is no longer forgotten. Contacts are locked before tombstones, as by imports.
const UNFORGOTTEN: &str = ", unforgotten AS (DELETE FROM tombstone USING kept WHERE address = ANY($5) \
     AND coalesce(refused_at <= now() - interval '30 days', true))";

const COUNT: &str = "SELECT count(*) FROM contact \
     WHERE ($1 IS NULL OR subscribed_ms >= $1) AND ($2 IS NULL OR subscribed_ms < $2)";

/// Each is answered by an index that has nothing else.
const STATUS_COUNTS: &str = "SELECT (SELECT count(*) FROM contact WHERE is_pending), \
     (SELECT count(*) FROM contact WHERE has_left AND NOT is_pending)";

/// Same rule as [`Contact::pending_since`].
const OVERDUE: &str = "SELECT place, state::text FROM contact, LATERAL (SELECT \
         greatest((state #> '{confirmation,mailed_at}')::bigint, \
             (state #> '{confirmation,undeliverable_at}')::bigint), \
         coalesce(state #> '{consent,at}', state -> 'seen_at')::bigint) AS mail (ended_at, asked_at) \
     WHERE is_pending AND (NOT $2 OR ended_at IS NOT NULL) AND coalesce(ended_at, asked_at + $3) <= $1 \
     ORDER BY place LIMIT $4";

/// Contacts that had unsubscribed before stay. Same rule as [`Contact::expire`]: `previous` has fields of a contact.
const EXPIRE: &str = "WITH stayed AS (UPDATE contact SET state = state - 'confirmation' - 'consent' - 'previous' \
             || coalesce(state -> 'previous', '{}') \
         WHERE token = ANY($1) AND is_pending AND has_left RETURNING email), \
     erased AS (DELETE FROM contact WHERE token = ANY($1) AND is_pending AND NOT has_left RETURNING email) \
     SELECT email, NULL::boolean FROM stayed UNION ALL SELECT email, true FROM erased";
const ERASE_PENDING: &str =
    "DELETE FROM contact WHERE token = ANY($1) AND is_pending RETURNING email, true";
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

/// Of hashes, returns those of forgotten addresses.
const FORGOTTEN: &str = "SELECT address FROM tombstone WHERE address = ANY($1)";

/// Makes an erasure wait for the sign-ups in progress, and later sign-ups wait until it is committed. Otherwise a
/// sign-up that began earlier could not see the new tombstone, and the address would have both a contact and a
/// tombstone. The lock is on `tombstone`, which is small: its vacuum is short.
///
/// Sign-ups wait for the lock when they are parsed, before their own `lock_timeout` applies, and their deadline is 2 s:
/// an erasure that does not get it soon fails, and the server ends one whose node is gone. Other changes of contacts
/// take no such lock: those of an address that is being erased wait for its row.
const BOUND_ERASURE: &str = "SET LOCAL lock_timeout = '500ms'; \
     SET LOCAL idle_in_transaction_session_timeout = '1s'; \
     LOCK TABLE tombstone IN SHARE ROW EXCLUSIVE MODE";

/// Erased addresses are in no file of this program. The rows are gone for every reader; the server's own files,
/// its log and its backups lose them when the server vacuums, recycles and expires them. So nothing is
/// reported to remain.
#[async_trait]
impl ContactStore for PostgresStore {
    async fn sign_up(&self, sign_up: SignUp) -> Result<Subscription, StoreError> {
        let change = self.begin_change()?;
        if let (Some(_), Some(text)) = (sign_up.consent.text, &sign_up.consent_text) {
            change.add_new(text).await?;
        }
        let hashes = self.tombstones([&sign_up.email]);
        let column = ("email", sign_up.email.as_str());
        let kept = self.change_contact(&change, column, &hashes, |known| {
            Some(Contact::signed_up(known, sign_up.clone()))
        });
        kept.await?.ok_or_else(unexpected)
    }

    async fn find(&self, email: &EmailAddress) -> Result<Option<Contact>, StoreError> {
        self.find_contact(("email", email.as_str())).await
    }

    async fn find_by_token(&self, token: &LeaveToken) -> Result<Option<Contact>, StoreError> {
        // The semaphore is never closed.
        let _turn = self.looking_up_tokens.acquire().await;
        self.find_contact(("token", &token.to_string())).await
    }

    async fn leave(
        &self,
        token: &LeaveToken,
        notice: Option<Delivery>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let leave = |contact: &mut Contact| contact.leave(now);
        self.change_known(("token", &token.to_string()), notice, leave)
            .await
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
        let confirm = |contact: &mut Contact| contact.confirm(now, ip);
        self.change_known(("token", &token.to_string()), notice, confirm)
            .await
    }

    async fn refuse(&self, token: &LeaveToken, _now: Timestamp) -> Result<bool, StoreError> {
        let tokens = [token.to_string()];
        let which: Parameters<'_> = &[(&&tokens[..], Type::TEXT_ARRAY)];
        let erased = self.erase(ERASE_PENDING, which, REMEMBER_REFUSAL).await?;
        Ok(!erased.contacts.is_empty())
    }

    async fn expire(&self, tokens: Vec<LeaveToken>, _now: Timestamp) -> Result<u64, StoreError> {
        let mut count = 0;
        for tokens in tokens.chunks(ERASED_MAX) {
            let tokens: Vec<_> = tokens.iter().map(LeaveToken::to_string).collect();
            let which: Parameters<'_> = &[(&tokens, Type::TEXT_ARRAY)];
            let erased = self.erase(EXPIRE, which, REMEMBER).await?;
            count += erased.stayed + erased.contacts.len() as u64;
        }
        Ok(count)
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
        let refused_at: Option<_> = column(rows.first().ok_or_else(unexpected)?, 0)?;
        let until = refused_at.map(|at| timestamp(at).plus_ms(REFUSED_MS));
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
            (&ms(before), Type::INT8),
            (&is_mailed, Type::BOOL),
            (&Delivery::ATTEMPTS_MS_MAX.cast_signed(), Type::INT8),
            (&count, Type::INT8),
        ];
        let rows = self.ask_apart(OVERDUE, values).await?;
        rows.iter().map(state).collect()
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
        let list = "SELECT place, state::text FROM contact WHERE place > $1 \
             AND ($2 IS NULL OR subscribed_ms >= $2) AND ($3 IS NULL OR subscribed_ms < $3)";
        self.pages(list, (since, until), state).await
    }

    async fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let parameters: Parameters<'_> =
            &[(&since.map(ms), Type::INT8), (&until.map(ms), Type::INT8)];
        let rows = self.ask_apart(COUNT, parameters).await?;
        column::<i64>(rows.first().ok_or_else(unexpected)?, 0).map(i64::cast_unsigned)
    }

    async fn import(
        &self,
        rows: Vec<Contact>,
        unforget: bool,
    ) -> Result<Vec<ImportOutcome>, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, "").await?;
        let hashes = self.tombstones(rows.iter().map(|row| &row.email));
        let hashes: Parameters<'_> = &[(&hashes, Type::BYTEA_ARRAY)];
        let mut forgotten: HashSet<Vec<u8>> = HashSet::new();
        if !unforget {
            forgotten = first_column(&transaction.ask(FORGOTTEN, hashes).await?)?;
        }
        let is_forgotten = |row: &Contact| {
            let mut hashes = self.tombstones([&row.email]).into_iter();
            hashes.any(|hash| forgotten.contains(&hash))
        };
        let wanted = rows.iter().filter(|row| !is_forgotten(row));
        let wanted: Vec<_> = wanted.cloned().collect();
        let created = transaction.insert(wanted, "email").await?;
        let mut created: HashSet<String> = first_column(&created)?;
        if unforget {
            // After the contacts, in the same order as a sign-up: otherwise the two could deadlock.
            let unforget = "DELETE FROM tombstone WHERE address = ANY($1)";
            transaction.ask(unforget, hashes).await?;
        }
        transaction.commit().await?;
        let outcome = |row: &Contact| {
            if created.remove(row.email.as_str()) {
                ImportOutcome::Created
            } else if is_forgotten(row) {
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
        self.links.check()
    }
}

impl PostgresStore {
    /// The contact with this value in this column.
    async fn find_contact(
        &self,
        (name, value): (&str, &str),
    ) -> Result<Option<Contact>, StoreError> {
        let find = format!("SELECT place, state::text FROM contact WHERE {name} = $1");
        let rows = self.look_up(&find, &[(&value, Type::TEXT)]).await?;
        rows.first().map(state).transpose()
    }

    /// Applies `change` to the contact with this value in this column, and queues the notice with it. Returns whether
    /// there is one, and `change` returned true.
    pub(super) async fn change_known(
        &self,
        column: (&str, &str),
        notice: Option<Delivery>,
        change: impl Fn(&mut Contact) -> bool + Sync,
    ) -> Result<bool, StoreError> {
        let decide = |known: Option<Contact>| {
            let mut contact = known?;
            change(&mut contact).then(|| (contact, (), notice.clone()))
        };
        let change = self.begin_change()?;
        let changed = self.change_contact(&change, column, &[], decide).await?;
        Ok(changed.is_some())
    }

    /// Changes the contact with this value in this column to the result of `decide`, if there is one, and queues the
    /// notice with it. If another node has changed it meanwhile, it is read and decided again. The `hashes` of the
    /// address are those of a sign-up.
    async fn change_contact<T>(
        &self,
        change: &Change<'_>,
        (name, value): (&str, &str),
        hashes: &[Vec<u8>],
        decide: impl Fn(Option<Contact>) -> Option<(Contact, T, Option<Delivery>)> + Sync,
    ) -> Result<Option<T>, StoreError> {
        let find = format!("SELECT place, state::text FROM contact WHERE {name} = $1");
        let more = if hashes.is_empty() { "" } else { UNFORGOTTEN };
        let settings = settings(LOCK_TIMEOUT);
        let statement = format!("{settings} {CHANGE} {more} SELECT email FROM kept");
        let _turn = self.turn_of(value).lock().await;
        loop {
            let rows = change.ask(&find, &[(&value, Type::TEXT)]).await?;
            let known = rows.first();
            let Some((contact, outcome, notice)) = decide(known.map(state).transpose()?) else {
                return Ok(None);
            };
            let before: Option<String> = known.map(|row| column(row, 1)).transpose()?;
            let has_left = contact.status() == ContactStatus::Unsubscribed;
            let values: Parameters<'_> = &[
                (&before, Type::TEXT),
                (&json!(contact.to_json()).to_string(), Type::TEXT),
                (&json_rows(&notice), Type::TEXT),
                (&has_left, Type::BOOL),
                (&hashes, Type::BYTEA_ARRAY),
            ];
            if !change.ask(&statement, values).await?.is_empty() {
                return Ok(Some(outcome));
            }
        }
    }

    /// Erases contacts by a statement that returns addresses, and whether each was a contact; null for a contact that
    /// stays. Drops the deliveries that contain one of the addresses, and remembers the erased ones by `remember`.
    async fn erase(
        &self,
        erase: &str,
        which: Parameters<'_>,
        remember: &str,
    ) -> Result<Erased, StoreError> {
        let transaction = DedicatedConnection::begin(&self.connector, BOUND_ERASURE).await?;
        let mut erased = Erased::default();
        let (mut addresses, mut forgotten) = (Vec::new(), Vec::new());
        for row in transaction.ask(erase, which).await? {
            let address: String = column(&row, 0)?;
            let was_contact: Option<bool> = column(&row, 1)?;
            if was_contact == Some(true) {
                erased.contacts.insert(address.clone());
            }
            match was_contact {
                Some(_) => forgotten.push(EmailAddress::from_stored(address.clone())),
                None => erased.stayed += 1,
            }
            addresses.push(address);
        }
        let named: Parameters<'_> = &[(&addresses, Type::TEXT_ARRAY)];
        for row in transaction.ask(DROP_NAMING, named).await? {
            erased.in_flight += u64::from(column::<bool>(&row, 0)?);
        }
        let mut tombstones = self.tombstones(&forgotten);
        // Those under the current key.
        tombstones.truncate(forgotten.len());
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
    /// Number of contacts that stay.
    stayed: u64,
    /// Number of dropped deliveries in flight.
    in_flight: u64,
}

fn first_column<T: FromSqlOwned + Eq + Hash>(rows: &[Row]) -> Result<HashSet<T>, StoreError> {
    rows.iter().map(|row| column(row, 0)).collect()
}
