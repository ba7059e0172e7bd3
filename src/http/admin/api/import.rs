//! Importing contacts.

use std::mem;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::domain::contact::ImportedContact;
use crate::http::admin::contact_rows::{FileFormat, Row};
use crate::http::admin::reply::{self, AdminAnswer, AdminBody, AdminError};
use crate::http::admin::request::AdminRequest;
use crate::http::admin::row_reader::RowReader;
use crate::usecases::contacts::{self, IMPORT_ROWS, Imported};

/// How many bad rows and ignored columns are named.
const NAMED_MAX: usize = 100;

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// Contacts that were added.
    pub created: u64,
    /// Rows of contacts that were there.
    pub known: u64,
    /// Rows of addresses that were forgotten, and were left out.
    pub forgotten: u64,
    /// Rows that hold no contact.
    pub bad: u64,
    /// The first of them.
    pub bad_rows: Vec<BadRow>,
    /// The first columns that were not read.
    pub ignored_columns: Vec<String>,
}

/// A row that holds no contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRow {
    /// The line in which it begins.
    pub line: u64,
    /// Why, without what is in it.
    pub reason: String,
}

/// Imports the body, which is in `format`. `unforget` takes forgotten addresses, too.
pub(in crate::http::admin) async fn import(request: AdminRequest) -> AdminAnswer {
    let format = request.params.required("format", FileFormat::parse)?;
    let reader = RowReader::new(format, request.app.clock.now());
    let mut import = Import {
        app: request.app,
        unforget: request.params.has("unforget"),
        batch: Vec::with_capacity(IMPORT_ROWS),
        imported: Imported::default(),
        report: ImportReport::default(),
    };
    let mut body = request.body;
    let ended = import.read(reader, &mut body).await;
    // A client that is still sending would not read the answer.
    while let Some(Ok(_)) = body.frame().await {}
    let Imported {
        created,
        known,
        forgotten,
    } = import.imported;
    let report = ImportReport {
        created,
        known,
        forgotten,
        ..import.report
    };
    tracing::info!(
        command = "contacts import",
        contacts.created = created,
        contacts.known = known,
        contacts.forgotten = forgotten,
        rows.bad = report.bad,
        done = ended.is_ok(),
        "operator"
    );
    match ended {
        Ok(()) => reply::json(&report),
        Err(error) if created == 0 => Err(error),
        Err(error) => Err(AdminError::InPart(format!(
            "{error}. {created} contacts were added before; import the same file again, which goes on \
             where this ended"
        ))),
    }
}

struct Import {
    app: Arc<App>,
    unforget: bool,
    batch: Vec<ImportedContact>,
    imported: Imported,
    report: ImportReport,
}

impl Import {
    async fn read(
        &mut self,
        mut reader: RowReader,
        body: &mut AdminBody,
    ) -> Result<(), AdminError> {
        let mut rows = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| AdminError::Input(format!("the file: {error}")))?;
            let bytes = frame.into_data().unwrap_or_default();
            if bytes.is_empty() {
                continue;
            }
            let read = reader.read(&bytes, &mut rows);
            read.map_err(|error| AdminError::Input(error.to_string()))?;
            self.take(&mut rows).await?;
        }
        let read = reader.read(&[], &mut rows);
        read.map_err(|error| AdminError::Input(error.to_string()))?;
        self.take(&mut rows).await?;
        let ignored = reader.ignored().iter().take(NAMED_MAX);
        self.report.ignored_columns = ignored.cloned().collect();
        self.commit().await
    }

    async fn take(&mut self, rows: &mut Vec<Row>) -> Result<(), AdminError> {
        for Row { line, content } in rows.drain(..) {
            match content {
                Ok(contact) => self.batch.push(contact),
                Err(reason) => {
                    self.report.bad += 1;
                    if self.report.bad_rows.len() < NAMED_MAX {
                        self.report.bad_rows.push(BadRow { line, reason });
                    }
                }
            }
            if self.batch.len() == IMPORT_ROWS {
                self.commit().await?;
            }
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), AdminError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = mem::replace(&mut self.batch, Vec::with_capacity(IMPORT_ROWS));
        let contacts = &*self.app.contacts;
        contacts::import(contacts, batch, self.unforget, &mut self.imported).await?;
        Ok(())
    }
}
