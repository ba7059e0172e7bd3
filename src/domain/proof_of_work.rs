//! A proof of work that many sign-ups from one network have to bring: ALTCHA's protocol, version 1
//! (<https://altcha.org/docs/v2/proof-of-work/>). A challenge is the hash of a salt and a secret number; who
//! finds the number has calculated for a moment. Nothing is stored: the service's mark shows that the
//! challenge was its own, and the salt tells until when it is good.

use constant_time_eq::constant_time_eq;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::secret::{MacKey, TokenKey};
use super::time::Timestamp;

/// The hash, as the protocol names it.
pub const ALGORITHM: &str = "SHA-256";

/// The largest number. A browser tries half of them on average, in about a second.
pub const NUMBER_MAX: u32 = 50_000;

/// How long a challenge can be solved, in milliseconds.
pub const LIFETIME_MS: u64 = 10 * 60 * 1000;

/// The random bytes of a challenge: a number, and the rest of them in the salt.
pub const RANDOM_BYTES: usize = 16;

/// The digits of a salt before its time. What follows the time keeps the digits of the number apart from it.
const SALT_DIGITS: usize = 2 * (RANDOM_BYTES - 4);
const BEFORE_TIME: &str = "?expires=";
const AFTER_TIME: &str = "&";

/// What is to be solved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// What stands before the number.
    pub salt: String,
    /// The hash of both, in hexadecimal digits.
    pub challenge: String,
    /// The service's mark on the hash.
    pub signature: String,
}

impl Challenge {
    /// A challenge that can be solved for [`LIFETIME_MS`].
    pub fn new(random: [u8; RANDOM_BYTES], now: Timestamp, key: &TokenKey) -> Self {
        let [a, b, c, d, rest @ ..] = random;
        let number = u32::from_be_bytes([a, b, c, d]) % (NUMBER_MAX + 1);
        let expires = now.plus_ms(LIFETIME_MS).as_ms() / 1000;
        let digits = HEXLOWER.encode(&rest);
        let salt = format!("{digits}{BEFORE_TIME}{expires}{AFTER_TIME}");
        let challenge = hash(&salt, number);
        Self {
            signature: mark(key.current(), &challenge),
            challenge,
            salt,
        }
    }
}

/// What a client brings.
#[derive(Clone, Copy, Debug)]
pub struct Solution<'a> {
    /// The hash that it used.
    pub algorithm: &'a str,
    /// The hash that it was given.
    pub challenge: &'a str,
    /// The number that it found.
    pub number: u64,
    /// The salt that it was given.
    pub salt: &'a str,
    /// The mark that it was given.
    pub signature: &'a str,
}

/// A right solution, which counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof([u8; 16]);

impl Proof {
    /// What no other proof has.
    pub const fn id(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Solution<'_> {
    /// The proof, if the solution is right and in time. The salt has to be spelt as [`Challenge::new`] does:
    /// digits that could belong to the number as well would be another solution of the same challenge.
    pub fn verify(&self, now: Timestamp, key: &TokenKey) -> Option<Proof> {
        let number = u32::try_from(self.number).ok()?;
        let (digits, rest) = self.salt.split_once(BEFORE_TIME)?;
        let expires = rest.strip_suffix(AFTER_TIME)?;
        let is_decimal = expires.bytes().all(|byte| byte.is_ascii_digit());
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let signature = self.signature.as_bytes();
        let is_ours =
            |key: &MacKey| constant_time_eq(mark(key, self.challenge).as_bytes(), signature);
        let is_right = self.algorithm == ALGORITHM
            && number <= NUMBER_MAX
            && digits.len() == SALT_DIGITS
            && digits.bytes().all(is_hex)
            && is_decimal
            && now.as_ms() / 1000 < expires.parse().ok()?
            && hash(self.salt, number) == self.challenge
            && key.any(is_ours);
        let hashed = key.current().hash16(&[b"proof", self.challenge.as_bytes()]);
        is_right.then_some(Proof(hashed))
    }
}

fn hash(salt: &str, number: u32) -> String {
    HEXLOWER.encode(&Sha256::digest(format!("{salt}{number}")))
}

fn mark(key: &MacKey, challenge: &str) -> String {
    let hash = key.hash(&[b"challenge", challenge.as_bytes()]);
    hash.to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_500);

