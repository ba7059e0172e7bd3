//! A document: the content of one path, in each of its representations.

use tokio_util::bytes::Bytes;

use crate::domain::Language;

/// The media type of pages.
pub const HTML: &str = "text/html; charset=utf-8";
pub(super) const MARKDOWN: &str = "text/markdown; charset=utf-8";
pub(super) const JSON: &str = "application/json";

/// One document. It is the same for every client, so any origin may read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The path it is served under.
    pub path: String,
    /// Its representations, the default one first.
    pub representations: Vec<Representation>,
    /// The value of its `Link` header (RFC 8288).
    pub link: Option<String>,
    /// True if `Accept` selects the representation, here or, for a page's Markdown, at the page.
    pub is_negotiated: bool,
}

/// One representation of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Representation {
    /// Its `Content-Type`.
    pub media_type: &'static str,
    /// Its language, if the document has one in each.
    pub language: Option<Language>,
    /// Its bytes.
    pub body: Bytes,
    /// Its strong entity tag (RFC 9110, section 8.8.3), quotes included, of bytes and media type.
    pub etag: String,
}

impl Document {
    pub(super) fn new(path: impl Into<String>, representations: Vec<Representation>) -> Self {
        Self {
            path: path.into(),
            is_negotiated: representations.len() > 1,
            representations,
            link: None,
        }
    }

    /// A document in one representation.
    pub(super) fn single(
        path: impl Into<String>,
        media_type: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        Self::new(path, vec![Representation::new(media_type, body)])
    }
}

impl Representation {
    pub(super) fn new(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let tag = fingerprint(&[media_type.as_bytes(), &[0], &body]);
        Self {
            media_type,
            language: None,
            body,
            etag: format!("\"{tag}\""),
        }
    }
}

/// Hash of the concatenated `parts`, in hexadecimal digits.
pub(super) fn fingerprint(parts: &[&[u8]]) -> String {
    let mut digits = blake3::hash(&parts.concat()).to_hex();
    digits.truncate(32);
    digits.to_string()
}
