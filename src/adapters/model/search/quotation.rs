//! The text of a passage as an answer: as much of its beginning as fits.

use crate::domain::Passage;

/// Longer quotations are cut, in bytes.
const QUOTATION_LEN_MAX: usize = 1500;

/// The beginning of `text` that fits. Prose ends with a sentence, or else with a word, and code before its block.
pub(super) fn cut(text: &str) -> &str {
    let head = text.get(..text.floor_char_boundary(QUOTATION_LEN_MAX));
    let head = head.unwrap_or_default();
    let block = head.rfind("\n\n").map_or(0, |at| at + 2);
    let last = head.get(block..).unwrap_or_default();
    let sentence = head.rfind(". ").map(|stop| stop + 1);
    let end = match sentence.or_else(|| head.rfind(' ')) {
        _ if head.len() == text.len() => head.len(),
        _ if last.starts_with(Passage::CODE_INDENT) => block,
        end => end.unwrap_or(head.len()),
    };
    head.get(..end).unwrap_or_default().trim_end()
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
