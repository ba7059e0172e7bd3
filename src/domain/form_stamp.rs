//! The time at which a form was shown, as the form carries it: `MILLISECONDS.TAG`. The tag is 128 bits of
//! keyed BLAKE3 in hexadecimal digits, so that nobody can make up a time, and nothing is stored.

use constant_time_eq::constant_time_eq;
use data_encoding::HEXLOWER;

use super::secret::{MacKey, TokenKey};
use super::time::{DAY_MS, Timestamp};

/// When a form was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormStamp(Timestamp);

impl FormStamp {
    /// How long a stamp is good, in milliseconds: whoever has left a form open sends it the next day.
    pub const LIFETIME_MS: u64 = DAY_MS;

    /// What people need at least to fill a form in, in milliseconds.
    pub const FILLING_MS: u64 = 2000;

    /// The stamp of a form that is shown at `now`.
    pub const fn new(now: Timestamp) -> Self {
        Self(now)
    }

    /// The text that the form carries.
    pub fn encode(&self, key: &TokenKey) -> String {
        let Self(at) = self;
        format!("{}.{}", at.as_ms(), self.tag(key.current()))
    }

    /// Parses what a form carries; none unless [`FormStamp::encode`] made it with this key.
    pub fn decode(text: &str, key: &TokenKey) -> Option<Self> {
        let (ms, tag) = text.split_once('.')?;
        let stamp = Self(Timestamp::from_ms(ms.parse().ok()?));
        // Another spelling of the number would be another text with the same tag.
        let is_spelled_so = stamp.0.as_ms().to_string() == ms;
        let is_ours = |key: &MacKey| constant_time_eq(stamp.tag(key).as_bytes(), tag.as_bytes());
        (is_spelled_so && key.any(is_ours)).then_some(stamp)
    }

    /// Whether the form was sent sooner than people can.
    pub const fn is_hasty(&self, now: Timestamp) -> bool {
        now.ms_since(self.0) < Self::FILLING_MS
    }

    /// Whether the form was shown too long ago.
    pub const fn is_expired(&self, now: Timestamp) -> bool {
        now.ms_since(self.0) > Self::LIFETIME_MS
    }

    fn tag(&self, key: &MacKey) -> String {
        HEXLOWER.encode(&key.hash16(&[b"shown", &self.0.as_ms().to_be_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::secret::Secret;

    const NOW: Timestamp = Timestamp::from_ms(1_800_000_000_000);

    #[test]
    fn a_stamp_comes_back_and_no_other_text_does() {
        let key = Secret::new([1; 32]).keys().form;
        let text = FormStamp::new(NOW).encode(&key);
        assert_eq!(FormStamp::decode(&text, &key), Some(FormStamp::new(NOW)));
        let (ms, tag) = text.split_once('.').unwrap();
        for forged in [
            String::new(),
            ".".to_owned(),
            ms.to_owned(),
            format!("{ms}."),
            format!("0{text}"),
            format!("+{text}"),
            format!("{text}0"),
            format!("{ms}.{}", tag.to_uppercase()),
            format!("1799999990000.{tag}"),
            format!("99999999999999999999999.{tag}"),
            format!("{ms}.{}", "0".repeat(32)),
        ] {
            assert_eq!(FormStamp::decode(&forged, &key), None, "{forged}");
        }
        let other = Secret::new([2; 32]).keys().form;
        assert_eq!(FormStamp::decode(&text, &other), None);
    }

    #[test]
    fn a_form_takes_people_a_while_and_is_good_for_a_day() {
        let stamp = FormStamp::new(NOW);
        for (after_ms, hasty, expired) in [
            (0, true, false),
            (1999, true, false),
            (2000, false, false),
            (86_400_000, false, false),
            (86_400_001, false, true),
        ] {
            let now = NOW.plus_ms(after_ms);
            assert_eq!(stamp.is_hasty(now), hasty, "{after_ms}");
            assert_eq!(stamp.is_expired(now), expired, "{after_ms}");
        }
        // Another node's clock may be ahead.
        assert!(FormStamp::new(NOW.plus_ms(5)).is_hasty(NOW));
    }
}
