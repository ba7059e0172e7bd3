//! A conversation with the landing assistant, as sent by the client; the questions that it could not answer, stored without
//! anything about who asked; and the sections of the service's pages that it quotes.

use super::hourly_counts::Hour;
use super::language::Language;
use super::macros::names;
use super::text::Text;
use super::time::Timestamp;

/// Maximum number of turns in a request.
pub const MESSAGES_MAX: usize = 12;

/// The text of a turn: 1 to 2000 Unicode scalar values.
pub type Content = Text<2000>;

names! {
    /// The author of a turn. The client sets it, so an `Assistant` turn proves nothing.
    pub enum Role {
        /// The visitor.
        User => "user",
        /// The assistant, according to the client.
        Assistant => "assistant",
    }
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: Content,
}

/// 1 to [`MESSAGES_MAX`] turns, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    messages: Vec<Message>,
    /// Language of the visitor's page: the fallback for turns whose own language is unclear.
    pub language: Language,
}

impl Conversation {
    /// Takes the turns, oldest first. `None` for no turn or more than [`MESSAGES_MAX`].
    pub fn parse(messages: Vec<Message>) -> Option<Self> {
        (1..=MESSAGES_MAX).contains(&messages.len()).then(|| Self {
            messages,
            language: Language::default(),
        })
    }

    /// The turns, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The visitor's turns, newest first.
    pub fn questions(&self) -> impl Iterator<Item = &str> {
        self.messages
            .iter()
            .rev()
            .filter(|message| message.role == Role::User)
            .map(|message| message.content.as_str())
    }
}

/// Maximum length of a stored question, in characters.
const QUESTION_LENGTH_MAX: usize = 300;

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
            text: text.chars().take(QUESTION_LENGTH_MAX).collect(),
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

/// A section of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Title of its page.
    pub page: String,
    /// Heading of the section.
    pub title: String,
    /// Its URL, with the anchor.
    pub url: String,
    /// Plain text in blocks, separated by an empty line. The lines of a code example, and no others,
    /// begin with [`Passage::CODE_INDENT`].
    pub text: String,
    /// Synonyms by the page's author: never quoted.
    pub hints: Vec<String>,
    /// Sample questions of visitors: learned from, never quoted.
    pub examples: Vec<&'static str>,
    /// True for the operator's own pages, which have few examples.
    pub is_own: bool,
    /// Its language; `None` if it is for readers of any language.
    pub language: Option<Language>,
}

impl Passage {
    /// The indent of each line of a code example.
    pub const CODE_INDENT: &str = "    ";

    /// True for the beginning of a page, before its sections.
    pub fn is_introduction(&self) -> bool {
        self.title == self.page
    }

    /// Its names: title, hints and examples.
    pub fn topics(&self) -> impl Iterator<Item = &str> {
        let title = std::iter::once(self.title.as_str());
        let hints = self.hints.iter().map(String::as_str);
        title.chain(hints).chain(self.examples.iter().copied())
    }

    /// The texts about its subject: title, paragraphs of prose, hints and examples.
    pub fn prose(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines();
        let lines = lines.filter(|line| !line.starts_with(Self::CODE_INDENT));
        let texts = self.topics().chain(lines);
        texts.filter(|text| !text.is_empty())
    }
}

/// A visitor's message that is no question, such as thanks, and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Courtesy {
    /// Its words.
    pub words: Vec<&'static str>,
    /// The assistant's reply.
    pub reply: String,
    /// True if it closes a conversation, whatever comes after it.
    pub is_closing: bool,
}

/// The assistant's texts and word lists in one language, besides the passages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantTexts {
    /// The language.
    pub language: Language,
    /// Questions that no passage answers, by subject, to learn from.
    pub other_subjects: Vec<Vec<&'static str>>,
    /// Stop words: they shape a question without saying its subject.
    pub stop_words: Vec<&'static str>,
    /// Those of them that precede the subject.
    pub question_words: Vec<&'static str>,
    /// Words that fit any subject: of no weight in a question unless a page has them.
    pub vague_words: Vec<&'static str>,
    /// Groups of words and phrases that visitors use for the same thing.
    pub synonyms: Vec<Vec<&'static str>>,
    /// Subjects that most visitors ask about, the most common first.
    pub common_subjects: Vec<&'static str>,
    /// Subjects of pages that the law requires.
    pub legal_subjects: Vec<&'static str>,
    /// Words with which a question begins that goes on from the one before.
    pub follow_up_words: Vec<&'static str>,
    /// Messages that are no question, the most distinctive first.
    pub courtesies: Vec<Courtesy>,
    /// Fillers next to courtesies.
    pub fillers: Vec<&'static str>,
    /// Says that the pages don't answer the question.
    pub unanswered: String,
    /// Asks for the visitor's question.
    pub question: String,
    /// Introduces some topics.
    pub topics: String,
    /// Introduces the URL of all topics, or of a person.
    pub elsewhere: String,
    /// Introduces the URL of the passage.
    pub more: String,
    /// Says that the operator's model is unavailable, and the pages answer.
    pub away: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(role: Role, text: &str) -> Message {
        Message {
            role,
            content: Content::parse(text.to_owned()).unwrap(),
        }
    }

    #[test]
    fn one_to_twelve_turns_are_a_conversation() {
        for (turns, fits) in [(0, false), (1, true), (12, true), (13, false)] {
            let messages = vec![turn(Role::User, "hello"); turns];
            assert_eq!(Conversation::parse(messages).is_some(), fits, "{turns}");
        }
    }

    #[test]
    fn questions_are_the_visitors_turns_newest_first() {
        let conversation = Conversation::parse(vec![
            turn(Role::User, "first"),
            turn(Role::Assistant, "forged"),
            turn(Role::User, "second"),
        ])
        .unwrap();
        assert!(conversation.questions().eq(["second", "first"]));
    }

    #[test]
    fn no_other_role_exists() {
        for name in ["system", "tool", "User", "developer", ""] {
            assert_eq!(Role::from_name(name), None, "{name}");
        }
    }

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
        let text = format!("{} 0123456789", "ä".repeat(QUESTION_LENGTH_MAX - 4));
        let question = asked(&text, 0);
        assert_eq!(question.text.chars().count(), QUESTION_LENGTH_MAX);
        assert!(question.text.ends_with(" [nu"));
    }
}
