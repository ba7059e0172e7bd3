//! How somebody came to be a contact, as far as it can be shown, and by what they leave.

use std::fmt;
use std::net::IpAddr;

use data_encoding::HEXLOWER;

use super::language::Language;
use super::macros::{hidden, names};
use super::time::Timestamp;

names! {
    /// By what an address was signed up.
    pub enum SignUpWay {
        /// A plain form, here or on any page.
        Form => "form",
        /// A page's script, such as the element.
        Element => "element",
        /// A program that calls the API.
        Api => "api",
        /// An agent, as a tool of the Model Context Protocol.
        Tool => "tool",
        /// The operator, from a file.
        Import => "import",
    }
}

/// What is known of a consent: that of the first sign-up, or of the first one after the contact left.
#[derive(Clone, PartialEq, Eq)]
pub struct Consent {
    /// When it was given.
    pub at: Timestamp,
    /// By what.
    pub way: SignUpWay,
    /// The language in which it was asked for.
    pub language: Option<Language>,
    /// What it was asked for with, if a page of this service did.
    pub text: Option<TextDigest>,
    /// The page.
    pub source: Option<Source>,
    /// The client's address, if the operator wants it kept.
    pub ip: Option<IpAddr>,
}

impl Consent {
    /// One of which no more is known.
    pub const fn bare(at: Timestamp, way: SignUpWay) -> Self {
        Self {
            at,
            way,
            language: None,
            text: None,
            source: None,
            ip: None,
        }
    }
}

/// What a mail to the address showed: that whoever gave the consent reads it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Confirmation {
    /// When the relay took the mail that asks for it.
    pub mailed_at: Option<Timestamp>,
    /// When that mail was refused for good, if the last one was.
    pub undeliverable_at: Option<Timestamp>,
    /// When it was given.
    pub confirmed_at: Option<Timestamp>,
    /// The address from which it was given, if the operator wants it kept.
    pub ip: Option<IpAddr>,
}

/// How a mail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailOutcome {
    /// The relay took it.
    Taken,
    /// It is refused for good: nobody reads mail at the address, or the relay does not send it there.
    Refused,
}

impl Confirmation {
    /// When the mail that asks for it ended, one way or the other.
    pub fn mail_ended_at(&self) -> Option<Timestamp> {
        self.mailed_at.max(self.undeliverable_at)
    }

    /// The mail that asks for it has ended.
    pub const fn note_mail(&mut self, outcome: MailOutcome, at: Timestamp) {
        match outcome {
            MailOutcome::Taken => (self.mailed_at, self.undeliverable_at) = (Some(at), None),
            MailOutcome::Refused => self.undeliverable_at = Some(at),
        }
    }
}

/// By which a text is kept once, however many contacts name it: the first half of its BLAKE3 hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextDigest([u8; 16]);

impl TextDigest {
    /// That of `text`.
    pub fn of(text: &str) -> Self {
        let hash = blake3::hash(text.as_bytes());
        Self(*hash.as_bytes().first_chunk().unwrap_or(&[0; 16]))
    }

    /// A digest that was stored.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The page that an address was signed up on: a name that its owner gave it, or its origin and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(String);

impl Source {
    /// The longest one, in characters.
    pub const LENGTH_MAX: usize = 64;

    /// Takes `text`, or nothing if it is empty, too long, or has other characters than letters and digits of
    /// ASCII and those of paths.
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

/// By what a contact leaves: random, and good as long as the consent that it came with.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LeaveToken([u8; 16]);

impl LeaveToken {
    /// One of random bytes, or one that was stored.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads 32 lowercase hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = HEXLOWER.decode(text.as_bytes()).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for LeaveToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_display(&self.0).fmt(f)
    }
}

names! {
    /// Whether a contact gets the newsletter.
    pub enum ContactStatus {
        /// It will, once it is confirmed.
        Pending => "pending",
        /// It does.
        Subscribed => "subscribed",
        /// It left.
        Unsubscribed => "unsubscribed",
    }
}

/// How many contacts get no newsletter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Those that are to be confirmed.
    pub pending: u64,
    /// Those that left.
    pub unsubscribed: u64,
}

/// What became of a wish to be confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirming {
    /// The contact is confirmed.
    Confirmed,
    /// It gets the newsletter already.
    ConfirmedBefore,
    /// No contact that gets it, or is to be confirmed, has the token.
    Unknown,
}

/// What became of a wish to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The contact has left.
    Left,
    /// It had left before.
    LeftBefore,
    /// No contact has the token: it was erased, or has given a new consent.
    Unknown,
}

hidden!(Consent, Confirmation, LeaveToken);

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
