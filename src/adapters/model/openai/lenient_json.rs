//! JSON as servers send it: after a byte order mark, with bytes that are not UTF-8, and with escapes of half a
//! character. A token may be half an emoji, so that the other half comes in the next event.

use serde_json::Value;

/// Where the halves are kept in a [`Value`], whose texts cannot have them: the private use area has room at U+10D800.
const HALVES: u32 = 0x10_0000;

/// Parses `json`. Invalid bytes are replaced; [`Halves`] has to be applied to the texts.
pub(super) fn parse(json: &[u8]) -> serde_json::Result<Value> {
    let json = String::from_utf8_lossy(json);
    serde_json::from_str(&keep_halves(json.trim_start_matches('\u{feff}')))
}

/// Replaces each escape of a surrogate that has no other half beside it.
fn keep_halves(json: &str) -> String {
    let unit = |text: &str| u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut kept = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        kept.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(half @ 0xD800..=0xDFFF), _) => {
                kept.extend(char::from_u32(HALVES + half));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            _ => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (copied, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        kept.push_str(copied);
        rest = after;
    }
    kept + rest
}

/// Joins halves over the pieces of a text. One that stays alone is replaced.
#[derive(Debug, Default)]
pub(super) struct Halves {
    /// The first half, whose second one may come.
    first: Option<u32>,
}

impl Halves {
    /// Takes the next piece.
    pub(super) fn join(&mut self, piece: &str) -> String {
        let mut text = String::with_capacity(piece.len());
        for c in piece.chars() {
            let half = u32::from(c).checked_sub(HALVES);
            match (self.first.take(), half) {
                (Some(first), Some(second @ 0xDC00..=0xDFFF)) => {
                    let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                    text.extend(char::from_u32(code));
                    continue;
                }
                (Some(_), _) => text.push(char::REPLACEMENT_CHARACTER),
                (None, _) => {}
            }
            match half {
                Some(first @ 0xD800..=0xDBFF) => self.first = Some(first),
                Some(0xDC00..=0xDFFF) => text.push(char::REPLACEMENT_CHARACTER),
                _ => text.push(c),
            }
        }
        text
    }

    /// What is left after the last piece.
    pub(super) fn finish(&mut self) -> Option<char> {
        self.first.take().map(|_half| char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The text of these JSON strings, one after the other.
    fn text(pieces: &[&str]) -> String {
        let mut halves = Halves::default();
        let mut text = String::new();
        for piece in pieces {
            let value = parse(format!("\"{piece}\"").as_bytes()).unwrap();
            text.push_str(&halves.join(value.as_str().unwrap()));
        }
        text.extend(halves.finish());
        text
    }

    #[test]
    fn halves_are_joined_and_those_that_stay_alone_replaced() {
        for (pieces, expected) in [
            (&[r"\ud83d\ude00"][..], "😀"),
            (&[r"\uD83D", r"\uDE00"], "😀"),
            (&[r"a\ud83d", "", r"\ude00b"], "a😀b"),
            (&[r"\ud83d"], "\u{FFFD}"),
            (&[r"\ude00"], "\u{FFFD}"),
            (&[r"\ude00\ud83d"], "\u{FFFD}\u{FFFD}"),
            (&[r"\ud83d\ud83d\ude00"], "\u{FFFD}😀"),
            (&[r"\ud83d", "x"], "\u{FFFD}x"),
            (&[r"\ud83d", "é"], "\u{FFFD}é"),
            (&[r"\ud83d\n\ude00"], "\u{FFFD}\n\u{FFFD}"),
            (&[r"\\ud83d"], r"\ud83d"),
            (&[r"\\\ud83d\\"], "\\\u{FFFD}\\"),
            (&[r"\u00e9\u4e2d\/"], "é中/"),
            (&["\u{10FFFD}"], "\u{10FFFD}"),
        ] {
            assert_eq!(text(pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_and_a_byte_order_mark_is_ignored() {
        for (json, expected) in [
            (&b"\xEF\xBB\xBF {\"a\": 1}"[..], "{\"a\":1}"),
            (b"\"caf\xe9\"", "\"caf\u{FFFD}\""),
            (b"\"\xf0\x9f\"", "\"\u{FFFD}\""),
            (b"\"\xed\xa0\xbd\"", "\"\u{FFFD}\u{FFFD}\u{FFFD}\""),
        ] {
            assert_eq!(parse(json).unwrap().to_string(), expected);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_refused(bytes: Vec<u8>, text in "[\"\\\\ud8cf0-3{}: é]{0,60}") {
            for json in [bytes.as_slice(), text.as_bytes()] {
                if let Ok(value) = parse(json) {
                    let mut halves = Halves::default();
                    halves.join(&value.to_string());
                }
            }
        }

        #[test]
        fn json_without_halves_is_read_as_ever(text: String) {
            let json = serde_json::to_string(&text).unwrap();
            let ascii: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            for json in [json, format!("\"{ascii}\"")] {
                let value = parse(json.as_bytes()).unwrap();
                let has_half = |c| (0x10_D800..=0x10_DFFF).contains(&u32::from(c));
                if !text.contains(has_half) {
                    let joined = Halves::default().join(value.as_str().unwrap());
                    prop_assert_eq!(&joined, &text);
                }
            }
        }

        #[test]
        fn a_text_may_be_cut_between_any_two_units(text: String, at: usize) {
            let units: Vec<_> = text.encode_utf16().collect();
            let (one, two) = units.split_at(at % (units.len() + 1));
            let escaped = |units: &[u16]| -> String {
                units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
            };
            prop_assume!(!text.contains(|c| u32::from(c) >= HALVES));
            prop_assert_eq!(self::text(&[&escaped(one), &escaped(two)]), text);
        }
    }
}
