//! Importing contacts.

use std::borrow::Cow;
use std::mem;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::domain::{
    ContactStatus, Counted, Counts, EmailAddress, Hour, ImportOutcome, ImportedContact, LeaveToken,
    Timestamp,
};
use crate::ports::{StoreError, random};

use super::operation::{Answer, OperatorError, OperatorRequest};

pub const IMPORT: &str = "contacts import";

/// Rows added at a time. Each batch is durable as a whole, and delays sign-ups by less than 100 ms.
pub const IMPORT_ROWS: usize = 10_000;

/// Known contacts unsubscribed at a time: they share a sync.
const UNSUBSCRIBED_TOGETHER: usize = 64;

// The fault of a row's status.
const BAD_STATUS: &str = "the status must be subscribed or unsubscribed";

/// Maximum number of bad rows reported.
const NAMED_MAX: usize = 100;

/// A row of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ImportRow<'a> {
    /// Number of its first line.
    pub line: u64,
    #[serde(borrow, default)]
    pub email: Cow<'a, str>,
    /// In RFC 3339, or a date; the default is now.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub subscribed_at: Option<Cow<'a, str>>,
    /// `unsubscribed` if it has unsubscribed.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Cow<'a, str>>,
    /// Why the row can't be read, without its content.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<Cow<'a, str>>,
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
    let mut import = Import {
        now: request.app.clock.now(),
        unforget: request.params.is_set("unforget"),
        batch: Vec::with_capacity(IMPORT_ROWS),
        report: ImportReport::default(),
        app: Arc::clone(&request.app),
    };
    let ended = import.read(&mut request).await;
    // A command that is still sending would not read the answer.
    while let Some(Ok(_)) = request.rows.next().await {}
    import.count().await;
    let report = import.report;
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

struct Import {
    app: Arc<App>,
    now: Timestamp,
    unforget: bool,
    batch: Vec<ImportedContact>,
    report: ImportReport,
}

impl Import {
    async fn read(&mut self, request: &mut OperatorRequest) -> Result<(), OperatorError> {
        while let Some(lines) = request.rows.next().await {
            let lines =
                lines.map_err(|error| OperatorError::Input(format!("the file: {error}")))?;
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let row: ImportRow<'_> = serde_json::from_slice(line)
                    .map_err(|error| OperatorError::Input(format!("a row: {error}")))?;
                self.take(row);
                if self.batch.len() == IMPORT_ROWS {
                    self.commit().await?;
                }
            }
        }
        self.commit().await
    }

    fn take(&mut self, row: ImportRow<'_>) {
        let parse = |subscribed_at| ImportedContact::parse(&row.email, subscribed_at, self.now);
        let status = row.status.as_deref().map(str::trim).unwrap_or_default();
        let contact = match row.bad {
            Some(reason) => Err(reason.into_owned()),
            None => parse(row.subscribed_at.as_deref()),
        };
        // An unsubscribe counts, whatever the row's time.
        let has_left = status == ContactStatus::Unsubscribed.as_str();
        let contact = contact.or_else(|reason| match has_left {
            true => parse(None).map_err(|_address| reason),
            false => Err(reason),
        });
        let contact = contact.and_then(|mut contact| {
            let status = match ContactStatus::from_name(status) {
                _ if status.is_empty() => ContactStatus::Subscribed,
                // A request sent elsewhere confirms nothing.
                Some(ContactStatus::Pending) | None => return Err(BAD_STATUS.into()),
                Some(status) => status,
            };
            contact.left_at = (status == ContactStatus::Unsubscribed).then_some(self.now);
            Ok(contact)
        });
        match contact {
            Ok(contact) => self.batch.push(contact),
            Err(reason) => {
                self.report.bad += 1;
                if self.report.bad_rows.len() < NAMED_MAX {
                    let line = row.line;
                    self.report.bad_rows.push(BadRow { line, reason });
                }
            }
        }
    }

    /// Adds the import to the counts of the hour. A failure here doesn't fail the import.
    async fn count(&self) {
        let mut counts = Counts::default();
        counts.add(Counted::Imports, self.report.created);
        if counts.is_zero() {
            return;
        }
        if let Err(error) = self.app.counts.add(Hour::of(self.now), &counts).await {
            tracing::warn!(%error, "an import is missing from the hourly counts");
        }
    }

    async fn commit(&mut self) -> Result<(), OperatorError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut batch = mem::replace(&mut self.batch, Vec::with_capacity(IMPORT_ROWS));
        for contact in &mut batch {
            let token = random(&*self.app.entropy);
            contact.leave_token = Some(LeaveToken::from_bytes(token));
        }
        let leaving = batch
            .iter()
            .map(|row| row.left_at.map(|_| row.email.clone()));
        let leaving: Vec<_> = leaving.collect();
        let outcomes = self.app.contacts.import(batch, self.unforget).await?;
        let known = outcomes.iter().zip(leaving);
        let known = known.filter_map(|(outcome, email)| {
            email.filter(|_| matches!(outcome, ImportOutcome::Known))
        });
        let unsubscribed = stream::iter(known.collect::<Vec<_>>())
            .map(|email| unsubscribe(&self.app, email, self.now))
            .buffer_unordered(UNSUBSCRIBED_TOGETHER);
        for was_subscribed in unsubscribed.collect::<Vec<_>>().await {
            self.report.unsubscribed += u64::from(was_subscribed?);
        }
        for outcome in outcomes {
            let counted = match outcome {
                ImportOutcome::Created => &mut self.report.created,
                ImportOutcome::Known => &mut self.report.known,
                ImportOutcome::Forgotten => &mut self.report.forgotten,
            };
            *counted += 1;
        }
        Ok(())
    }
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
