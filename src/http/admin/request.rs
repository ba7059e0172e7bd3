//! A request to the operator's API.

use std::fmt::Display;
use std::sync::Arc;

use url::form_urlencoded;

use crate::app::App;

use super::page::Sessions;
use super::reply::AdminError;

/// A request.
pub(super) struct AdminRequest {
    pub(super) app: Arc<App>,
    /// Those of the admin page, if there is one.
    pub(super) sessions: Option<Arc<Sessions>>,
    pub(super) params: Params,
}

/// The parameters in a query.
pub(super) struct Params(Vec<(String, String)>);

impl Params {
    pub(super) fn parse(query: &str) -> Self {
        Self(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        )
    }

    /// The value of `name`, if it was given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value of `name`, read by `parse`.
    ///
    /// # Errors
    /// When it is missing or `parse` refuses it.
    pub(super) fn required<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, AdminError> {
        let value = self.get(name);
        let value = value.ok_or_else(|| AdminError::Input(format!("{name} is missing")))?;
        parse(value).map_err(|error| AdminError::Input(format!("{name} {error}")))
    }
}
