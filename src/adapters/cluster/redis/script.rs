//! The script that decides, and its calls.
//!
//! | | |
//! |---|---|
//! | `KEYS` | the windows of one request |
//! | `ARGV` | the verb; the time in milliseconds, or empty for the server's; then three numbers for each window |
//! | result | for each window its count, the milliseconds until the next admission, the instant of the charge or 0 |
//! | a value | a version (1 byte), the sum of the counts (4), then the buckets by age: instant (6) and count (4) |
//!
//! The numbers for a window are the quota's count and length, and for a refund the instant of the charge.
//!
//! All windows are charged, or none. Refusals and looks write nothing, unless the clock was set back.

use data_encoding::HEXLOWER;
use redis::{Script, ScriptInvocation, Value, from_redis_value};

use crate::domain::{LimitKey, PolicyName, Timestamp, Usage};
use crate::ports::Charge;

/// Prefix of every window's key.
const PREFIX: &str = "lw1:";

/// Verb of the script: charges every window one, or none of them.
pub(super) const CHARGE: &str = "charge";
/// Verb of the script: returns the usage of the windows.
pub(super) const LOOK: &str = "look";
/// Verb of the script: takes one charge back from each.
pub(super) const REFUND: &str = "refund";

/// The key of a window: the policy's tag and the client's hash in hexadecimal, after the prefix.
pub(super) fn key_text(key: &LimitKey) -> String {
    let mut text = PREFIX.to_owned();
    HEXLOWER.encode_append(key.as_bytes(), &mut text);
    text
}

/// The window stored under this key; `None` if it is not a window of this version.
pub(super) fn parse_key(text: &[u8]) -> Option<LimitKey> {
    let digits = text.strip_prefix(PREFIX.as_bytes())?;
    let key = HEXLOWER.decode(digits).ok()?;
    let key = LimitKey::from_bytes(key.try_into().ok()?);
    key.policy().is_some().then_some(key)
}

/// The pattern for `SCAN`: the windows of `policy`, or all.
pub(super) fn pattern(policy: Option<PolicyName>) -> String {
    policy.map_or_else(
        || format!("{PREFIX}*"),
        |policy| format!("{PREFIX}{:02x}*", policy as u8),
    )
}

/// Calls the script with the windows of charges, for a refund with the instant of each charge to take back, at `now` or
/// the server's time.
pub(super) fn call<'s>(
    script: &'s Script,
    verb: &str,
    charges: &[Charge<'_>],
    admitted: &[u64],
    now: Option<Timestamp>,
) -> ScriptInvocation<'s> {
    let mut call = script.arg(verb);
    match now {
        Some(now) => call.arg(now.as_ms()),
        None => call.arg(""),
    };
    let mut admitted = admitted.iter();
    for Charge { key, quota, .. } in charges {
        call.key(key_text(key));
        call.arg(quota.count()).arg(quota.window_ms());
        if let Some(admitted) = admitted.next() {
            call.arg(admitted);
        }
    }
    call
}

/// A charge to a window that no client has, which tests whether the server decides.
pub(super) fn probe(script: &Script) -> ScriptInvocation<'_> {
    let mut call = script.key("lw1:probe");
    call.arg(CHARGE).arg("").arg(1_000_000_000).arg(1000);
    call
}

/// Reads the script's results for this many windows: the usage of each, and the instant of the new charge. `None` if
/// the value has another form.
pub(super) fn answers(value: Value, windows: usize) -> Option<Vec<(Usage, Option<u64>)>> {
    let answers: Vec<(i64, i64, i64)> = from_redis_value(value).ok()?;
    let answer = |(counted, reset_ms, charged)| {
        let usage = Usage {
            counted: u32::try_from(counted).ok()?,
            reset_ms: u64::try_from(reset_ms).ok()?,
        };
        let charged = u64::try_from(charged).ok()?;
        Some((usage, Some(charged).filter(|charged| *charged > 0)))
    };
    let is_whole = answers.len() == windows;
    is_whole.then(|| answers.into_iter().map(answer).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
        for policy in PolicyName::ALL {
            for seed in [0, 0x5a, 0xff] {
                let key = LimitKey::tagged(policy, [seed; 16]);
                let text = key_text(&key);
                assert_eq!(text.len(), 36);
                assert_eq!(parse_key(text.as_bytes()), Some(key));
            }
        }
        let unknown = format!("lw1:{:02x}{}", PolicyName::ALL.len(), "0".repeat(30));
        for bad in [
            "",
            &unknown,
            "lw1:",
            "lw1:probe",
            "lw1:0000000000000000000000000000000",
            "lw1:0000000000000000000000000000000A",
            "lw1:000000000000000000000000000000000",
            "lw1:0000000000000000000000000000000000",
            "lw2:00000000000000000000000000000000",
            "lw1:{AAAAAAAAAAAAAAAAAAAA}1",
        ] {
            assert_eq!(parse_key(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_key(b"lw1:\xff"), None);
    }
}
