//! The marks between which models think aloud, and how they are found in text that comes in pieces.

/// What a thought stands between.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) opening: &'static str,
    pub(super) closing: &'static str,
    /// They are tokens of the model's own alphabet, always written like this; people do not write
    /// them. The others are tags that models write as words, in any letter case, with blanks and
    /// attributes before the last bracket.
    pub(super) is_control: bool,
}

const fn tags(opening: &'static str, closing: &'static str) -> Marks {
    Marks {
        opening,
        closing,
        is_control: false,
    }
}

const fn controls(opening: &'static str, closing: &'static str) -> Marks {
    Marks {
        opening,
        closing,
        is_control: true,
    }
}

/// Where the answer begins in the harmony format of gpt-oss. Its messages stand in channels:
/// `<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...`, and
/// what is not in this channel is not for the visitor. What the message is made of may stand before
/// its last token: `<|channel|>final <|constrain|>json<|message|>`.
const FINAL: &str = "<|channel|>final<|message|>";
/// The last token of a harmony message's head.
const MESSAGE: &str = "<|message|>";

/// The marks that are about.
const MARKS: [Marks; 18] = [
    tags("<think>", "</think>"),
    tags("<thinking>", "</thinking>"),
    tags("<thought>", "</thought>"),
    tags("<reasoning>", "</reasoning>"),
    tags("<reflection>", "</reflection>"),
    // Seed-OSS, Mistral's Magistral, Kimi, Cohere, OpenThoughts, MedGemma, Gemma.
    tags("<seed:think>", "</seed:think>"),
    controls("[THINK]", "[/THINK]"),
    controls("◁think▷", "◁/think▷"),
    controls("<|START_THINKING|>", "<|END_THINKING|>"),
    controls("<|begin_of_thought|>", "<|end_of_thought|>"),
    controls("<unused94>", "<unused95>"),
    controls("<|channel>thought", "<channel|>"),
    controls("<|think|>", "<|/think|>"),
    controls("<|channel|>analysis", FINAL),
    controls("<|channel|>commentary", FINAL),
    controls("<|start|>", FINAL),
    controls("<|end|>", FINAL),
    controls("<|return|>", FINAL),
];

/// Harmony without its tokens, as servers leave it that do not know them. It begins an answer with
/// this word, and the thought follows without a blank: `analysisThe visitor asks...`.
pub(super) const BARE: Marks = controls("analysis", "assistantfinal");

/// The longest run of backticks that is one token, in bytes: a longer one is several. What cannot be
/// read yet is looked at again with every piece, so it must not grow.
pub(super) const TICKS_MAX: usize = 64;
/// The most that may stand within a mark, before its end, in bytes.
const INNER_BYTES_MAX: usize = 128;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Text,
    NewLine,
    /// A run of backticks.
    Ticks,
    Opening(&'static Marks),
    Closing(&'static str),
}

/// Where in an answer a token stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing but blanks came before.
    Start,
    /// In a thought that began with [`BARE`].
    InBare,
    Elsewhere,
}

/// The token that `text` begins with, and its length in bytes; nothing if it cannot be told before
/// more comes. `is_end` says that no more does.
pub(super) fn next_token(text: &str, is_end: bool, place: Place) -> Option<(Token, usize)> {
    let first = text.chars().next()?;
    match (first, place) {
        (_, Place::InBare) => in_bare(text, is_end),
        ('\n', Place::Start | Place::Elsewhere) => Some((Token::NewLine, 1)),
        ('`', Place::Start | Place::Elsewhere) => {
            let run = text.bytes().take(TICKS_MAX);
            let len = run.take_while(|byte| *byte == b'`').count();
            (len < text.len() || len == TICKS_MAX || is_end).then_some((Token::Ticks, len))
        }
        (_, Place::Start | Place::Elsewhere) => {
            let mut may_come = false;
            if place == Place::Start {
                match find_bare(text) {
                    Found::Whole(len) => return Some((Token::Opening(&BARE), len)),
                    Found::Part => may_come = true,
                    Found::Nothing => {}
                }
            }
            for marks in &MARKS {
                for (mark, token) in [
                    (marks.opening, Token::Opening(marks)),
                    (marks.closing, Token::Closing(marks.closing)),
                ] {
                    match find(text, mark, marks.is_control) {
                        Found::Whole(len) => return Some((token, len)),
                        Found::Part => may_come = true,
                        Found::Nothing => {}
                    }
                }
            }
            if may_come && !is_end {
                return None;
            }
            let after = first.len_utf8();
            let rest = text.get(after..).unwrap_or_default();
            let is_stop = |c: char| {
                matches!(c, '\n' | '`' | '<' | '[' | '◁')
                    || (place == Place::Start && first.is_whitespace() && !c.is_whitespace())
            };
            let len = rest.find(is_stop).map_or(text.len(), |at| after + at);
            Some((Token::Text, len))
        }
    }
}

/// What stands at the beginning of a text.
enum Found {
    /// A mark of so many bytes.
    Whole(usize),
    /// What may become one.
    Part,
    Nothing,
}

