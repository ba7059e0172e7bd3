//! Pages rendered per request.

use std::sync::Arc;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::domain::Language;

use super::error::SiteError;
use super::templates::Templates;

/// Renders pages in the site's frame. A clone shares the templates.
#[derive(Clone, Debug)]
pub struct PageWriter(pub(super) Arc<Templates>);

impl PageWriter {
    /// The text with which the newsletter's form asks for consent, on the pages of this service.
    pub fn consent_text(&self, language: Language) -> Option<String> {
        self.0
            .fill_in(language, "parts/consent.txt", context! {})
            .ok()
    }

    /// Renders the template `layout` with `values`, in the frame. The message `title` is the page's title;
    /// `path` is the page's own URL in every language, if it has one.
    ///
    /// # Errors
    /// [`SiteError`] when a template uses an undefined value, or grows too large.
    pub fn write(
        &self,
        language: Language,
        layout: &str,
        title: &str,
        path: Option<&str>,
        values: &impl Serialize,
    ) -> Result<String, SiteError> {
        let Self(templates) = self;
        let body = templates.fill_in(language, layout, Value::from(Serde(values)))?;
        // The frame always has all its values, even empty ones.
        let frame = context! {
            title => templates.text(language, title)?,
            description => "",
            here => path.unwrap_or_default(),
            markdown_path => "",
        };
        let languages = path.iter().flat_map(|_path| Language::ALL);
        templates.frame(language, languages, &body, frame)
    }
}
