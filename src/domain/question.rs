//! Questions that the assistant could not answer, stored without anything about who asked.

use super::chat::Conversation;
use super::hourly_counts::Hour;
use super::language::Language;
use super::time::Timestamp;

/// Maximum length of a stored question, in characters.
const LENGTH_MAX: usize = 300;

/// Digits of the shortest number that is masked: shorter than a telephone number, longer than a year.
const DIGITS_MIN: usize = 6;

/// Characters between the digits of one number.
const SEPARATORS: &str = " -–./()+";

/// A question without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The exact time would lead to the request in the log, which names its client.
    pub hour: Hour,
    /// Language of the visitor's page.
    pub language: Language,
    pub text: String,
}

impl Question {
    /// The newest question of `conversation`: its beginning in one line, with email addresses and long numbers masked.
    pub fn new(conversation: &Conversation, now: Timestamp) -> Self {
        let newest = conversation.questions().next().unwrap_or_default();
        let words = newest.split_whitespace().map(|word| match word {
            word if word.contains(['@', '＠']) => "[email]",
            word => word,
        });
        let text = mask_numbers(&words.collect::<Vec<_>>().join(" "));
        Self {
            hour: Hour::of(now),
            language: conversation.language,
            text: text.chars().take(LENGTH_MAX).collect(),
        }
    }
}

fn mask_numbers(text: &str) -> String {
    let is_digit = char::is_numeric;
    let ends_number = |c: char| !is_digit(c) && !SEPARATORS.contains(c);
    let masked =
        text.split_inclusive(ends_number)
            .map(|piece| match piece.matches(is_digit).count() {
                0..DIGITS_MIN => piece.to_owned(),
                _ => piece.replace(piece.trim_matches(|c| !is_digit(c)), "[number]"),
            });
    masked.collect()
}

#[cfg(test)]
mod tests {
    use super::super::chat::{Content, Message, Role};
    use super::*;

    fn asked(text: &str, at_ms: u64) -> Question {
        let content = Content::parse(text.to_owned()).unwrap();
        let message = Message {
            role: Role::User,
            content,
        };
        let conversation = Conversation::parse(vec![message]).unwrap();
        Question::new(&conversation, Timestamp::from_ms(at_ms))
    }

    #[test]
    fn addresses_and_long_numbers_are_masked_and_the_rest_is_one_line() {
        for (text, stored) in [
            (" Do you\n\tdeliver? ", "Do you deliver?"),
            (
                "Write to ada@example.com, please",
                "Write to [email] please",
            ),
            ("<ADA@münchen.example>?", "[email]"),
            ("ada＠example.com", "[email]"),
            ("Call +49 (170) 123-4567 now", "Call +[number] now"),
            ("Call 030/123456!", "Call [number]!"),
            ("Call ٠١٢٣٤٥٦٧", "Call [number]"),
            ("IBAN DE89 3704 0044 0532 0130 00", "IBAN DE[number]"),
            ("order 123456", "order [number]"),
            (
                "order 12345 of 2026, or 1,000 at 9:30",
                "order 12345 of 2026, or 1,000 at 9:30",
            ),
            ("123456 and 123456", "[number] and [number]"),
        ] {
            let question = asked(text, 7_300_000);
            assert_eq!(question.text, stored, "{text}");
            assert_eq!(question.hour.start(), Timestamp::from_ms(7_200_000));
        }
    }

    #[test]
    fn a_number_is_masked_before_a_long_question_is_cut() {
        let text = format!("{} 0123456789", "ä".repeat(LENGTH_MAX - 4));
        let question = asked(&text, 0);
        assert_eq!(question.text.chars().count(), LENGTH_MAX);
        assert!(question.text.ends_with(" [nu"));
    }
}
