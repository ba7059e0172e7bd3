//! Content codings of documents (RFC 9110, section 8.4.1). Only what is the same for everybody is
//! compressed: the length of an answer that holds a secret could give it away.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::body::Bytes;
use hyper::header::{ACCEPT_ENCODING, HeaderValue};

use crate::domain::macros::names;
use crate::site::image::SVG;

use crate::http::request::negotiate;

/// Shorter bodies are sent as they are, in bytes: one packet is one packet.
const BODY_LEN_MIN: usize = 860;

names! {
    /// A content coding and its name in headers, the better one first.
    pub(crate) enum Coding {
        /// RFC 7932.
        Brotli => "br",
        /// RFC 1952.
        Gzip => "gzip",
    }
}

impl Coding {
    pub(crate) const fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.as_str())
    }

    /// `body` in this coding.
    fn encode(self, body: &[u8]) -> std::io::Result<Vec<u8>> {
        const BUFFER_LEN: usize = 16 * 1024;
        // Of 11: more takes ten times as long for a twentieth less.
        const QUALITY: u32 = 9;
        const WINDOW_BITS: u32 = 22;
        match self {
            Self::Brotli => {
                let encoded = Vec::with_capacity(body.len() / 3);
                let mut writer =
                    brotli::CompressorWriter::new(encoded, BUFFER_LEN, QUALITY, WINDOW_BITS);
                writer.write_all(body)?;
                writer.flush()?;
                Ok(writer.into_inner())
            }
            Self::Gzip => {
                let encoded = Vec::with_capacity(body.len() / 3);
                let mut writer = GzEncoder::new(encoded, Compression::best());
                writer.write_all(body)?;
                writer.finish()
            }
        }
    }
}

/// Whether a body of this type and length is worth compressing. Images are compressed already, but for SVG.
pub(crate) fn is_worth(media_type: &str, body_len: usize) -> bool {
    let is_image = media_type.starts_with("image/") && media_type != SVG;
    !is_image && body_len >= BODY_LEN_MIN
}

/// `body` in `coding`, if that makes it shorter.
pub(crate) fn compress(body: &[u8], coding: Coding) -> Option<Bytes> {
    let encoded = coding.encode(body).ok()?;
    (encoded.len() < body.len()).then(|| Bytes::copy_from_slice(&encoded))
}

/// Which of the codings `offered` the client likes best; none if it wants the body as it is. Whatever
/// it excludes, it gets the body as it is, which every client can read.
pub(crate) fn choose(headers: &HeaderMap, offered: impl Iterator<Item = Coding>) -> Option<Coding> {
    if !headers.contains_key(ACCEPT_ENCODING) {
        return None;
    }
    let quality = |name| negotiate::coding_quality(headers, name);
    // Unnamed, it is the last resort.
    let as_it_is = quality("identity").unwrap_or(0);
    let rank = |coding: Coding| {
        let starred = || quality("*");
        Some((quality(coding.as_str()).or_else(starred)?, coding))
    };
    let mut chosen: Option<(u16, Coding)> = None;
    for (quality, coding) in offered.filter_map(rank) {
        let is_better = chosen.is_none_or(|(best, _)| quality > best);
        if quality > 0 && quality >= as_it_is && is_better {
            chosen = Some((quality, coding));
        }
    }
    chosen.map(|(_, coding)| coding)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn the_coding_is_the_one_that_is_liked_best() {
        use Coding::{Brotli, Gzip};
        for (accept, expected) in [
            ("gzip, deflate, br, zstd", Some(Brotli)),
            ("gzip", Some(Gzip)),
            ("GZIP", Some(Gzip)),
            ("br;q=0.5, gzip", Some(Gzip)),
            ("br;q=0.5, gzip;q=0.5", Some(Brotli)),
            ("br;q=0, gzip", Some(Gzip)),
            ("*", Some(Brotli)),
            ("br;q=0, *", Some(Gzip)),
            ("*;q=0", None),
            ("gzip;q=0.5, identity", None),
            ("gzip, identity;q=0.5", Some(Gzip)),
            ("identity", None),
            ("", None),
            ("deflate", None),
            ("br;q=nonsense", None),
            ("brotli", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(accept));
            let chosen = choose(&headers, Coding::ALL.into_iter());
            assert_eq!(chosen, expected, "{accept}");
        }
        assert_eq!(choose(&HeaderMap::new(), Coding::ALL.into_iter()), None);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        assert_eq!(choose(&headers, std::iter::once(Gzip)), None);
    }

    #[test]
    fn what_was_compressed_can_be_read_again() {
        let body = "one and the same again and again, ".repeat(100);
        for coding in Coding::ALL {
            let encoded = compress(body.as_bytes(), coding).unwrap();
            let mut decoded = String::new();
            match coding {
                Coding::Brotli => brotli::Decompressor::new(&*encoded, 4096)
                    .read_to_string(&mut decoded)
                    .unwrap(),
                Coding::Gzip => flate2::read::GzDecoder::new(&*encoded)
                    .read_to_string(&mut decoded)
                    .unwrap(),
            };
            assert_eq!(decoded, body);
            assert_eq!(compress(b"\x01\x02", coding), None, "it would be longer");
        }
    }
}
