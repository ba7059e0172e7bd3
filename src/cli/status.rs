//! The status of the service.

use serde_json::{Map, Value, json};

use crate::adapters::files::data_dir::sizes;
use crate::config::Args;
use crate::operator::status::{SHOW, in_words};

use super::client::{Client, other_version};
use super::outcome::{CommandError, Done};
use super::output::show;

/// Shows the status of the service of `args`.
pub(super) async fn run(args: &Args, client: &Client) -> Result<Done, CommandError> {
    let mut report: Map<String, Value> = client.one(SHOW, json!({})).await?;
    let sizes = args.data_dir.as_deref().map(sizes).transpose()?;
    let files = sizes.unwrap_or_default().into_iter();
    let files = files.map(|(name, bytes)| json!({ "name": name, "bytes": bytes }));
    report.insert("files".to_owned(), files.collect());
    if !client.is_running() {
        report.insert("is_running".to_owned(), false.into());
        report.insert("service".to_owned(), Value::Null);
    }
    show(client.form, &report, |output| {
        let fields = in_words(&report, no_service(args)).map_err(other_version)?;
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value));
        output.fields(&fields.collect::<Vec<_>>())
    })
}

/// The message if no service answers. Others may run on a store shared by several nodes.
fn no_service(args: &Args) -> &'static str {
    match (&args.engines.store, &args.data_dir) {
        (None, _) => "not running",
        (Some(_), Some(_)) => "not running on this data directory; below: all nodes",
        (Some(_), None) => "not checked, without a --data-dir; below: all nodes",
    }
}
