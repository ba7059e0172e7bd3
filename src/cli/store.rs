//! Commands about everything that is stored: a data directory, whose files most of them work on without the service, and the
//! database shared by several nodes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::adapters::cluster::postgres::{
    DedicatedConnection, Migration, PostgresStore, Stored, counts_of,
};
use crate::adapters::files::SystemFiles;
use crate::adapters::files::backup::{self, Written};
use crate::adapters::files::counts::FileCountStore;
use crate::adapters::files::data_dir::{COUNTS, DataDir};
use crate::adapters::ledger::{LedgerStore, repair_ledger, verify_ledger};
use crate::adapters::system::SystemClock;
use crate::config::{Args, Consent, OutputForm};
use crate::domain::{Channel, Hour, KEPT_HOURS};
use crate::metrics::Metrics;
use crate::operator::ledger::COMPACT;
use crate::ports::{
    Clock as _, ContactStore, CountStore as _, DeliveryQueue, KeyIssuer, PageStream,
    RevocationList, StoreError,
};
use crate::wiring::engines;

use super::answers::show_fields;
use super::client::Client;
use super::input::{self, obtain};
use super::outcome::{CommandError, Done, blocking};
use super::signals::unless_interrupted;

/// Backs `data_dir` up.
pub(super) async fn back_up(
    file: PathBuf,
    force: bool,
    form: OutputForm,
    data_dir: &Path,
) -> Result<Done, CommandError> {
    let path = data_dir.to_owned();
    if file == Path::new("-") {
        let write = move || backup::write(&path, io::stdout().lock());
        return blocking(write).await.map(|_written| Done::Whole);
    }
    let target = file.clone();
    let write = move || backup::write_file(&SystemFiles, &path, &target, force);
    let Written { entries, bytes } = blocking(write).await?;
    let file = file.display().to_string();
    let value = json!({"file": file, "entries": entries, "bytes": bytes});
    show_fields(form, "backup", &value)
}

/// Restores `data_dir` from a backup.
pub(super) async fn restore(
    file: &Path,
    form: OutputForm,
    data_dir: &Path,
) -> Result<Done, CommandError> {
    let path = data_dir.to_owned();
    let file = input::open(file).await?;
    let restored = blocking(move || backup::restore(&SystemFiles, &path, file)).await?;
    show_fields(form, "restore", &restored)
}

/// Verifies the ledger in `data_dir`.
pub(super) async fn verify(form: OutputForm, data_dir: &Path) -> Result<Done, CommandError> {
    let path = data_dir.to_owned();
    let report = blocking(move || verify_ledger(&path)).await?;
    show_fields(form, "ledger verify", &report)
}

/// Repairs the ledger in `data_dir`.
pub(super) async fn repair(
    consent: Consent,
    form: OutputForm,
    data_dir: &Path,
) -> Result<Done, CommandError> {
    obtain(consent, "remove the damaged parts of the ledger").await?;
    let path = data_dir.to_owned();
    let repaired = blocking(move || repair_ledger(&(Arc::new(SystemFiles) as _), &path)).await?;
    let answer = match repaired {
        // A path that is not UTF-8 has no JSON.
        Some(repair) => serde_json::to_value(repair).map_err(io::Error::from)?,
        None => json!({"damage": null}),
    };
    show_fields(form, "ledger repair", &answer)
}

/// Compacts the ledger.
pub(super) async fn compact(client: &Client) -> Result<Done, CommandError> {
    let compacted: Value = client.one(COMPACT, json!({})).await?;
    show_fields(client.form, COMPACT, &compacted)
}

/// Revocations and erasures in one of two copies would be undone by the other.
const NOT_EMPTY: &str = "the database already contains data: move needs an empty one. To repeat a move, \
                         first TRUNCATE contact, delivery, held_channel, consent_text, tombstone, api_key, revocation, \
                         hourly_count";

