//! Cuts a model's thinking out of its text. Some models think aloud between tags in the answer
//! itself, and a stream splits the tags anywhere.

/// The tags that are about, in lower case; models write them in any.
const OPENINGS: [&str; 4] = ["<think>", "<thinking>", "<thought>", "<reasoning>"];
const CLOSINGS: [&str; 4] = ["</think>", "</thinking>", "</thought>", "</reasoning>"];

/// Passes on what is not thought.
#[derive(Debug, Default)]
pub(super) struct ThoughtFilter {
    is_thinking: bool,
    /// What may be the beginning of a tag.
    held: String,
}

/// Text without thoughts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) text: String,
    /// A thought ended that had not begun: all text before this one was thought, too. Some servers
    /// put the opening tag into the prompt.
    pub(super) was_thought_before: bool,
}

impl ThoughtFilter {
    /// Takes the next piece and gives what is spoken of it.
    pub(super) fn push(&mut self, piece: &str) -> Spoken {
        self.held.push_str(piece);
        let mut spoken = Spoken::default();
        loop {
            let closing = first(&self.held, CLOSINGS);
            let opening = first(&self.held, OPENINGS).filter(|_| !self.is_thinking);
            match (opening, closing) {
                (Some((start, end)), closing) if closing.is_none_or(|(other, _)| start < other) => {
                    spoken
                        .text
                        .push_str(self.held.get(..start).unwrap_or_default());
                    self.held.drain(..end);
                    self.is_thinking = true;
                }
                (_, Some((_, end))) => {
                    if !self.is_thinking {
                        spoken.text.clear();
                        spoken.was_thought_before = true;
                    }
                    self.held.drain(..end);
                    self.is_thinking = false;
                }
                (_, None) => break,
            }
        }
        let is_tag = |rest: &str| {
            let rest = rest.to_ascii_lowercase();
            let mut tags = OPENINGS.into_iter().chain(CLOSINGS);
            tags.any(|tag| tag.starts_with(&rest))
        };
        let undecided = self
            .held
            .match_indices('<')
            .map(|(at, _)| at)
            .find(|&at| self.held.get(at..).is_some_and(is_tag))
            .unwrap_or(self.held.len());
        let rest = self.held.split_off(undecided);
        let decided = std::mem::replace(&mut self.held, rest);
        if !self.is_thinking {
            spoken.text.push_str(&decided);
        }
        spoken
    }

    /// What is left when no more comes.
    pub(super) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        if self.is_thinking {
            String::new()
        } else {
            rest
        }
    }
}

/// The first place where one of `tags` stands in any case: start and end.
fn first(text: &str, tags: [&str; 4]) -> Option<(usize, usize)> {
    // As long as the text itself.
    let text = text.to_ascii_lowercase();
    tags.into_iter()
        .filter_map(|tag| text.find(tag).map(|start| (start, start + tag.len())))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoken<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
        let mut filter = ThoughtFilter::default();
        let mut text = String::new();
        for piece in pieces {
            let spoken = filter.push(piece);
            if spoken.was_thought_before {
                text.clear();
            }
            text.push_str(&spoken.text);
        }
        text + &filter.finish()
    }

    #[test]
    fn thoughts_are_cut_wherever_the_text_is_split() {
        for (text, expected) in [
            ("plain", "plain"),
            ("<think>secret</think>Hello", "Hello"),
            ("<thinking>secret</thinking>Hello", "Hello"),
            ("<Think>secret</THINK>Hello", "Hello"),
            ("<thought>secret</thought>Hello", "Hello"),
            ("<reasoning>secret</reasoning>Hello", "Hello"),
            ("A<think>x</think>B<think>y</think>C", "ABC"),
            ("<think>never closed", ""),
            ("said<think>never closed </thin", "said"),
            ("opened in the prompt</think>Hello", "Hello"),
            ("<think>a <think> b</think>Hello", "Hello"),
            (
                "1 < 2, <b>bold</b>, <thinner>",
                "1 < 2, <b>bold</b>, <thinner>",
            ),
            ("ends with <thi", "ends with <thi"),
            ("<think></think>", ""),
            ("<<think>x</think>é<", "<é<"),
        ] {
            assert_eq!(spoken([text]), expected, "{text}");
            let chars: Vec<_> = text.chars().map(String::from).collect();
            assert_eq!(spoken(chars.iter().map(String::as_str)), expected, "{text}");
            for (at, _) in text.char_indices() {
                let (one, two) = text.split_at(at);
                assert_eq!(spoken([one, two]), expected, "{text} at {at}");
            }
        }
    }
}
