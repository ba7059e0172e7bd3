//! The content coding of documents (RFC 9110, section 8.4.1). Only what is the same for everybody is
//! compressed: the length of an answer that holds a secret could give it away.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::HeaderValue;

use crate::site::image::SVG;

use crate::http::request::negotiate;

/// The smallest body worth compressing, in bytes: one packet is one packet.
const BODY_LEN_MIN: usize = 860;

/// The only coding: every client knows it (RFC 1952).
const GZIP: &str = "gzip";

pub(crate) const GZIP_CODING: HeaderValue = HeaderValue::from_static(GZIP);

/// Whether a body of this type and length is worth compressing. Images are compressed already, but for SVG.
pub(crate) fn is_worth(media_type: &str, body_len: usize) -> bool {
    let is_image = media_type.starts_with("image/") && media_type != SVG;
    !is_image && body_len >= BODY_LEN_MIN
}

/// `body` in gzip, if that makes it shorter.
pub(crate) fn compress(body: &[u8]) -> Option<Bytes> {
    let mut writer = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::default());
    writer.write_all(body).ok()?;
    let encoded = writer.finish().ok()?;
    (encoded.len() < body.len()).then(|| Bytes::copy_from_slice(&encoded))
}

/// True if the client prefers gzip, or likes both equally. Every client can read the plain body, even one that
/// excludes it.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let quality = |name| negotiate::coding_quality(headers, name);
    // Unnamed, the body as it is is the last resort.
    let as_it_is = quality("identity").unwrap_or(0);
    let gzip = quality(GZIP).or_else(|| quality("*"));
    gzip.is_some_and(|gzip| gzip > 0 && gzip >= as_it_is)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

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
            assert_eq!(is_accepted(&headers), expected, "{accept}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }

    #[test]
    fn what_was_compressed_can_be_read_again() {
        let body = "one and the same again and again, ".repeat(100);
        let encoded = compress(body.as_bytes()).unwrap();
        let mut decoded = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&*encoded);
        decoder.read_to_string(&mut decoded).unwrap();
        assert_eq!(decoded, body);
        assert_eq!(compress(b"\x01\x02"), None, "it would be longer");
    }
}
