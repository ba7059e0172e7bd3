//! Surrogate pairs that were cut in two. JSON writes a character beyond U+FFFF as two escapes
//! (RFC 8259, section 7). A server that splits text between them sends one half in each piece, and
//! no JSON parser takes a half.

/// Joins the halves, across pieces.
#[derive(Debug, Default)]
pub(super) struct SurrogateJoiner {
    /// A high surrogate that waits for its other half.
    high: Option<[u8; ESCAPE_LEN]>,
}

/// `\uD83D`
const ESCAPE_LEN: usize = 6;

impl SurrogateJoiner {
    /// Returns `json` with every pair joined where its low surrogate stands. A half that stays alone
    /// is left out.
    pub(super) fn mend(&mut self, json: &[u8]) -> Vec<u8> {
        let mut mended = Vec::with_capacity(json.len() + ESCAPE_LEN);
        let mut rest = json;
        while let Some(&byte) = rest.first() {
            let len = match escape(rest) {
                Some((0xD800..0xDC00, high)) => {
                    self.high = Some(high);
                    ESCAPE_LEN
                }
                Some((0xDC00..0xE000, low)) => {
                    if let Some(high) = self.high.take() {
                        mended.extend(high.into_iter().chain(low));
                    }
                    ESCAPE_LEN
                }
                // Another escape: the byte after the backslash begins none.
                _ if byte == b'\\' => 2.min(rest.len()),
                _ => 1,
            };
            let (one, others) = rest.split_at(len);
            if len < ESCAPE_LEN {
                mended.extend_from_slice(one);
            }
            rest = others;
        }
        mended
    }
}

/// The code unit of the `\uXXXX` at the start of `json`, and its bytes.
fn escape(json: &[u8]) -> Option<(u16, [u8; ESCAPE_LEN])> {
    let escape: [u8; ESCAPE_LEN] = json.get(..ESCAPE_LEN)?.try_into().ok()?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    // `from_str_radix` would take a sign.
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let unit = u16::from_str_radix(digits, 16).ok()?;
    is_hex.then_some((unit, escape))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn halves_meet_and_a_half_alone_is_left_out() {
        for (pieces, expected) in [
            (vec![r#""plain é \n \" \\""#], "plain é \n \" \\"),
            (vec![r#""\ud83d\ude00""#], "\u{1F600}"),
            (vec![r#""a\uD83D""#, r#""\uDE00b""#], "a\u{1F600}b"),
            (vec![r#""a\ud83d""#, r#""""#, r#""\ude00b""#], "a\u{1F600}b"),
            (vec![r#""a\ud83d""#, r#""b""#], "ab"),
            (vec![r#""a\ud83d b""#], "a b"),
            (vec![r#""\ude00b""#], "b"),
            // No escape at all, and one that is none.
            (vec![r#""\\ud83d""#], "\\ud83d"),
            (vec![r#""\u00e9\ud83d""#], "é"),
        ] {
            let mut surrogates = SurrogateJoiner::default();
            let text: String = pieces
                .iter()
                .map(|piece| surrogates.mend(piece.as_bytes()))
                .map(|json| serde_json::from_slice::<String>(&json).unwrap())
                .collect();
            assert_eq!(text, expected, "{pieces:?}");
        }
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for bad in ["\"\\ud83", "\"\\u+d83\"", "\\", "\"\\", "\\ud83d\\u", ""] {
            let mended = SurrogateJoiner::default().mend(bad.as_bytes());
            assert!(serde_json::from_slice::<Value>(&mended).is_err(), "{bad}");
        }
    }
}
