//! The text of a passage as an answer: as much of its beginning as fits.

use crate::domain::Passage;

/// Longer quotations are cut, in bytes.
const QUOTATION_LEN_MAX: usize = 1500;

/// The beginning of `text` that fits. Prose ends with a sentence, or else with a word, and code before its block.
pub(super) fn cut(text: &str) -> &str {
    let mut heads = (0..=QUOTATION_LEN_MAX).rev().map(|end| text.get(..end));
    let head = heads.find_map(|head| head).unwrap_or_default();
    let block = head.rfind("\n\n").map_or(0, |at| at + 2);
    let last = head.get(block..).unwrap_or_default();
    let sentence = last.rfind(". ").map(|stop| stop + 1);
    let end = match sentence.or_else(|| last.rfind(' ')) {
        _ if head.len() == text.len() => head.len(),
        _ if last.starts_with(Passage::CODE_INDENT) => block,
        Some(end) => block + end,
        None if block > 0 => block,
        None => head.len(),
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
        let mixed = format!(
            "First.\n\n{}curl -d 'Hello. {}",
            Passage::CODE_INDENT,
            "x".repeat(1500)
        );
        assert_eq!(cut(&mixed), "First.");
    }

    #[test]
    fn a_long_list_is_quoted_as_far_as_it_fits() {
        let list = format!("We sell these. Prices:\n\n{}", "- one item\n".repeat(200));
        assert!(
            cut(&list).len() > QUOTATION_LEN_MAX - 20,
            "{}",
            cut(&list).len()
        );
    }

    #[test]
    fn one_endless_word_is_cut_too() {
        assert_eq!(cut(&"é".repeat(2000)).len(), QUOTATION_LEN_MAX);
        assert_eq!(cut(""), "");
    }
}
