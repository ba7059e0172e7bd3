//! The text of a passage as an answer: as much of its beginning as fits.

use crate::domain::Passage;

/// Longer quotations are cut, in bytes.
const QUOTATION_LEN_MAX: usize = 1500;

/// The blocks of `text` that fit, at least one. Prose that does not fit ends with a sentence, code
/// before the block.
pub(super) fn cut(text: &str) -> String {
    let mut quotation = String::new();
    for block in text.split("\n\n") {
        let room = QUOTATION_LEN_MAX.saturating_sub(quotation.len());
        if !quotation.is_empty() {
            quotation.push_str("\n\n");
        }
        if block.len() <= room {
            quotation.push_str(block);
            continue;
        }
        if !block.starts_with(Passage::CODE_INDENT) {
            quotation.push_str(sentences_within(block, room));
        }
        break;
    }
    quotation.trim_end().to_owned()
}

/// The whole sentences of `prose` within `room` bytes; whole words if no sentence fits.
fn sentences_within(prose: &str, room: usize) -> &str {
    let is_boundary = |at: &usize| prose.is_char_boundary(*at);
    let end = (0..=room).rev().find(is_boundary).unwrap_or_default();
    let head = prose.get(..end).unwrap_or_default();
    let sentence = head.rfind(". ").map(|stop| stop + 1);
    let end = sentence.or_else(|| head.rfind(' ')).unwrap_or(end);
    head.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_passage_ends_with_a_whole_sentence() {
        let sentence = "Ein Satz mit Ümläuten und 🍕. ";
        let text = sentence.repeat(100);
        let quotation = cut(text.trim_end());
        assert!(quotation.ends_with("🍕."));
        assert!(quotation.len() <= QUOTATION_LEN_MAX);
        assert!(quotation.len() > QUOTATION_LEN_MAX - sentence.len());
    }

    #[test]
    fn code_is_quoted_whole_or_not_at_all() {
        let code = format!("{}curl x\n", Passage::CODE_INDENT).repeat(200);
        assert_eq!(cut(&format!("First.\n\n{code}")), "First.");
        let short = format!("First.\n\n{}curl x\n\nLast.", Passage::CODE_INDENT);
        assert_eq!(cut(&short), short);
    }

    #[test]
    fn one_endless_word_is_cut_too() {
        assert_eq!(cut(&"é".repeat(2000)).len(), QUOTATION_LEN_MAX);
        assert_eq!(cut(""), "");
    }
}
