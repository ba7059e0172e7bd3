//! Cuts a model's thinking off the start of its answer. Servers that do not separate thinking from the
//! answer leave it in the text, between tags; in a stream a tag may be split across pieces.

use std::mem::take;

/// The tags in use, in lowercase: words, then those of the Seed, Mistral, Kimi, Apertus, Cohere, and Open Thoughts
/// models and of gpt-oss, whose answer is in the last of several messages.
static TAGS: [(&str, &str); 19] = [
    ("<think>", "</think>"),
    ("<think >", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reason>", "</reason>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start|>", FINAL),
    ("<|channel|>", FINAL),
];

/// Begins the head of the message for the visitor (gpt-oss).
const FINAL: &str = "<|channel|>final";
/// The whole head of a message without a channel.
const BARE: &str = "<|start|>assistant<|message|>";
/// Ends a message's head.
const BODY: &str = "<|message|>";
/// The marks that end its text.
const ENDS: [&str; 4] = ["<|return|>", "<|end|>", "<|call|>", "<|start|>"];

/// Heads of the message for the visitor.
const HEADS: [&str; 2] = [FINAL, BARE];

/// Passes on everything except thinking.
#[derive(Debug)]
pub(super) struct ThinkTags {
    phase: Phase,
    /// The phase after [`Phase::Start`] if there is no opening tag.
    unopened: Phase,
    /// Text that may be the beginning of a tag.
    held: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing but white space so far.
    Start,
    /// Thinking, until one of these.
    Hidden(&'static [&'static str]),
    /// The answer, until one of these.
    Shown(&'static [&'static str]),
}

impl ThinkTags {
    /// With `thinks_first`, a text without an opening tag begins inside the thinking. What else may close it also
    /// occurs within thoughts.
    pub(super) const fn new(thinks_first: bool) -> Self {
        Self {
            phase: Phase::Start,
            unopened: if thinks_first {
                Phase::Hidden(&["</think>"])
            } else {
                Phase::Shown(&[])
            },
            held: String::new(),
        }
    }

