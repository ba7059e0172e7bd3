//! Texts of bounded length, counted in Unicode scalar values.

/// A text of 1 to `MAX` Unicode scalar values, unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<const MAX: usize>(String);

/// The label of an API key.
pub type Label = Text<64>;

/// The message that the sandbox echoes.
pub type EchoMessage = Text<2000>;

/// Why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// It has no character.
    #[error("must not be empty")]
    Empty,
    /// It has too many characters.
    #[error("must be at most {max} characters long")]
    TooLong {
        /// The most characters allowed.
        max: usize,
    },
}

impl<const MAX: usize> Text<MAX> {
    /// The most Unicode scalar values.
    pub const LENGTH_MAX: usize = MAX;

    /// Takes `text` unchanged.
    ///
    /// # Errors
    /// [`TextError`] when it is empty or longer than `MAX` Unicode scalar values.
    pub fn parse(text: String) -> Result<Self, TextError> {
        if text.is_empty() {
            return Err(TextError::Empty);
        }
        // A scalar value takes at least one byte, so a short text needs no counting.
        if text.len() > MAX && text.chars().count() > MAX {
            return Err(TextError::TooLong { max: MAX });
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_counted_in_scalar_values_not_bytes() {
        for (text, expected) in [
            (String::new(), Err(TextError::Empty)),
            ("a".to_owned(), Ok(())),
            ("\0".to_owned(), Ok(())),
            ("a".repeat(64), Ok(())),
            ("a".repeat(65), Err(TextError::TooLong { max: 64 })),
            ("\u{1F600}".repeat(64), Ok(())),
            ("\u{1F600}".repeat(65), Err(TextError::TooLong { max: 64 })),
        ] {
            assert_eq!(Label::parse(text.clone()).map(|_| ()), expected, "{text:?}");
        }
    }
}