/// Creates the tables.
pub(super) async fn migrate(form: OutputForm, args: &Args) -> Result<Done, CommandError> {
    let secret = engines::shared_secret(&args.engines)?;
    let Migration {
        before,
        after,
        secret_replaced,
    } = engines::migrate_store(&args.engines, &secret).await?;
    let value = json!({"before": before, "after": after, "secret_replaced": secret_replaced});
    show_fields(form, "migrate", &value)
}

/// Copies the data directory to the database: all of it, or nothing if it breaks off.
pub(super) async fn move_to_store(
    consent: Consent,
    form: OutputForm,
    args: &Args,
) -> Result<Done, CommandError> {
    let Some(dir) = args.data_dir.as_deref() else {
        return Err(CommandError::Input(
            "move needs the --data-dir to copy".to_owned(),
        ));
    };
    let secret = engines::shared_secret(&args.engines)?;
    obtain(consent, "copy this directory to the database of --store").await?;
    let data_dir = DataDir::open_existing(dir)?;
    if !secret.ids().contains(&data_dir.secret().id()) {
        let dir = dir.display();
        return Err(CommandError::Input(format!(
            "--secret-file has a different secret than {dir}/secret, so keys, tokens and cookies \
             would become invalid: use that file, or a copy of it, on all nodes"
        )));
    }
    let ledger = LedgerStore::open(&data_dir)?;
    let counts = FileCountStore::open(&data_dir.path().join(COUNTS));
    let metrics = Arc::new(Metrics::new([]));
    let copy = async {
        engines::migrate_store(&args.engines, &secret).await?;
        let store = engines::open_store(&args.engines, &secret, &metrics, false).await?;
        copy(&ledger, &counts, &store).await
    };
    let copied = unless_interrupted(copy).await;
    // Leaves the mark of a clean stop for the next start.
    let closed = blocking(move || ledger.close()).await;
    let copied = copied?;
    closed?;
    show_fields(form, "move", &copied)
}

/// Copies everything, and returns the numbers. The database reports for each row if it was added.
async fn copy(
    ledger: &LedgerStore,
    counts: &FileCountStore,
    store: &PostgresStore,
) -> Result<Value, CommandError> {
    let now = Hour::of(SystemClock.now());
    let filling = store.begin_filling().await?;
    if !filling.is_empty().await? {
        return Err(CommandError::Failed(NOT_EMPTY.to_owned()));
    }
    let contacts = copy_all(&filling, ContactStore::list(ledger, None, None).await?).await?;
    copy_all(&filling, ledger.consent_texts().await?).await?;
    let deliveries = copy_all(&filling, DeliveryQueue::list(ledger).await?).await?;
    // Some may have been sent when the next node runs.
    if deliveries > 0 {
        filling.add(Channel::ALL.to_vec()).await?;
    }
    let keys = copy_all(&filling, KeyIssuer::list(ledger).await?).await?;
    let revocations = copy_all(&filling, RevocationList::list(ledger).await?).await?;
    let tombstones = copy_all(&filling, ledger.tombstones().await?).await?;
    let hours = counts.list(now.minus(KEPT_HOURS), now.next()).await?;
    let counted = hours
        .iter()
        .flat_map(|(hour, counts)| counts_of(*hour, counts));
    filling.add(counted.collect()).await?;
    filling.commit().await?;
    Ok(json!({
        "contacts": contacts,
        "deliveries": deliveries,
        "erased_addresses": tombstones,
        "keys": keys,
        "revoked_agents": revocations,
        "hours_of_counts": hours.len(),
    }))
}

/// Copies a list, and returns its length.
async fn copy_all<T: Stored + Send + 'static>(
    filling: &DedicatedConnection,
    mut pages: PageStream<T>,
) -> Result<u64, StoreError> {
    let mut count = 0;
    while let Some(page) = pages.next().await {
        let page = page?;
        count += page.len() as u64;
        filling.add(page).await?;
    }
    Ok(count)
}
