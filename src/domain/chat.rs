//! A conversation with the landing assistant, as sent by the client.

use super::language::Language;
use super::macros::names;
use super::text::Text;

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
    language: Language,
}

impl Conversation {
    /// Takes the turns, oldest first. `None` for no turn or more than [`MESSAGES_MAX`].
    pub fn parse(messages: Vec<Message>) -> Option<Self> {
        (1..=MESSAGES_MAX).contains(&messages.len()).then(|| Self {
            messages,
            language: Language::default(),
        })
    }

    /// Sets the language of the visitor's page.
    #[must_use]
    pub fn on_page_in(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Language of the visitor's page: the fallback for turns whose own language is unclear.
    pub fn language(&self) -> Language {
        self.language
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
        assert_eq!(
            conversation.questions().collect::<Vec<_>>(),
            ["second", "first"]
        );
    }

    #[test]
    fn no_other_role_exists() {
        for name in ["system", "tool", "User", "developer", ""] {
            assert_eq!(Role::from_name(name), None, "{name}");
        }
    }
}
