//! Texts: of bounded length (counted in Unicode scalar values), printable, quoted from other programs, and the message
//! of a panic.

use std::any::Any;
use std::borrow::Cow;

/// A text of 1 to `MAX` Unicode scalar values, unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<const MAX: usize>(String);

/// The label of an API key.
pub type Label = Text<64>;

/// The message that the sandbox echoes.
pub type EchoMessage = Text<2000>;

/// The fault of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It is empty.
    #[error("must not be empty")]
    Empty,
    /// It has too many characters.
    #[error("must be at most {max} characters long")]
    TooLong {
        /// Maximum number of characters.
        max: usize,
    },
    /// It has a character that [`Text::parse_name`] refuses.
    #[error("must not contain control characters, line separators or text direction marks")]
    Unprintable,
}

/// `text` made safe for terminals and logs: characters that would act on them are escaped as in JSON, except
/// those in `kept`.
pub fn printable<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let acts = |c: char| is_unprintable(c) && !kept.contains(&c);
    // Most text is plain ASCII. Without an early end, many bytes are looked at together.
    let is_plain = |plain, byte| plain & matches!(byte, b' '..=b'~');
    let is_plain = text.bytes().fold(true, is_plain);
    if is_plain || !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let spelled = text.chars().map(|c| match c {
        c if !acts(c) => c.to_string(),
        '\n' => "\\n".to_owned(),
        c => format!("\\u{:04x}", u32::from(c)),
    });
    Cow::Owned(spelled.collect())
}

/// The message of a panic.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref().map(String::as_str);
    let message = owned.or_else(|| payload.downcast_ref().copied());
    message.unwrap_or("no message")
}

/// Maximum number of characters quoted from another program.
const QUOTED_MAX: usize = 200;

/// The words of another program on one line, safe for a terminal, a log and a store: at most 200 characters,
/// bytes that are not UTF-8 replaced, control and bidi characters removed. A word with an address, or with
/// `name` (the local part of the address at hand) as a part of its own, is replaced.
pub fn quoted(words: &[u8], name: Option<&str>) -> String {
    // Four bytes a character, and as many again for removed ones.
    let words = words.get(..8 * QUOTED_MAX).unwrap_or(words);
    let words = String::from_utf8_lossy(words).replace(is_unprintable, " ");
    let name = name.map(str::to_lowercase).unwrap_or_default();
    let redacted = words.split_whitespace().map(|word| {
        let is_address = word.contains('@') || has_part(&word.to_lowercase(), &name);
        if is_address { "(address)" } else { word }
    });
    let words: Vec<_> = redacted.collect();
    words.join(" ").chars().take(QUOTED_MAX).collect()
}

/// True if `word` contains `part` with neither a letter nor a digit next to it.
fn has_part(word: &str, part: &str) -> bool {
    let is_end = |side: Option<char>| side.is_none_or(|c| !c.is_alphanumeric());
    !part.is_empty()
        && word.match_indices(part).any(|(at, found)| {
            let (before, rest) = word.split_at(at);
            let after = rest.strip_prefix(found).unwrap_or_default();
            is_end(before.chars().next_back()) && is_end(after.chars().next())
        })
}

impl<const MAX: usize> Text<MAX> {
    /// Maximum length in Unicode scalar values.
    pub const LENGTH_MAX: usize = MAX;

    /// Takes `text` unchanged.
    ///
    /// # Errors
    /// [`TextError`] when it is empty or longer than `MAX` Unicode scalar values.
    pub fn parse(text: String) -> Result<Self, TextError> {
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        // A scalar value takes at least one byte, so a short text needs no counting.
        if text.len() > MAX && text.chars().count() > MAX {
            return Err(TextError::TooLong { max: MAX });
        }
        Ok(Self(text))
    }

