//! The address a visitor signs up with.
//!
//! Two grammars must accept it: RFC 5321/5322 as `email_address` implements it, and the narrower one that
//! mail servers accept in practice: a dot-atom of ASCII, `@`, and a host name. An internationalised domain is
//! converted to its ASCII form (UTS 46), so that one mailbox has one spelling and no look-alike letters are
//! stored.

use std::borrow::Cow;

use email_address::Options;
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use super::macros::hidden;
use super::secret::MacKey;

/// Maximum length of an address, in octets (RFC 5321, section 4.5.3.1.3).
pub const LENGTH_MAX: usize = 254;

/// An address that looks deliverable: ASCII, lowercase, at most [`LENGTH_MAX`] characters.
///
/// Only letter case is normalised.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailAddress(String);

/// The fault of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmailError {
    /// Too many characters, as sent or with its domain in ASCII form.
    #[error("must be at most {LENGTH_MAX} characters long")]
    TooLong,
    /// Not an address, or not one that mail servers accept.
    #[error("must be an email address such as name@example.com")]
    Malformed,
}

impl EmailAddress {
    /// Parses an address. Nothing is trimmed.
    ///
    /// # Errors
    /// [`EmailError`] when it is too long or not an address of the narrower grammar.
    pub fn parse(text: &str) -> Result<Self, EmailError> {
        if text.chars().count() > LENGTH_MAX {
            return Err(EmailError::TooLong);
        }
        let (local, domain) = text.rsplit_once('@').ok_or(EmailError::Malformed)?;
        if !is_dot_atom(local) {
            return Err(EmailError::Malformed);
        }
        let domain = ascii_domain(domain)?;
        let mut address = local.to_ascii_lowercase();
        address.push('@');
        address.push_str(&domain);
        // An address in normal form matches the narrower grammar, which is a subset.
        if address != text {
            check_rfc(text)?;
        }
        if address.len() > LENGTH_MAX {
            return Err(EmailError::TooLong);
        }
        Ok(Self(address))
    }

    /// A stored address, which was parsed before it was stored.
    pub const fn from_stored(address: String) -> Self {
        Self(address)
    }

    /// The address for a page that anyone with its link may see, such as `v***@example.com`.
    pub fn masked(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').unwrap_or_default();
        format!("{}***@{domain}", local.get(..1).unwrap_or_default())
    }

    /// Hash under which an erased address is remembered.
    pub fn tombstone(&self, key: &MacKey) -> [u8; 16] {
        key.hash16(&[self.0.as_bytes()])
    }

    /// The mailbox behind the spellings that big providers treat alike: without a plus suffix, and at Google
    /// without dots. For counting only.
    pub fn mailbox(&self) -> String {
        let (local, domain) = self.0.rsplit_once('@').unwrap_or((&self.0, ""));
        let local = local.split('+').next().unwrap_or(local);
        match domain {
            "gmail.com" | "googlemail.com" => {
                format!("{}@gmail.com", local.replace('.', ""))
            }
            _ => format!("{local}@{domain}"),
        }
    }

    /// The address as it is stored and compared.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

hidden!(EmailAddress);

fn check_rfc(text: &str) -> Result<(), EmailError> {
    let options = Options {
        minimum_sub_domains: 2,
        allow_domain_literal: false,
        allow_display_text: false,
    };
    // Display names and brackets are refused here or by `is_dot_atom`.
    email_address::EmailAddress::parse_with_options(text, options)
        .map(drop)
        .map_err(|_invalid| EmailError::Malformed)
}

/// RFC 5321 `Dot-string`, without a leading hyphen, which command lines read as an option.
fn is_dot_atom(local: &str) -> bool {
    let is_atext =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    local.len() <= 64
        && !local.starts_with('-')
        && local
            .split('.')
            .all(|atom| !atom.is_empty() && atom.bytes().all(is_atext))
}

/// The domain as a host name: at least two labels of letters, digits and inner hyphens, the last
/// one not a number and not a single letter.
fn ascii_domain(domain: &str) -> Result<Cow<'_, str>, EmailError> {
    let ascii = Uts46::new()
        .to_ascii(
            domain.as_bytes(),
            AsciiDenyList::STD3,
            Hyphens::CheckFirstLast,
            DnsLength::Verify,
        )
        .map_err(|_invalid| EmailError::Malformed)?;
    let top = ascii.rsplit('.').next().unwrap_or_default();
    let is_number = top.bytes().all(|byte| byte.is_ascii_digit());
    if !ascii.contains('.') || top.len() < 2 || is_number {
        return Err(EmailError::Malformed);
    }
    Ok(ascii)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // The tables of addresses and their lengths are in tests/it/email.rs, next to the published pattern.

    #[test]
    fn debug_output_hides_the_address() {
        let address = EmailAddress::parse("ada@example.com").unwrap();
        assert_eq!(format!("{address:?}"), "EmailAddress(..)");
    }

    /// Matches the narrower grammar, or almost.
    const NARROW: &str = "[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,20}(\\.[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,43}){0,3}\
                          @([a-z0-9][a-z0-9-]{0,61}[a-z0-9]?\\.){1,4}[a-z0-9-]{0,20}[a-z0-9]";

    proptest! {
        #[test]
        fn the_wider_grammar_takes_all_of_the_narrower_one(text in NARROW) {
            let address = EmailAddress::parse(&text);
            prop_assume!(address.is_ok());
            prop_assert_eq!(check_rfc(address.unwrap().as_str()), Ok(()));
        }

        #[test]
        fn whatever_is_accepted_is_its_own_normal_form(text in "\\PC{0,40}|[a-zA-Z0-9.+_-]{1,20}@[a-zA-Z0-9.-]{1,20}\\.[a-z]{2,4}") {
            if let Ok(address) = EmailAddress::parse(&text) {
                prop_assert!(address.as_str().is_ascii());
                prop_assert!(address.as_str().len() <= LENGTH_MAX);
                prop_assert!(!address.as_str().bytes().any(|b| b.is_ascii_uppercase() || b <= b' '));
                prop_assert_eq!(EmailAddress::parse(address.as_str()), Ok(address.clone()));
            }
        }
    }
}
