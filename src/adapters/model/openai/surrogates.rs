//! Characters cut in two. JSON writes what is beyond U+FFFF as two escapes (RFC 8259, section 7),
//! and a server that counts in halves may send them in two pieces, or the first one alone. Each is
//! no text, so no parser takes it.

/// Puts the halves together again, from one piece to the next.
#[derive(Debug, Default)]
pub(super) struct Surrogates {
    /// The first half of a character, as an escape.
    leading: Option<[u8; ESCAPE_LEN]>,
}

/// `\uD83D`
const ESCAPE_LEN: usize = 6;

impl Surrogates {
    /// `json` without halves: a first half waits for the next piece that has a second one. A half
    /// that stays alone is left out.
    pub(super) fn mend(&mut self, json: &[u8]) -> Vec<u8> {
        let mut mended = Vec::with_capacity(json.len() + ESCAPE_LEN);
        let mut rest = json;
        while let Some(&byte) = rest.first() {
            let len = match escape(rest) {
                Some((0xD800..0xDC00, escaped)) => {
                    let next = rest.get(ESCAPE_LEN..).and_then(escape);
                    if let Some((0xDC00..0xE000, trailing)) = next {
                        mended.extend_from_slice(&escaped);
                        mended.extend_from_slice(&trailing);
                        2 * ESCAPE_LEN
                    } else {
                        self.leading = Some(escaped);
                        ESCAPE_LEN
                    }
                }
                Some((0xDC00..0xE000, escaped)) => {
                    if let Some(leading) = self.leading.take() {
                        mended.extend_from_slice(&leading);
                        mended.extend_from_slice(&escaped);
                    }
                    ESCAPE_LEN
                }
                Some((_, escaped)) => {
                    mended.extend_from_slice(&escaped);
                    ESCAPE_LEN
                }
                None => {
                    // Another escape: what follows the backslash begins none.
                    let len = if byte == b'\\' { 2 } else { 1 };
                    let len = len.min(rest.len());
                    mended.extend(rest.iter().take(len));
                    len
                }
            };
            rest = rest.get(len..).unwrap_or_default();
        }
        mended
    }
}

/// The `\uXXXX` that `json` begins with.
fn escape(json: &[u8]) -> Option<(u16, [u8; ESCAPE_LEN])> {
    let escaped: [u8; ESCAPE_LEN] = json.get(..ESCAPE_LEN)?.try_into().ok()?;
    let digits = escaped.strip_prefix(b"\\u")?;
    // A sign would be taken for a part of the number.
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let digits = std::str::from_utf8(digits).ok()?;
    Some((u16::from_str_radix(digits, 16).ok()?, escaped))
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
            let mut surrogates = Surrogates::default();
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
            let mended = Surrogates::default().mend(bad.as_bytes());
            assert!(serde_json::from_slice::<Value>(&mended).is_err(), "{bad}");
        }
    }
}
