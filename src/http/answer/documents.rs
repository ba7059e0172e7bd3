//! The site's documents as answers. Their headers are made once, at start.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    HeaderName, HeaderValue, IF_NONE_MATCH, LINK, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, StatusCode};

use crate::domain::Language;
use crate::site::image::SVG;
use crate::site::{self, Document, Representation};

use crate::http::answer::cors;
use crate::http::answer::reply::{BLANK, NOSNIFF, X_REQUEST_ID};
use crate::http::request::negotiate;
use crate::http::{Reply, insert, whole};

/// What a browser may do with a page: show it with our stylesheet, script and icon, and have the
/// script and forms talk to this origin. No string becomes HTML or code (Trusted Types).
pub(crate) const PAGE_POLICY: &str = "default-src 'none'; connect-src 'self'; img-src 'self'; \
     script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const PAGE_POLICY_VALUE: HeaderValue = HeaderValue::from_static(PAGE_POLICY);

/// The policy of an SVG, which may be the operator's: where a browser opens it as a page, it runs no script.
const SVG_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/// What browsers are told about every page. Other sites learn nothing of the page that led to them,
/// but our own form does: with `no-referrer` browsers send it with `Origin: null`, and the page that somebody signed up on
/// would not be known. `strict-origin-when-cross-origin` would name this origin to every site that a page links to.
pub(crate) const PAGE_HEADERS: [(HeaderName, HeaderValue); 3] = [
    (CONTENT_SECURITY_POLICY, PAGE_POLICY_VALUE),
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
];

/// In place of that policy where the address of a page may hold a secret, such as the token of an email's link.
pub(crate) const NO_REFERRER: HeaderValue = HeaderValue::from_static("no-referrer");

/// Also sent with documents. A page that a sandboxed frame opens is not shown with it: the newsletter's form may be in
/// one.
const OPENER_POLICY: (HeaderName, HeaderValue) = (
    HeaderName::from_static("cross-origin-opener-policy"),
    HeaderValue::from_static("same-origin"),
);

/// The smallest body worth compressing, in bytes: one packet is one packet.
const COMPRESSED_LEN_MIN: usize = 860;

/// The only content coding (RFC 9110, section 8.4.1): every client knows it. Only what is the same for everybody is
/// compressed: the length of an answer that holds a secret could give it away.
const GZIP: &str = "gzip";

/// Every document, by its path.
#[derive(Debug)]
pub(crate) struct Documents(HashMap<String, Vec<Variant>>);

/// A representation of a document with its headers.
#[derive(Debug)]
struct Variant {
    media_type: &'static str,
    /// Its language, if the document has one in each.
    language: Option<Language>,
    plain: Encoded,
    /// The same in gzip if that is worth it, made for the first client that wants it.
    compressed: OnceLock<Option<Encoded>>,
    /// Those of the body as it is, without its tag.
    headers: HeaderMap,
}

/// A body as it is sent, and its entity tag.
#[derive(Debug)]
struct Encoded {
    body: Bytes,
    etag: String,
}

impl Documents {
    /// Copies `documents`, so that the memory they were rendered in can be freed.
    pub(crate) fn new(documents: &[Document]) -> Self {
        let variants = documents.iter().map(|document| {
            let forms = document.representations.iter();
            let variants = forms.map(|form| Variant::new(document, form));
            (document.path.clone(), variants.collect())
        });
        Self(variants.collect())
    }

    /// The paths of the documents.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The document that is requested, in the representation that the client prefers, or 304 if the
    /// client has it, in `language` if there is one in each. `None` if there is no such document.
    pub(crate) fn answer(&self, request: &Parts, language: Language) -> Option<Reply> {
        let forms = self.0.get(request.uri.path())?;
        let is_readable = |form: &&Variant| form.language.is_none_or(|its| its == language);
        let forms = || forms.iter().filter(is_readable);
        let media_types = forms().map(|form| form.media_type);
        let form = forms().nth(negotiate::choose(&request.headers, media_types))?;
        Some(form.answer(&request.headers))
    }
}

impl Variant {
    fn new(document: &Document, representation: &Representation) -> Self {
        let (media_type, language) = (representation.media_type, representation.language);
        // Reserves slots for the headers of every response, so that no copy has to grow.
        let mut headers = HeaderMap::from_iter([
            (X_REQUEST_ID, BLANK),
            (X_CONTENT_TYPE_OPTIONS, NOSNIFF),
            (ETAG, BLANK),
        ]);
        cors::open(&mut headers);
        insert(&mut headers, CONTENT_TYPE, media_type);
        insert(&mut headers, CACHE_CONTROL, "public, max-age=300");
        // Images are compressed already, but for SVG.
        let is_image = media_type.starts_with("image/") && media_type != SVG;
        let is_worth = !is_image && representation.body.len() >= COMPRESSED_LEN_MIN;
        let vary = [
            document.is_negotiated.then_some("Accept"),
            language.map(|_| "Accept-Language"),
            is_worth.then_some("Accept-Encoding"),
        ];
        let vary: Vec<_> = vary.into_iter().flatten().collect();
        if !vary.is_empty() {
            insert(&mut headers, VARY, &vary.join(", "));
        }
        if let Some(language) = language {
            insert(&mut headers, CONTENT_LANGUAGE, language.as_str());
        }
        if media_type == site::HTML {
            // The ETag does not cover these headers, so a 304 carries them.
            headers.extend(PAGE_HEADERS);
            headers.extend([OPENER_POLICY]);
        } else if media_type == SVG {
            insert(&mut headers, CONTENT_SECURITY_POLICY, SVG_POLICY);
        }
        if let Some(link) = &document.link {
            insert(&mut headers, LINK, link);
        }
        Self {
            media_type,
            language,
            plain: Encoded {
                body: Bytes::copy_from_slice(&representation.body),
                etag: representation.etag.clone(),
            },
            compressed: match is_worth {
                true => OnceLock::new(),
                false => OnceLock::from(None),
            },
            headers,
        }
    }

