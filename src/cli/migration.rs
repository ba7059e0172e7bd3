//! Commands about the database that several nodes share: its tables, and the move of a data directory there.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::json;

use crate::adapters::cluster::postgres::{Migration, PostgresStore, Totals};
use crate::adapters::files::counts::FileCountStore;
use crate::adapters::files::data_dir::DataDir;
use crate::adapters::ledger::LedgerStore;
use crate::adapters::system::SystemClock;
use crate::config::{Args, Consent, OutputForm};
use crate::domain::{Channel, Hour, KEPT_HOURS};
use crate::metrics::Metrics;
use crate::ports::{
    Clock as _, ContactStore, CountStore as _, DeliveryQueue, KeyIssuer, PageStream,
    RevocationList, StoreError,
};
use crate::wiring::engines;

use super::consent::obtain;
use super::outcome::{CommandError, Done, blocking};
use super::output::{Output, Progress, grouped, number, show, text};
use super::signals::unless_interrupted;

/// What one of two copies had revoked or erased meanwhile, the other would bring back.
const NOT_EMPTY: &str = "the database holds contacts, keys or counts already: move needs an empty one. To repeat a move, \
                         first TRUNCATE contact, delivery, tombstone, api_key, revocation, hourly_count";

/// How many values are copied at a time.
const BATCH_LEN: usize = 20_000;

/// Makes or updates the tables.
pub(super) async fn migrate(form: OutputForm, args: &Args) -> Result<Done, CommandError> {
    let secret = engines::shared_secret(&args.engines)?;
    let Migration {
        before,
        after,
        secret_replaced,
    } = engines::migrate_store(&args.engines, &secret).await?;
    let value = json!({"before": before, "after": after, "secret_replaced": secret_replaced});
    let before = before.map_or_else(|| "none".to_owned(), |it| format!("version {it}"));
    let secret = if secret_replaced {
        "the first of the file, in place of another"
    } else {
        "the first of the file"
    };
    let fields = [
        ("Tables before", before),
        ("Tables now", format!("version {after}")),
        ("Secret", secret.to_owned()),
    ];
    show(form, &value, |output| output.fields(&fields))
}

/// Copies what the data directory keeps to the database: all of it, or nothing if it breaks off.
pub(super) async fn move_to_store(consent: Consent, args: &Args) -> Result<Done, CommandError> {
    let Some(dir) = args.data_dir.as_deref() else {
        return Err(CommandError::Input(
            "move needs the --data-dir to copy".to_owned(),
        ));
    };
    let secret = engines::shared_secret(&args.engines)?;
    obtain(consent, "fill the database of --store from this directory").await?;
    let data_dir = DataDir::open_existing(dir)?;
    if !secret.contains(data_dir.secret()) {
        let dir = dir.display();
        return Err(CommandError::Input(format!(
            "--secret-file holds another secret than {dir}/secret, without which keys, tokens and \
             cookies would no longer be good: give that file, or a copy of it, to all nodes"
        )));
    }
    let ledger = LedgerStore::open(&data_dir)?;
    let counts = FileCountStore::open(&data_dir.counts());
    let metrics = Arc::new(Metrics::new([]));
    let copy = async {
        engines::migrate_store(&args.engines, &secret).await?;
        let store = engines::open_store(&args.engines, &secret, &metrics).await?;
        store.begin_filling().await.map_err(CommandError::failed)?;
        if store.totals().await.map_err(CommandError::failed)? != Totals::default() {
            return Err(CommandError::Failed(NOT_EMPTY.to_owned()));
        }
        let copied = copy(&ledger, &counts, &store).await?;
        let found = store.totals().await.map_err(CommandError::failed)?;
        store.end_filling().await.map_err(CommandError::failed)?;
        Ok((copied, found))
    };
    let copied = unless_interrupted(copy).await;
    // Leaves the mark of a clean stop for the next start.
    let closed = blocking(move || ledger.close()).await;
    let (copied, found) = copied?;
    closed?;
    report(consent.form, copied, found)
}

