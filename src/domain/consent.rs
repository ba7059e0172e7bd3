//! Consent: its origin as far as it can be proved, its confirmation and its withdrawal.

use std::net::IpAddr;

use super::language::Language;
use super::macros::{bytes, hex, hidden, names};
use super::time::Timestamp;

names! {
    /// Origin of a sign-up.
    pub enum SignUpWay {
        /// A plain HTML form, here or on any page.
        Form => "form",
        /// A page's script, such as the custom element.
        Element => "element",
        /// A client of the API.
        Api => "api",
        /// An agent, through a tool of the Model Context Protocol.
        Tool => "tool",
        /// An import by the operator.
        Import => "import",
    }
}

/// Details of a consent: that of the first sign-up, or of the first one after an unsubscribe.
#[derive(Clone, PartialEq, Eq)]
pub struct Consent {
    /// When it was given.
    pub at: Timestamp,
    /// Origin of the sign-up.
    pub way: SignUpWay,
    /// Language of the request.
    pub language: Option<Language>,
    /// Wording shown, if a page of this service showed it.
    pub text: Option<TextDigest>,
    /// The page.
    pub source: Option<Source>,
    /// The client's address, if the operator stores it.
    pub ip: Option<IpAddr>,
}

/// Confirmation by email: proof that the consent came from the mailbox's reader.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// When the relay accepted the email that asks for it.
    pub mailed_at: Option<Timestamp>,
    /// When that email was refused for good, if the last one was.
    pub undeliverable_at: Option<Timestamp>,
    /// When it was given.
    pub confirmed_at: Option<Timestamp>,
    /// Address of the client that gave it, if the operator stores it.
    pub ip: Option<IpAddr>,
}

/// Proof of a consent that counted until the contact unsubscribed, and was given again since.
#[derive(Clone, PartialEq, Eq)]
pub struct EndedConsent {
    /// Its details; `None` if the contact was imported.
    pub consent: Option<Consent>,
    /// Its confirmation; `None` if nobody asked for one.
    pub confirmation: Option<Confirmation>,
    /// When the contact unsubscribed.
    pub left_at: Timestamp,
}

/// Final outcome of an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// Accepted by the relay.
    Taken,
    /// Refused for good: the mailbox doesn't exist, or the relay doesn't deliver to it.
    Refused,
}

impl Confirmation {
    /// When the email that asks for it ended, whatever the outcome.
    pub fn mail_ended_at(&self) -> Option<Timestamp> {
        self.mailed_at.max(self.undeliverable_at)
    }
}

/// Key of a consent text, which is stored once for all its contacts: the first half of its BLAKE3 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextDigest([u8; 16]);

impl TextDigest {
    /// Digest of `text`.
    pub fn of(text: &str) -> Self {
        let hash = blake3::hash(text.as_bytes());
        Self(*hash.as_bytes().first_chunk().unwrap_or(&[0; 16]))
    }
}

/// The page of a sign-up: a name chosen by its owner, or its origin and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(String);

impl Source {
    /// Maximum length, in characters.
    pub const LENGTH_MAX: usize = 64;

    /// Parses a source. `None` if it is empty, too long, or has characters other than ASCII letters and
    /// digits and those of paths.
    pub fn parse(text: &str) -> Option<Self> {
        let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@%+".contains(&byte);
        let is_source = (1..=Self::LENGTH_MAX).contains(&text.len()) && text.bytes().all(is_taken);
        is_source.then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Token in unsubscribe links: random, and valid as long as the consent it came with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaveToken([u8; 16]);

names! {
    /// State of a subscription.
    pub enum ContactStatus {
        /// Unconfirmed.
        Pending => "pending",
        /// Receives the newsletter.
        Subscribed => "subscribed",
        /// Unsubscribed.
        Unsubscribed => "unsubscribed",
    }
}

/// Numbers of contacts that don't receive the newsletter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Unconfirmed contacts.
    pub pending: u64,
    /// Unsubscribed contacts.
    pub unsubscribed: u64,
}

bytes!(LeaveToken: 16, TextDigest: 16);
hex!(LeaveToken: "");
hidden!(Consent, Confirmation, EndedConsent, LeaveToken);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_short_and_plain() {
        let longest = "s".repeat(Source::LENGTH_MAX);
        for text in ["shop", "https://shop.example/danke", "footer-2", &longest] {
            assert_eq!(Source::parse(text).unwrap().as_str(), text);
        }
        let long = "s".repeat(Source::LENGTH_MAX + 1);
        for text in [
            "", "a b", "=1+1\n", "a,b", "<b>", "a?b", "a#b", "ä", "a\"b", &long,
        ] {
            assert_eq!(Source::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_token_has_one_spelling() {
        let token = LeaveToken::from_bytes([0xab; 16]);
        let text = token.to_string();
        assert_eq!(LeaveToken::parse(&text), Some(token));
        let upper = text.to_uppercase();
        for bad in [
            "",
            "ab",
            &text[1..],
            &format!("{text}0"),
            &upper,
            &text.replace('a', "g"),
        ] {
            assert_eq!(LeaveToken::parse(bad), None, "{bad}");
        }
    }
}