    fn key() -> TokenKey {
        Secret::new([1; 32]).keys().form
    }

    fn solved(challenge: &Challenge) -> u64 {
        let is_it = |number: &u32| hash(&challenge.salt, *number) == challenge.challenge;
        (0..=NUMBER_MAX).find(is_it).unwrap().into()
    }

    fn solution_of(challenge: &Challenge, number: u64) -> Solution<'_> {
        Solution {
            algorithm: ALGORITHM,
            challenge: &challenge.challenge,
            number,
            salt: &challenge.salt,
            signature: &challenge.signature,
        }
    }

    /// What `createChallenge` of the protocol's own altcha-lib 1.4.1 makes.
    #[test]
    fn the_hash_is_that_of_the_protocol() {
        let salt = "46d5b1c8871e5152d902ee3f?expires=1800000600&";
        let challenge = "f28095c9f83888736e380a546da4b0cd67bd2afc7bc997118b171364c1275cbd";
        assert_eq!(hash(salt, 42), challenge);
        let signature = mark(key().current(), challenge);
        let solution = Solution {
            algorithm: ALGORITHM,
            challenge,
            number: 42,
            salt,
            signature: &signature,
        };
        assert!(solution.verify(NOW, &key()).is_some());
    }

    #[test]
    fn a_right_number_is_a_proof_until_the_time_is_over() {
        let challenge = Challenge::new([7; RANDOM_BYTES], NOW, &key());
        let number = solved(&challenge);
        let solution = solution_of(&challenge, number);
        let proof = solution.verify(NOW, &key()).unwrap();
        assert_eq!(solution.verify(NOW.plus_ms(599_000), &key()), Some(proof));
        assert_eq!(solution.verify(NOW.plus_ms(LIFETIME_MS), &key()), None);
        let other = Challenge::new([8; RANDOM_BYTES], NOW, &key());
        let number = solved(&other);
        let another = solution_of(&other, number).verify(NOW, &key());
        assert!(another.is_some_and(|another| another != proof));
    }

    #[test]
    fn whatever_is_changed_makes_it_wrong() {
        let challenge = Challenge::new([7; RANDOM_BYTES], NOW, &key());
        let number = solved(&challenge);
        let right = solution_of(&challenge, number);
        let upper = challenge.signature.to_uppercase();
        let later = challenge.salt.replace("expires=18", "expires=28");
        // The same text, divided elsewhere.
        let digits = number.to_string();
        let longer = format!("{}{}", challenge.salt, &digits[..1]);
        let wrong = [
            Solution {
                algorithm: "SHA-512",
                ..right
            },
            Solution {
                number: number + 1,
                ..right
            },
            Solution {
                number: u64::MAX,
                ..right
            },
            Solution {
                number: u64::from(NUMBER_MAX) + 1,
                ..right
            },
            Solution {
                salt: &later,
                ..right
            },
            Solution { salt: "", ..right },
            Solution {
                salt: &longer,
                number: digits[1..].parse().unwrap_or(0),
                ..right
            },
            Solution {
                challenge: "",
                ..right
            },
            Solution {
                signature: "",
                ..right
            },
            Solution {
                signature: &upper[1..],
                ..right
            },
        ];
        for wrong in wrong {
            assert_eq!(wrong.verify(NOW, &key()), None, "{wrong:?}");
        }
        let foreign = Secret::new([2; 32]).keys().form;
        assert_eq!(right.verify(NOW, &foreign), None);
    }
}
