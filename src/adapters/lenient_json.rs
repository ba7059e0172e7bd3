//! JSON as other programs write it: after a byte order mark, with bytes that are not UTF-8, and with escapes of
//! half a character, where a token was half an emoji. Invalid characters are replaced.

use serde_json::Value;

/// Parses the result of [`mended`].
pub(crate) fn parse(json: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_str(&mended(json))
}

/// The same JSON with U+FFFD in place of invalid characters.
pub(crate) fn mended(json: &[u8]) -> String {
    let json = String::from_utf8_lossy(json);
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut mended = String::with_capacity(json.len());
    let mut rest = json.trim_start_matches('\u{feff}');
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(_), _) => 6,
            (None, _) => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (escape, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        let is_half = length == 6 && matches!(unit(escape), Some(0xD800..=0xDFFF));
        mended.extend([before, if is_half { "\u{FFFD}" } else { escape }]);
        rest = after;
    }
    mended + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_characters_and_bytes_that_are_not_utf_8_are_replaced() {
        for (json, expected) in [
            (&br#""\ud83d\ude00""#[..], "😀"),
            (br#""\uD83D""#, "\u{FFFD}"),
            (br#""a\uDE00b""#, "a\u{FFFD}b"),
            (br#""\ude00\ud83d""#, "\u{FFFD}\u{FFFD}"),
            (br#""\ud83d\ud83d\ude00""#, "\u{FFFD}😀"),
            (br#""\ud83d\n\ude00""#, "\u{FFFD}\n\u{FFFD}"),
            (br#""\\ud83d""#, r"\ud83d"),
            (br#""\\\ud83d\\""#, "\\\u{FFFD}\\"),
            (br#""\u00e9\u4e2d\/""#, "é中/"),
            (b"\xEF\xBB\xBF \"x\"", "x"),
            (b"\"caf\xe9\"", "caf\u{FFFD}"),
            (b"\"\xed\xa0\xbd\"", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        ] {
            let about = String::from_utf8_lossy(json);
            assert_eq!(parse(json).unwrap(), expected, "{about}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>, text in "[\"\\\\ud8cf0-3{}: é]{0,60}") {
            for json in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(value) = serde_json::from_slice::<Value>(json) {
                    prop_assert_eq!(parse(json).unwrap(), value);
                } else {
                    let _refused = parse(json);
                }
            }
        }

        #[test]
        fn a_text_of_any_units_is_read(units: Vec<u16>) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let value = parse(format!("\"{escaped}\"").as_bytes()).unwrap();
            prop_assert_eq!(value, String::from_utf16_lossy(&units));
        }
    }
}
