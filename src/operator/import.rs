//! Importing contacts.

use std::borrow::Cow;
use std::io;
use std::mem;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::domain::{
    Contact, ContactStatus, Counted, Counts, DAY_MS, EmailAddress, Hour, ImportOutcome, LeaveToken,
    Timestamp,
};
use crate::ports::{StoreError, random};

use super::operation::{Answer, Lines, OperatorError, OperatorRequest};

pub const IMPORT: &str = "contacts import";

/// Rows added at a time. Each batch is durable as a whole, and delays sign-ups by less than 100 ms.
pub const IMPORT_ROWS: usize = 10_000;

/// Known contacts unsubscribed at a time: they share a sync.
const UNSUBSCRIBED_TOGETHER: usize = 64;

/// Maximum number of bad rows reported.
const NAMED_MAX: usize = 100;

/// Tolerated clock error of another service: a day, which also covers a wrong time zone.
const CLOCK_ERROR_MS: u64 = DAY_MS;

// The faults of a row's time.
const BAD_TIME: &str = "the time of sign-up must be like 2026-01-31T12:00:00Z or 2026-01-31";
const FUTURE: &str = "the time of sign-up is in the future";

/// A row of a file. A service refuses the fields of a newer program: dropping them could lose an unsubscribe.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImportRow<'a> {
    /// Number of its first line.
    pub line: u64,
    #[serde(borrow, default)]
    pub email: Cow<'a, str>,
    /// In RFC 3339, or a date; the default is now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribed_at: Option<Cow<'a, str>>,
    #[serde(default)]
    pub unsubscribed: bool,
    /// Why the row can't be read, without its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<Cow<'a, str>>,
}

impl ImportRow<'_> {
    /// The contact of the row. White space around its parts is ignored. Without a time, the sign-up counts as
    /// made `now`.
    ///
    /// # Errors
    /// The fault of the row, in words that don't repeat its content.
    pub fn contact(&self, now: Timestamp, leave_token: LeaveToken) -> Result<Contact, String> {
        if let Some(reason) = &self.bad {
            return Err(reason.to_string());
        }
        let email = EmailAddress::parse(self.email.trim());
        let email = email.map_err(|error| format!("the address {error}"))?;
        let subscribed_at = match self.subscribed_at.as_deref().map(str::trim) {
            None | Some("") => Ok(now),
            Some(text) => match Timestamp::parse(text) {
                Some(at) if at > now.plus_ms(CLOCK_ERROR_MS) => Err(FUTURE),
                at => at.ok_or(BAD_TIME),
            },
        };
        let (subscribed_at, left_at) = if self.unsubscribed {
            // An unsubscribe counts, whatever the row's time.
            (subscribed_at.unwrap_or(now), Some(now))
        } else {
            (subscribed_at?, None)
        };
        let token = Some(leave_token);
        Ok(Contact::imported(email, subscribed_at, left_at, token))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ImportReport {
    /// Contacts that were added.
    pub created: u64,
    /// Rows of existing contacts, which are unchanged.
    pub known: u64,
    /// Existing subscribed contacts that were unsubscribed by their rows.
    pub unsubscribed: u64,
    /// Rows of erased addresses, which were skipped.
    pub forgotten: u64,
    /// Rows without a valid contact.
    pub bad: u64,
    /// The first of them.
    pub bad_rows: Vec<BadRow>,
    /// Columns of the file that were ignored. The command fills them in.
    pub ignored_columns: Vec<String>,
}

/// A row without a valid contact.
#[derive(Debug, Serialize, Deserialize)]
pub struct BadRow {
    /// Number of its first line.
    pub line: u64,
    /// The reason, without its content.
    pub reason: String,
}

/// Adds the contacts of the rows, each an [`ImportRow`]. Importing the same rows again changes nothing.
/// Erased addresses are skipped, unless `unforget`.
pub(super) async fn import(mut request: OperatorRequest) -> Result<Answer, OperatorError> {
    let (app, now) = (Arc::clone(&request.app), request.app.clock.now());
    let unforget = request.params.is_set("unforget");
    let mut report = ImportReport::default();
    let ended = add_all(&app, &mut request.rows, unforget, now, &mut report).await;
    // A command that is still sending would not read the answer.
    while let Some(Ok(_)) = request.rows.next().await {}
    let mut counts = Counts::default();
    counts.add(Counted::Imports, report.created);
    if counts != Counts::default()
        && let Err(error) = app.counts.add(Hour::of(now), &counts).await
    {
        tracing::warn!(%error, "an import is missing from the hourly counts");
    }
    tracing::info!(
        command = IMPORT,
        contacts.created = report.created,
        contacts.known = report.known,
        contacts.forgotten = report.forgotten,
        rows.bad = report.bad,
        done = ended.is_ok(),
        "operator"
    );
    match ended {
        Ok(()) => Answer::one(&report),
        Err(error) if report.created == 0 => Err(error),
        Err(error) => Err(OperatorError::InPart(format!(
            "{error}. Contacts added so far: {}; import the same file again to continue where this \
             ended",
            report.created
        ))),
    }
}

async fn add_all(
    app: &App,
    rows: &mut Lines<io::Error>,
    unforget: bool,
    now: Timestamp,
    report: &mut ImportReport,
) -> Result<(), OperatorError> {
    let mut batch = Vec::new();
    while let Some(lines) = rows.next().await {
        let lines = lines.map_err(|error| OperatorError::Input(format!("the file: {error}")))?;
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let row: ImportRow<'_> = serde_json::from_slice(line)
                .map_err(|error| OperatorError::Input(format!("a row: {error}")))?;
            let token = LeaveToken::from_bytes(random(&*app.entropy));
            match row.contact(now, token) {
                Ok(contact) => batch.push(contact),
                Err(reason) => {
                    report.bad += 1;
                    let line = row.line;
                    if report.bad_rows.len() < NAMED_MAX {
                        report.bad_rows.push(BadRow { line, reason });
                    }
                }
            }
            if batch.len() == IMPORT_ROWS {
                add(app, mem::take(&mut batch), unforget, now, report).await?;
            }
        }
    }
    add(app, batch, unforget, now, report).await
}