/// Copies everything, and returns how much there was.
async fn copy(
    ledger: &LedgerStore,
    counts: &FileCountStore,
    store: &PostgresStore,
) -> Result<Totals, CommandError> {
    let progress = Progress::of_things("copying");
    let contacts = ContactStore::list(ledger, None, None).await;
    let contacts = copy_pages(contacts, &progress, async |page| {
        store.copy_contacts(&page).await
    });
    let contacts = contacts.await?;
    let texts = copy_pages(ledger.consent_texts().await, &progress, async |page| {
        store.copy_consent_texts(&page).await
    });
    texts.await?;
    let deliveries = copy_pages(DeliveryQueue::list(ledger).await, &progress, async |page| {
        store.copy_deliveries(page, SystemClock.now()).await
    });
    let deliveries = deliveries.await?;
    // Some may have been made when the next node runs.
    for channel in Channel::ALL.into_iter().filter(|_| deliveries > 0) {
        let held = store.hold(channel, true).await;
        held.map_err(CommandError::failed)?;
    }
    let keys = KeyIssuer::list(ledger).await;
    let keys = copy_pages(keys, &progress, async |page| store.copy_keys(&page).await).await?;
    let revocations = RevocationList::list(ledger).await;
    let revocations = copy_pages(revocations, &progress, async |page| {
        store.copy_revocations(&page).await
    });
    let revocations = revocations.await?;
    let tombstones = copy_pages(ledger.tombstones().await, &progress, async |page| {
        store.copy_tombstones(&page).await
    });
    let tombstones = tombstones.await?;
    let now = Hour::of(SystemClock.now());
    let hours = counts.list(now.minus(KEPT_HOURS), now.next()).await;
    let hours = hours.map_err(CommandError::failed)?;
    store
        .copy_counts(&hours)
        .await
        .map_err(CommandError::failed)?;
    Ok(Totals {
        contacts,
        deliveries,
        keys,
        revocations,
        tombstones,
        hours: hours.len() as u64,
    })
}

/// Copies a list, [`BATCH_LEN`] values and more at a time.
async fn copy_pages<T>(
    listed: Result<PageStream<T>, StoreError>,
    progress: &Progress,
    copy: impl AsyncFn(Vec<T>) -> Result<(), StoreError>,
) -> Result<u64, CommandError> {
    let mut pages = listed.map_err(CommandError::failed)?;
    let (mut count, mut batch) = (0, Vec::new());
    loop {
        let page = pages
            .next()
            .await
            .transpose()
            .map_err(CommandError::failed)?;
        let is_last = page.is_none();
        batch.extend(page.into_iter().flatten());
        if batch.len() >= BATCH_LEN || is_last && !batch.is_empty() {
            count += batch.len() as u64;
            progress.advance(batch.len());
            copy(std::mem::take(&mut batch))
                .await
                .map_err(CommandError::failed)?;
        }
        if is_last {
            return Ok(count);
        }
    }
}

/// Prints how much was copied and how much there is now.
fn report(form: OutputForm, copied: Totals, found: Totals) -> Result<Done, CommandError> {
    let rows = [
        ("contacts", copied.contacts, found.contacts),
        ("deliveries", copied.deliveries, found.deliveries),
        ("erased addresses", copied.tombstones, found.tombstones),
        ("keys", copied.keys, found.keys),
        ("revoked agents", copied.revocations, found.revocations),
        ("hours of counts", copied.hours, found.hours),
    ];
    let mut output = Output::new(form);
    if output.is_json {
        for (what, copied, found) in rows {
            output.json(&json!({"what": what, "copied": copied, "found": found}))?;
        }
    } else {
        let columns = [text("What"), number("Data directory"), number("Database")];
        let row = |(what, copied, found): (&str, u64, u64)| {
            vec![what.to_owned(), grouped(copied), grouped(found)]
        };
        output.table(&columns, &rows.map(row))?;
    }
    output.flush()?;
    match rows.iter().find(|(_, copied, found)| found < copied) {
        None => Ok(Done::Whole),
        Some((what, _, _)) => Err(CommandError::Failed(format!(
            "the database has fewer {what} than the data directory: is another program changing it? Run \
             the command again"
        ))),
    }
}