/// Looks for `mark` where `text` begins.
fn find(text: &str, mark: &str, is_exact: bool) -> Found {
    // What ends a mark that may hold more than its name.
    let end = match mark {
        FINAL => MESSAGE,
        _ if is_exact => "",
        _ => ">",
    };
    let stem = mark.strip_suffix(end).unwrap_or(mark);
    let is_alike = text
        .bytes()
        .zip(stem.bytes())
        .all(|(one, other)| one == other || (!is_exact && one.eq_ignore_ascii_case(&other)));
    if !is_alike {
        return Found::Nothing;
    }
    let Some(rest) = text.get(stem.len()..) else {
        return Found::Part;
    };
    if rest.starts_with(end) {
        return Found::Whole(stem.len() + end.len());
    }
    if end.starts_with(rest) {
        return Found::Part;
    }
    let has_inner =
        rest.starts_with(|c: char| c.is_ascii_whitespace()) || (is_exact && rest.starts_with('<'));
    if !has_inner {
        return Found::Nothing;
    }
    let window = INNER_BYTES_MAX + end.len();
    let inner = rest.as_bytes().get(..window).unwrap_or(rest.as_bytes());
    let at = inner
        .windows(end.len())
        .position(|bytes| bytes == end.as_bytes());
    let before = inner.get(..at.unwrap_or(inner.len())).unwrap_or_default();
    // A bracket within it is another tag's, and an element that is empty begins nothing.
    let is_other = !is_exact && (before.contains(&b'<') || before.ends_with(b"/"));
    match at {
        Some(at) if !is_other => Found::Whole(stem.len() + at + end.len()),
        None if rest.len() < window && (is_exact || !before.contains(&b'<')) => Found::Part,
        Some(_) | None => Found::Nothing,
    }
}

/// Looks for the opening of [`BARE`]: the word, and what no prose has after it.
fn find_bare(text: &str) -> Found {
    match text.strip_prefix(BARE.opening) {
        Some(rest) => match rest.chars().next() {
            None => Found::Part,
            Some(next) if next.is_alphanumeric() || next == '\n' || next == '"' => {
                Found::Whole(BARE.opening.len())
            }
            Some(_) => Found::Nothing,
        },
        None if BARE.opening.starts_with(text) => Found::Part,
        None => Found::Nothing,
    }
}

/// Nothing but its closing mark counts in a thought that began with [`BARE`].
fn in_bare(text: &str, is_end: bool) -> Option<(Token, usize)> {
    let at = match text.find(BARE.closing) {
        Some(0) => return Some((Token::Closing(BARE.closing), BARE.closing.len())),
        Some(at) => at,
        None if is_end => text.len(),
        // The end may be the beginning of the mark.
        None => (0..=(text.len() + 1).saturating_sub(BARE.closing.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or_default(),
    };
    (at > 0).then_some((Token::Text, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_where_text_stops_for_it() {
        for marks in &MARKS {
            for (mark, token) in [
                (marks.opening, Token::Opening(marks)),
                (marks.closing, Token::Closing(marks.closing)),
            ] {
                let text = format!("before {mark} after");
                let (before, len) = next_token(&text, false, Place::Elsewhere).unwrap();
                assert_eq!((before, len), (Token::Text, "before ".len()), "{mark}");
                assert_eq!(
                    next_token(&text[len..], false, Place::Elsewhere),
                    Some((token, mark.len()))
                );
                for (end, _) in mark.char_indices().skip(1) {
                    assert_eq!(
                        next_token(&mark[..end], false, Place::Elsewhere),
                        None,
                        "{mark} {end}"
                    );
                }
                let other_case = mark.to_uppercase();
                let is_found = next_token(&other_case, true, Place::Elsewhere).unwrap().0 == token;
                assert_eq!(is_found, other_case == mark || !marks.is_control, "{mark}");
            }
        }
    }

    #[test]
    fn no_mark_hides_another() {
        let all = || {
            MARKS
                .iter()
                .flat_map(|marks| [marks.opening, marks.closing])
        };
        for one in all() {
            for other in all() {
                let hides = one != other && other.to_lowercase().starts_with(&one.to_lowercase());
                assert!(!hides, "{one} {other}");
            }
        }
    }

    #[test]
    fn the_rest_is_text_and_code() {
        for (text, expected) in [
            ("", None),
            ("plain\n", Some((Token::Text, 5))),
            ("\n\n", Some((Token::NewLine, 1))),
            ("``x", Some((Token::Ticks, 2))),
            ("``", None),
            ("< 2", Some((Token::Text, 3))),
            ("<<think>", Some((Token::Text, 1))),
            ("[1]", Some((Token::Text, 3))),
            ("[think]", Some((Token::Text, 7))),
            ("é<", Some((Token::Text, 2))),
        ] {
            assert_eq!(
                next_token(text, false, Place::Elsewhere),
                expected,
                "{text:?}"
            );
        }
        assert_eq!(
            next_token("``", true, Place::Elsewhere),
            Some((Token::Ticks, 2))
        );
        assert_eq!(
            next_token("<thi", true, Place::Elsewhere),
            Some((Token::Text, 4))
        );
    }

    #[test]
    fn what_cannot_be_told_yet_stays_short() {
        let ticks = "`".repeat(1 << 20);
        let blank = format!("<think {}", "x".repeat(1 << 20));
        for (text, token, len) in [
            (ticks.as_str(), Token::Ticks, TICKS_MAX),
            (&blank, Token::Text, blank.len()),
        ] {
            let told = next_token(text, false, Place::Elsewhere);
            assert_eq!(told, Some((token, len)));
        }
        for text in [
            &blank[..6 + INNER_BYTES_MAX],
            "<|channel|>final <|constrain|>json",
        ] {
            assert_eq!(next_token(text, false, Place::Elsewhere), None);
        }
        let thought = "x".repeat(1 << 20);
        let (token, len) = next_token(&thought, false, Place::InBare).unwrap();
        assert!(token == Token::Text && thought.len() - len < BARE.closing.len());
    }
}
