//! A request to the operator's API.

use std::fmt::Display;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::app::App;

use super::page::Sessions;
use super::reply::{AdminBody, AdminError};

/// The longest body in JSON.
const JSON_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A request.
pub(super) struct AdminRequest {
    pub(super) app: Arc<App>,
    /// Those of the admin page, if there is one.
    pub(super) sessions: Option<Arc<Sessions>>,
    pub(super) params: Params,
    pub(super) body: AdminBody,
}

impl AdminRequest {
    /// The body, in JSON.
    ///
    /// # Errors
    /// When it is something else.
    pub(super) async fn json<T: DeserializeOwned>(mut self) -> Result<T, AdminError> {
        let mut bytes = Vec::new();
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| AdminError::Input(error.to_string()))?;
            bytes.extend(frame.into_data().unwrap_or_default());
            if bytes.len() > JSON_BYTES_MAX {
                return Err(AdminError::Input("the request is too long".to_owned()));
            }
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| AdminError::Input(format!("the request: {error}")))
    }
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
        let value = self.optional(name, parse)?;
        value.ok_or_else(|| AdminError::Input(format!("{name} is missing")))
    }

    /// The value of `name`, read by `parse`, if it was given.
    ///
    /// # Errors
    /// When `parse` refuses it.
    pub(super) fn optional<T, E: Display>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, AdminError> {
        let value = self.get(name).map(parse).transpose();
        value.map_err(|error| AdminError::Input(format!("{name} {error}")))
    }

    /// Whether `name` was given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}
