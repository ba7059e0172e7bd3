//! The marks between which models think aloud, and how they are found in text that comes in pieces.

/// What a thought stands between.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) opening: &'static str,
    pub(super) closing: &'static str,
    /// They are tokens of the model's own alphabet, always written like this; people do not write
    /// them. The others are tags that models write as words, in any letter case.
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
/// what is not in this channel is not for the visitor.
const FINAL: &str = "<|channel|>final<|message|>";

/// The marks that are about.
const MARKS: [Marks; 12] = [
    tags("<think>", "</think>"),
    tags("<thinking>", "</thinking>"),
    tags("<thought>", "</thought>"),
    tags("<reasoning>", "</reasoning>"),
    // Seed-OSS, Mistral's Magistral, Kimi.
    tags("<seed:think>", "</seed:think>"),
    controls("[THINK]", "[/THINK]"),
    controls("◁think▷", "◁/think▷"),
    controls("<|channel|>analysis", FINAL),
    controls("<|channel|>commentary", FINAL),
    controls("<|start|>", FINAL),
    controls("<|end|>", FINAL),
    controls("<|return|>", FINAL),
];

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

/// The token that `text` begins with, and its length in bytes; nothing if it cannot be told before
/// more comes. `is_end` says that no more does.
pub(super) fn next_token(text: &str, is_end: bool) -> Option<(Token, usize)> {
    let first = text.chars().next()?;
    match first {
        '\n' => Some((Token::NewLine, 1)),
        '`' => {
            let len = text.len() - text.trim_start_matches('`').len();
            (len < text.len() || is_end).then_some((Token::Ticks, len))
        }
        _ => {
            let mut may_come = false;
            for marks in &MARKS {
                for (mark, token) in [
                    (marks.opening, Token::Opening(marks)),
                    (marks.closing, Token::Closing(marks.closing)),
                ] {
                    if is_alike(text, mark, marks.is_control) {
                        if text.len() >= mark.len() {
                            return Some((token, mark.len()));
                        }
                        may_come = true;
                    }
                }
            }
            if may_come && !is_end {
                return None;
            }
            let after = first.len_utf8();
            let len = text
                .get(after..)
                .and_then(|rest| rest.find(['\n', '`', '<', '[', '◁']))
                .map_or(text.len(), |at| after + at);
            Some((Token::Text, len))
        }
    }
}

/// Whether the longer one begins with the other.
fn is_alike(text: &str, mark: &str, is_exact: bool) -> bool {
    text.bytes()
        .zip(mark.bytes())
        .all(|(one, other)| one == other || (!is_exact && one.eq_ignore_ascii_case(&other)))
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
                let (before, len) = next_token(&text, false).unwrap();
                assert_eq!((before, len), (Token::Text, "before ".len()), "{mark}");
                assert_eq!(next_token(&text[len..], false), Some((token, mark.len())));
                for (end, _) in mark.char_indices().skip(1) {
                    assert_eq!(next_token(&mark[..end], false), None, "{mark} {end}");
                }
                let other_case = mark.to_uppercase();
                let is_found = next_token(&other_case, true).unwrap().0 == token;
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
            assert_eq!(next_token(text, false), expected, "{text:?}");
        }
        assert_eq!(next_token("``", true), Some((Token::Ticks, 2)));
        assert_eq!(next_token("<thi", true), Some((Token::Text, 4)));
    }
}
