//! Commands about the whole data directory. Most of them work on its files, and don't ask the service.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::adapters::files::SystemFiles;
use crate::adapters::files::backup::{self, Written};
use crate::adapters::ledger::{repair_ledger, verify_ledger};
use crate::config::{Consent, OutputForm};
use crate::operator::ledger::COMPACT;

use super::answers::show_fields;
use super::client::Client;
use super::input::{self, obtain};
use super::outcome::{CommandError, Done, blocking};

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