async fn add(
    app: &App,
    batch: Vec<Contact>,
    unforget: bool,
    now: Timestamp,
    report: &mut ImportReport,
) -> Result<(), OperatorError> {
    if batch.is_empty() {
        return Ok(());
    }
    let leaving = batch
        .iter()
        .map(|row| row.left_at.map(|_| row.email.clone()));
    let leaving: Vec<_> = leaving.collect();
    let outcomes = app.contacts.import(batch, unforget).await?;
    let mut known = Vec::new();
    for (outcome, leaving) in outcomes.into_iter().zip(leaving) {
        match outcome {
            ImportOutcome::Created => report.created += 1,
            ImportOutcome::Forgotten => report.forgotten += 1,
            ImportOutcome::Known => {
                report.known += 1;
                known.extend(leaving);
            }
        }
    }
    let mut unsubscribed = stream::iter(known)
        .map(|email| unsubscribe(app, email, now))
        .buffer_unordered(UNSUBSCRIBED_TOGETHER);
    while let Some(was_subscribed) = unsubscribed.next().await {
        report.unsubscribed += u64::from(was_subscribed?);
    }
    Ok(())
}

/// Unsubscribes an existing contact, if it is subscribed: people who unsubscribed elsewhere must not get the
/// newsletter from here.
async fn unsubscribe(app: &App, email: EmailAddress, now: Timestamp) -> Result<bool, StoreError> {
    let found = app.contacts.find(&email).await?;
    let subscribed = found.filter(|contact| contact.status() == ContactStatus::Subscribed);
    let Some(token) = subscribed.and_then(|contact| contact.leave_token) else {
        return Ok(false);
    };
    app.contacts.leave(&token, None, now).await
}

#[cfg(test)]
mod tests {
    use crate::domain::EmailError;

    use super::*;

    #[test]
    fn a_row_is_parsed_or_told_what_is_wrong() {
        let now = Timestamp::from_ms(1_800_000_000_000);
        let parse = |email: &str, time: Option<&str>, unsubscribed| {
            let row = ImportRow {
                email: email.to_owned().into(),
                subscribed_at: time.map(|time| time.to_owned().into()),
                unsubscribed,
                ..ImportRow::default()
            };
            row.contact(now, LeaveToken::from_bytes([7; 16]))
        };
        let at = |row: Result<Contact, _>| row.map(|row| row.subscribed_at.as_ms());
        let email = "Ada@Example.com";
        let row = parse(email, None, false).unwrap();
        assert_eq!((row.email.as_str(), row.left_at), ("ada@example.com", None));
        for (time, expected) in [
            (None, Ok(1_800_000_000_000)),
            (Some(""), Ok(1_800_000_000_000)),
            (Some(" 2026-01-31 "), Ok(1_769_817_600_000)),
            (Some("2026-01-31T00:00:00+01:00"), Ok(1_769_814_000_000)),
            (Some("2027-01-16T07:00:00Z"), Ok(1_800_082_800_000)),
            (Some("2027-01-16T08:00:00Z"), Ok(1_800_086_400_000)),
            (Some("2027-01-16T08:00:00.001Z"), Err(FUTURE.to_owned())),
            (Some("9999-01-01"), Err(FUTURE.to_owned())),
            (Some("1969-12-31"), Err(BAD_TIME.to_owned())),
            (Some("yesterday"), Err(BAD_TIME.to_owned())),
        ] {
            let left = parse(email, time, true).unwrap();
            assert_eq!(left.left_at, Some(now), "{time:?}");
            let left_at = expected.clone().unwrap_or(now.as_ms());
            assert_eq!(left.subscribed_at.as_ms(), left_at, "{time:?}");
            assert_eq!(at(parse(email, time, false)), expected, "{time:?}");
        }
        for (email, error) in [
            ("", EmailError::Malformed),
            ("ada", EmailError::Malformed),
            ("=1+1", EmailError::Malformed),
            ("ada@example.com,bob@example.com", EmailError::Malformed),
        ] {
            let error = Err(format!("the address {error}"));
            assert_eq!(parse(email, None, false), error);
            assert_eq!(parse(email, None, true), error);
        }
        assert!(parse(" ada@example.com ", None, false).is_ok());
    }
}