    /// Takes `text` unchanged, as a name for a list or a terminal. No character may begin a new line or
    /// change the look of the text around it.
    ///
    /// # Errors
    /// [`TextError`], also when it has such a character.
    pub fn parse_name(text: String) -> Result<Self, TextError> {
        let name = Self::parse(text)?;
        if name.0.chars().any(is_unprintable) {
            return Err(TextError::Unprintable);
        }
        Ok(name)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and Unicode's `Bidi_Control`.
fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_scalar_values_not_bytes() {
        for (text, expected) in [
            (String::new(), Err(TextError::Empty)),
            ("a".to_owned(), Ok(())),
            ("\0".to_owned(), Ok(())),
            ("a".repeat(64), Ok(())),
            ("a".repeat(65), Err(TextError::TooLong { max: 64 })),
            ("\u{1F600}".repeat(64), Ok(())),
            ("\u{1F600}".repeat(65), Err(TextError::TooLong { max: 64 })),
        ] {
            assert_eq!(Label::parse(text.clone()).map(|_| ()), expected, "{text:?}");
        }
    }

    #[test]
    fn words_of_other_programs_are_quoted_on_one_line_without_addresses() {
        for (words, expected) in [
            (&b"Mailbox full"[..], "Mailbox full"),
            (b"Empf\xe4nger\r\nunbekannt", "Empf\u{FFFD}nger unbekannt"),
            (b"a\x1b[31mb\x07 \xc2\x9bc", "a [31mb c"),
            ("x\u{202E}y\u{2028}z".as_bytes(), "x y z"),
            (b"<Ada.L@example.com>... unknown", "(address) unknown"),
            (b"user=Ada.L unknown", "(address) unknown"),
            (b"ada.l", "(address)"),
            (
                b"rcpt ada.l=example.com, ada.l%40x.test",
                "rcpt (address) (address)",
            ),
            (b"Granada.Lima is far", "Granada.Lima is far"),
            (b"", ""),
        ] {
            assert_eq!(quoted(words, Some("ada.l")), expected, "{words:?}");
        }
        assert_eq!(quoted(b"user=ada", None), "user=ada");
        assert_eq!(quoted(&b"x".repeat(100_000), None), "x".repeat(200));
        assert_eq!(quoted(&b"\x1b".repeat(100_000), None), "");
    }

    #[test]
    fn characters_that_act_on_a_terminal_are_spelled_out() {
        for (text, expected) in [
            ("plain, ü and 日本", "plain, ü and 日本"),
            ("a\x1b[31m\u{9b}2J", "a\\u001b[31m\\u009b2J"),
            ("x\u{202e}y\r\nz\tt\u{7f}", "x\\u202ey\\u000d\\nz\tt\\u007f"),
        ] {
            assert_eq!(printable(text, &['\t']), expected);
        }
    }

    #[test]
    fn a_name_shows_as_it_is_and_on_one_line() {
        let parse = |text: String| Label::parse_name(text).map(|_| ());
        for good in "my agent|Ünïcode|日本語|שלום|مرحبا|👩\u{200D}💻|a\u{A0}b".split('|')
        {
            assert_eq!(parse(good.to_owned()), Ok(()), "{good:?}");
        }
        let controls = ('\0'..='\u{1F}').chain('\u{7F}'..='\u{9F}');
        let bidi = ('\u{202A}'..='\u{202E}').chain('\u{2066}'..='\u{2069}');
        let others = ['\u{61C}', '\u{200E}', '\u{200F}', '\u{2028}', '\u{2029}'];
        for bad in controls.chain(bidi).chain(others) {
            for [before, behind] in [["", ""], ["a", ""], ["", "b"], ["a", "b"]] {
                let parsed = parse(format!("{before}{bad}{behind}"));
                assert_eq!(parsed, Err(TextError::Unprintable), "{bad:?}");
            }
        }
        assert_eq!(parse(String::new()), Err(TextError::Empty));
        assert_eq!(parse("\0".repeat(65)), Err(TextError::TooLong { max: 64 }));
    }
}
