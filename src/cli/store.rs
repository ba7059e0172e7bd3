//! Commands about the whole data directory. Most of them work on its files, and don't ask the service.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::HumanBytes;
use serde_json::json;

use crate::adapters::files::SystemFiles;
use crate::adapters::files::backup::{self, Written};
use crate::adapters::ledger::{repair_ledger, verify_ledger};
use crate::config::{Consent, OutputForm};
use crate::operator::ledger::COMPACT;

use super::client::Client;
use super::input::{self, obtain};
use super::list::show_members;
use super::outcome::{CommandError, Done, blocking};
use super::output::{grouped, show};

/// Backs `data_dir` up.
pub(super) async fn back_up(
    file: PathBuf,
    force: bool,
    form: OutputForm,
    data_dir: &Path,
) -> Result<Done, CommandError> {
    let path = data_dir.to_owned();
    if file == Path::new("-") {
        let write = move || backup::write(&path, std::io::stdout().lock());
        return blocking(write).await.map(|_written| Done::Whole);
    }
    let target = file.clone();
    let write = move || backup::write_file(&SystemFiles, &path, &target, force);
    let Written { entries, bytes } = blocking(write).await?;
    let file = file.display().to_string();
    let value = json!({"file": file, "entries": entries, "bytes": bytes});
    let fields = [
        ("File", file),
        ("Entries", grouped(entries)),
        ("Size", HumanBytes(bytes).to_string()),
    ];
    show(form, &value, |output| output.fields(&fields))
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
    let fields = [
        ("Entries", grouped(restored.entries)),
        ("Files", restored.files.join(", ")),
    ];
    show(form, &restored, |output| output.fields(&fields))
}

/// Verifies the ledger in `data_dir`.
pub(super) async fn verify(form: OutputForm, data_dir: &Path) -> Result<Done, CommandError> {
    let path = data_dir.to_owned();
    let report = blocking(move || verify_ledger(&path)).await?;
    let fields = [
        ("Format", grouped(report.format)),
        ("Compactions", grouped(report.generation)),
        ("Entries", grouped(report.entries)),
        ("Contacts", grouped(report.contacts)),
        ("Size", HumanBytes(report.bytes).to_string()),
    ];
    show(form, &report, |output| output.fields(&fields))
}

/// Repairs the ledger in `data_dir`.
pub(super) async fn repair(
    consent: Consent,
    form: OutputForm,
    data_dir: &Path,
) -> Result<Done, CommandError> {
    obtain(consent, "remove the damaged parts of the ledger").await?;
    let path = data_dir.to_owned();
    let Some(repair) =
        blocking(move || repair_ledger(&(Arc::new(SystemFiles) as _), &path)).await?
    else {
        let fields = [("Result", "no damage found".to_owned())];
        let value = json!({"damage": null});
        return show(form, &value, |output| output.fields(&fields));
    };
    let fields = [
        ("Damage", repair.damage.clone()),
        ("Original copy", repair.kept.display().to_string()),
        ("Entries left", grouped(repair.entries)),
    ];
    show(form, &repair, |output| output.fields(&fields))
}

/// Compacts the ledger.
pub(super) async fn compact(client: &Client) -> Result<Done, CommandError> {
    let members = [
        ("Entries before", "entries_before"),
        ("Entries now", "entries_after"),
        ("Bytes before", "bytes_before"),
        ("Bytes now", "bytes_after"),
    ];
    show_members(COMPACT, json!({}), &members, client).await
}