    /// The representation in the coding that the request prefers, or 304 if the client has it so.
    fn answer(&self, request: &HeaderMap) -> Reply {
        let compressed = is_gzip_preferred(request)
            .then(|| self.compressed.get_or_init(|| self.plain.compressed()));
        let compressed = compressed.and_then(Option::as_ref);
        let encoded = compressed.unwrap_or(&self.plain);
        let mut headers = self.headers.clone();
        insert(&mut headers, ETAG, &encoded.etag);
        if has(request, &encoded.etag) {
            // What describes the body alone is not repeated (RFC 9110, section 15.4.5).
            headers.remove(CONTENT_TYPE);
            headers.remove(LINK);
            return Reply::new(StatusCode::NOT_MODIFIED, headers, whole(""));
        }
        let coding = compressed.map(|_| (CONTENT_ENCODING, HeaderValue::from_static(GZIP)));
        headers.extend(coding);
        Reply::new(StatusCode::OK, headers, whole(encoded.body.clone()))
    }
}

impl Encoded {
    /// The same in gzip, if that is shorter.
    fn compressed(&self) -> Option<Self> {
        let buffer = Vec::with_capacity(self.body.len() / 3);
        let mut writer = GzEncoder::new(buffer, Compression::default());
        writer.write_all(&self.body).ok()?;
        let body = writer.finish().ok()?;
        (body.len() < self.body.len()).then(|| Self {
            body: Bytes::copy_from_slice(&body),
            etag: format!("{}-gzip\"", self.etag.trim_end_matches('"')),
        })
    }
}

/// True if the client prefers gzip, or likes both equally. Every client can read the plain body, even one that
/// excludes it.
fn is_gzip_preferred(request: &HeaderMap) -> bool {
    let quality = |name| negotiate::coding_quality(request, name);
    // Unnamed, the body as it is is the last resort.
    let as_it_is = quality("identity").unwrap_or(0);
    let gzip = quality(GZIP).or_else(|| quality("*"));
    gzip.is_some_and(|gzip| gzip > 0 && gzip >= as_it_is)
}

/// True if `If-None-Match` matches `etag` by weak comparison (RFC 9110, section 13.1.2). Lists are split at commas,
/// which our tags never contain.
fn has(request: &HeaderMap, etag: &str) -> bool {
    let lists = request.get_all(IF_NONE_MATCH).into_iter();
    let tags = lists.flat_map(|list| list.as_bytes().split(|&byte| byte == b','));
    tags.map(<[u8]>::trim_ascii)
        .any(|tag| tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == etag.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use hyper::header::ACCEPT_ENCODING;

    use super::*;

    #[test]
    fn a_client_gets_gzip_if_it_likes_that() {
        for (accept, expected) in [
            ("gzip, deflate, br, zstd", true),
            ("gzip", true),
            ("GZIP", true),
            ("br, gzip;q=0.5", true),
            ("*", true),
            ("br;q=0, *", true),
            ("gzip, identity;q=0.5", true),
            ("*;q=0", false),
            ("gzip;q=0, *", false),
            ("gzip;q=0.5, identity", false),
            ("identity", false),
            ("", false),
            ("br", false),
            ("gzip;q=nonsense", false),
            ("gzipped", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accept));
            assert_eq!(is_gzip_preferred(&headers), expected, "{accept}");
        }
        assert!(!is_gzip_preferred(&HeaderMap::new()));
    }

    #[test]
    fn what_was_compressed_can_be_read_again() {
        let compressed = |body: &[u8]| {
            let body = Bytes::copy_from_slice(body);
            let etag = "\"a\"".to_owned();
            Encoded { body, etag }.compressed()
        };
        let text = "one and the same again and again, ".repeat(100);
        let encoded = compressed(text.as_bytes()).unwrap();
        assert_eq!(encoded.etag, "\"a-gzip\"");
        let mut decoded = String::new();
        let mut decoder = GzDecoder::new(&*encoded.body);
        decoder.read_to_string(&mut decoded).unwrap();
        assert_eq!(decoded, text);
        assert!(compressed(b"\x01\x02").is_none(), "it would be longer");
    }

    #[test]
    fn entity_tags_are_compared_weakly_one_by_one() {
        for (lists, expected) in [
            (&["\"a\""][..], true),
            (&["W/\"a\""], true),
            (&["\"b\", \"a\""], true),
            (&["\"b\",W/\"a\" , \"c\""], true),
            (&["\"b,\", \"a\""], true),
            (&["\"b\"", "\"a\""], true),
            (&["*"], true),
            (&[" * "], true),
            (&["\t,, \"a\","], true),
            (&[], false),
            (&[""], false),
            (&["a"], false),
            (&["\"a"], false),
            (&["\"b\""], false),
            (&["\"A\""], false),
            (&["w/\"a\""], false),
            (&["\"*\""], false),
        ] {
            let mut request = HeaderMap::new();
            for list in lists {
                request.append(IF_NONE_MATCH, HeaderValue::from_static(list));
            }
            assert_eq!(has(&request, "\"a\""), expected, "{lists:?}");
        }
        // A tag that is no text does not hide the others.
        for (list, expected) in [(&b"\"\xff\""[..], false), (b"\"\xff\", \"a\"", true)] {
            let value = HeaderValue::from_bytes(list).unwrap();
            let request = HeaderMap::from_iter([(IF_NONE_MATCH, value)]);
            assert_eq!(has(&request, "\"a\""), expected);
        }
    }
}