    /// Takes the next piece and returns its part of the answer.
    pub(super) fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut answer = String::new();
        loop {
            if self.phase == Phase::Start {
                self.open();
            }
            let (is_shown, ends) = match self.phase {
                Phase::Start => return answer,
                Phase::Hidden(ends) => (false, ends),
                Phase::Shown(ends) => (true, ends),
            };
            let (text, mark) = self.take_until(ends);
            if is_shown {
                answer.push_str(&text);
            }
            self.phase = match mark {
                None => return answer,
                Some(FINAL) => Phase::Hidden(&[BODY]),
                Some(BODY | BARE) => Phase::Shown(&ENDS),
                Some(_) if is_shown => Phase::Hidden(&HEADS),
                Some(_) => Phase::Start,
            };
        }
    }

    /// Looks for an opening tag. Changes nothing as long as more text may complete one.
    fn open(&mut self) {
        let is_blank = |c: char| c.is_whitespace() || "\u{200b}\u{feff}".contains(c);
        let blanks = self.held.len() - self.held.trim_start_matches(is_blank).len();
        self.held.drain(..blanks);
        let text = self.held.to_ascii_lowercase();
        self.phase = match TAGS.iter().find(|(opening, _)| text.starts_with(opening)) {
            Some((_, FINAL)) => Phase::Hidden(&HEADS),
            Some((_, closing)) => Phase::Hidden(std::slice::from_ref(closing)),
            None if TAGS.iter().any(|(opening, _)| opening.starts_with(&text)) => return,
            None => self.unopened,
        };
        // More of it may follow the first thoughts, each part with its own tag.
        self.unopened = Phase::Shown(&[]);
    }

    /// The rest of the answer, after the last piece.
    pub(super) fn finish(&mut self) -> String {
        if self.phase == Phase::Start {
            self.phase = self.unopened;
        }
        let rest = take(&mut self.held);
        match self.phase {
            Phase::Shown(_) => rest,
            Phase::Start | Phase::Hidden(_) => String::new(),
        }
    }

    /// Takes the text up to and including the first of `tags`. Without one, takes everything except a possible
    /// beginning of a tag.
    fn take_until(&mut self, tags: &[&'static str]) -> (String, Option<&'static str>) {
        let text = self.held.to_ascii_lowercase();
        let found = tags.iter().filter_map(|tag| Some((text.find(tag)?, *tag)));
        if let Some((at, tag)) = found.min() {
            let before = self.held.drain(..at).collect();
            self.held.drain(..tag.len());
            return (before, Some(tag));
        }
        let begins = |(at, _): &(usize, char)| {
            let rest = text.get(*at..).unwrap_or_default();
            tags.iter().any(|tag| tag.starts_with(rest))
        };
        let begin = text.char_indices().find(begins);
        let end = begin.map_or(text.len(), |(at, _)| at);
        (self.held.drain(..end).collect(), None)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The answer in a text that arrives in these pieces.
    fn answer<'a>(pieces: impl IntoIterator<Item = &'a str>, thinks_first: bool) -> String {
        let mut tags = ThinkTags::new(thinks_first);
        let text: String = pieces.into_iter().map(|piece| tags.push(piece)).collect();
        text + &tags.finish()
    }

    /// Checks the answer in `text`, split at every position.
    fn check(text: &str, thinks_first: bool, expected: &str) {
        assert_eq!(answer([text], thinks_first), expected, "{text:?}");
        let chars: Vec<_> = text.chars().map(String::from).collect();
        let pieces = chars.iter().map(String::as_str);
        assert_eq!(answer(pieces, thinks_first), expected, "{text:?}");
        for (at, _) in text.char_indices() {
            let (one, two) = text.split_at(at);
            let said = answer([one, two], thinks_first);
            assert_eq!(said, expected, "{text:?} at {at}");
        }
    }

    #[test]
    fn every_pair_is_cut_at_the_start_in_any_letter_case() {
        for (opening, closing) in TAGS.iter().copied() {
            let head = if closing == FINAL { BODY } else { "" };
            let closing = format!("{closing}{head}");
            for (opening, closing) in [
                (opening.to_owned(), closing.clone()),
                (opening.to_uppercase(), closing.to_uppercase()),
            ] {
                let blank = if head.is_empty() { "" } else { "\n" };
                check(&format!("{opening}secret{closing}Hi"), false, "Hi");
                check(
                    &format!("\n {opening}é{closing}\nHi"),
                    false,
                    &format!("{blank}Hi"),
                );
                check(&format!("{opening}secret"), false, "");
                check(&format!("{opening}a</think{closing}Hi"), true, "Hi");
                check(&format!("{opening}secret"), true, "");
            }
        }
    }

    #[test]
    fn no_opening_tag_hides_another() {
        for (one, _) in TAGS {
            let hidden = TAGS.iter().filter(|(other, _)| other.starts_with(one));
            assert_eq!(hidden.count(), 1, "{one}");
        }
    }

    #[test]
    fn only_the_first_tag_counts_and_only_its_own_end() {
        for (text, expected) in [
            ("plain", "plain"),
            ("Write `<think>` </think>.", "Write `<think>` </think>."),
            ("Write <think> and <|end|>", "Write <think> and <|end|>"),
            ("\u{200b}<think >secret</think>Hi", "Hi"),
            (
                "<|start|>assistant<|message|>Hi <b>you</b><|end|>",
                "Hi <b>you</b>",
            ),
            ("<thinner> 1 < 2, [1]", "<thinner> 1 < 2, [1]"),
            ("<think", "<think"),
            ("<think>a</thinking>b</think>Hi", "Hi"),
            ("<think>a <think> b</think>Hi", "Hi"),
            ("<think></think>", ""),
            ("<think>a</think>Hi <think>b", "Hi <think>b"),
            ("<think>a</think> <thinking>b</thinking> Hi", "Hi"),
            ("secret</think>Hi", "secret</think>Hi"),
        ] {
            check(text, false, expected);
        }
    }

    #[test]
    fn only_the_final_message_of_several_is_the_answer() {
        const ANALYSIS: &str = "<|channel|>analysis<|message|>secret<|end|>";
        const TOOL: &str = "<|start|>assistant<|channel|>commentary to=functions.x \
                            <|constrain|>json<|message|>{}<|call|>";
        const SAID: &str = "<|channel|>final<|message|>Hi";
        for (text, expected) in [
            (
                format!("<|start|>assistant{ANALYSIS}<|start|>assistant{SAID}<|return|>"),
                "Hi",
            ),
            (
                format!("{ANALYSIS}<|start|>assistant{SAID}<|return|>"),
                "Hi",
            ),
            (format!("{ANALYSIS}{TOOL}<|start|>assistant{SAID}"), "Hi"),
            (format!("{SAID} <|x|> < <|return|>"), "Hi <|x|> < "),
            (format!("{SAID}<|end|>{TOOL}"), "Hi"),
            (
                format!("{SAID}<|end|><|start|>assistant{SAID}<|ret"),
                "HiHi<|ret",
            ),
            (
                "<|channel|>final <|constrain|>json<|message|>Hi".to_owned(),
                "Hi",
            ),
            (ANALYSIS.to_owned(), ""),
            (
                format!("Begin with {ANALYSIS}"),
                &*format!("Begin with {ANALYSIS}"),
            ),
        ] {
            check(&text, false, expected);
        }
        check(
            &format!("{ANALYSIS}<|start|>assistant{SAID}<|end|>"),
            true,
            "Hi",
        );
    }

    #[test]
    fn a_text_that_begins_inside_the_thinking_is_cut_to_the_tag_that_closes_it() {
        for (text, expected) in [
            ("secret</think>Hi", "Hi"),
            ("<think>secret</think>Hi", "Hi"),
            ("a</analysis>b</reflection>c</scratchpad>d</think>Hi", "Hi"),
            ("a</thinking>b[/THINK]c</THINK>Hi</think>", "Hi</think>"),
            ("<thinking>a</think>b</thinking>Hi", "Hi"),
            (
                "<analysis>a</reflection>b</analysis>Hi</think>",
                "Hi</think>",
            ),
            ("secret</think> <think>more</think>Hi", "Hi"),
            ("secret</analysis>", ""),
            ("<thi", ""),
            ("</think>Hi", "Hi"),
            ("secret", ""),
            ("", ""),
        ] {
            check(text, true, expected);
        }
    }

    #[test]
    fn thinking_is_not_kept() {
        for thinks_first in [true, false] {
            let mut tags = ThinkTags::new(thinks_first);
            tags.push("<think>");
            for piece in ["é", "</thin"] {
                tags.push(&piece.repeat(10_000));
                assert!(tags.held.len() < 64, "{}", tags.held.len());
            }
        }
    }

    proptest! {
        #[test]
        fn the_answer_does_not_depend_on_how_it_is_split(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "secret ", "<think>", "</think>", "<thinking>", "</THINKING>", "[THINK]",
                    "[/THINK]", "◁think▷", "◁/think▷", "<|end", "<", " ", "\n", "é",
                    "<|channel|>", "final", "<|message|>", "|>", "<|start|>",
                ]),
                0..12,
            ),
            thinks_first: bool,
        ) {
            let text = parts.concat();
            let chars: Vec<_> = text.chars().map(String::from).collect();
            let pieces = chars.iter().map(String::as_str);
            prop_assert_eq!(answer([text.as_str()], thinks_first), answer(pieces, thinks_first));
        }
    }
}
