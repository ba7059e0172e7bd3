//! A page that is rendered for one request. Caches may not keep it.

use hyper::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, VARY,
};
use hyper::{HeaderMap, StatusCode};
use serde::Serialize;

use crate::domain::language::Language;
use crate::site::HTML;
use crate::site::page_writer::PageWriter;

use super::documents::{BROWSER_HEADERS, PAGE_POLICY};
use super::headers::NO_STORE;
use super::problem::{Code, Problem};
use super::reply::{Reply, whole};

/// What is rendered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrittenPage<'a, V> {
    pub(crate) status: StatusCode,
    pub(crate) language: Language,
    /// The template of what stands in the frame.
    pub(crate) layout: &'a str,
    /// The key of the message that is its title.
    pub(crate) title: &'a str,
    /// Where the page can be read again, if it can.
    pub(crate) path: Option<&'a str>,
    /// What the layout uses.
    pub(crate) values: V,
}

impl<V: Serialize> WrittenPage<'_, V> {
    /// The page as an answer.
    ///
    /// # Errors
    /// A problem when it cannot be rendered, which is a bug.
    pub(crate) fn reply(&self, writer: &PageWriter) -> Result<Reply, Problem> {
        let html = writer
            .write(
                self.language,
                self.layout,
                self.title,
                self.path,
                &self.values,
            )
            .map_err(|error| Problem::of(Code::InternalError).because(error))?;
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static(HTML)),
            (
                CONTENT_LANGUAGE,
                HeaderValue::from_static(self.language.tag()),
            ),
            (CACHE_CONTROL, NO_STORE),
            (VARY, HeaderValue::from_static("Accept-Language")),
            (
                CONTENT_SECURITY_POLICY,
                HeaderValue::from_static(PAGE_POLICY),
            ),
        ]);
        headers.extend(BROWSER_HEADERS);
        Ok(Reply::new(self.status, headers, whole(html.into())))
    }
}
