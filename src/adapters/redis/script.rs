//! The script that decides, and the stored form of a window.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::{Cmd, Script, Value};

use crate::domain::client::LimitKey;
use crate::domain::policy::{PolicyName, Quota};
use crate::domain::time::Timestamp;
use crate::domain::window::{Bucket, Usage, Window};

/// What every window's key begins with.
const PREFIX: &str = "lw1:{";

/// The part of a key that decides where in a cluster the window is: the hash of who is counted, without
/// the policy. The windows of one subject are together.
pub(super) type Home = [u8; 15];

/// The home of a window.
pub(super) fn home(key: &LimitKey) -> Home {
    let [_tag, home @ ..] = *key.as_bytes();
    home
}

/// The hash tag that stands for a home: base64url, 20 characters.
pub(super) fn hash_tag(home: &Home) -> String {
    URL_SAFE_NO_PAD.encode(home)
}

/// The key of a window: `lw1:{HOME}TAG`, TAG being the policy's in hexadecimal.
pub(super) fn key_text(key: &LimitKey) -> String {
    let [tag, ..] = key.as_bytes();
    format!("{PREFIX}{}}}{tag:x}", hash_tag(&home(key)))
}

/// The window that is stored under this key; none if it is no window of this version.
pub(super) fn parse_key(text: &[u8]) -> Option<LimitKey> {
    let text = std::str::from_utf8(text).ok()?;
    let (home, tag) = text.strip_prefix(PREFIX)?.split_once('}')?;
    let home: Home = URL_SAFE_NO_PAD.decode(home).ok()?.try_into().ok()?;
    let tag = u8::from_str_radix(tag, 16).ok()?;
    let policy = *PolicyName::ALL.get(usize::from(tag))?;
    let mut hash = [0; 16];
    let (_tag, rest) = hash.split_at_mut(1);
    rest.copy_from_slice(&home);
    Some(LimitKey::tagged(policy, hash)).filter(|key| key_text(key) == text)
}

/// What `SCAN` has to match: the windows of `policy`, or all.
pub(super) fn pattern(policy: Option<PolicyName>) -> String {
    match policy {
        Some(policy) => format!("{PREFIX}*}}{:x}", policy.tag()),
        None => format!("{PREFIX}*}}?"),
    }
}

/// A stored window; none if it is not one.
pub(super) fn decode(value: &[u8]) -> Option<Window> {
    const VERSION: u8 = 1;
    const HEAD: usize = 5;
    const BUCKET: usize = 10;
    let (head, buckets) = value.split_at_checked(HEAD)?;
    if head.first() != Some(&VERSION) || buckets.len() % BUCKET != 0 {
        return None;
    }
    let buckets = buckets.chunks_exact(BUCKET).filter_map(|bytes| {
        let (newest, count) = bytes.split_at_checked(6)?;
        let newest = newest.iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte));
        Some(Bucket {
            newest: Timestamp::from_ms(newest),
            count: u32::from_be_bytes(count.try_into().ok()?),
        })
    });
    Some(Window::from_buckets(buckets))
}

/// What the script is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptVerb {
    /// Charge one to every window, or to none.
    Charge,
    /// How full they are.
    Look,
    /// Take one charge back from each.
    Refund,
}

/// A window that the script is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) key: LimitKey,
    pub(super) quota: Quota,
    /// The instant of the charge that is taken back.
    pub(super) admitted: Timestamp,
}

/// What the script says about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowAnswer {
    pub(super) usage: Usage,
    /// The instant that was charged.
    pub(super) charged: Option<Timestamp>,
}

/// The script.
#[derive(Debug)]
pub(super) struct WindowScript(Script);

/// One call of the script.
#[derive(Debug)]
pub(super) struct ScriptCall<'a> {
    script: &'a WindowScript,
    keys: Vec<String>,
    arguments: Vec<String>,
}

impl WindowScript {
    pub(super) fn new() -> Self {
        Self(Script::new(include_str!("window.lua")))
    }

    /// A call about `windows`, at `now` or the server's time.
    pub(super) fn call(
        &self,
        verb: ScriptVerb,
        windows: &[Asked],
        now: Option<Timestamp>,
    ) -> ScriptCall<'_> {
        let verb_text = match verb {
            ScriptVerb::Charge => "charge",
            ScriptVerb::Look => "look",
            ScriptVerb::Refund => "refund",
        };
        let now = now.map_or_else(String::new, |now| now.as_ms().to_string());
        let mut arguments = vec![verb_text.to_owned(), now];
        for window in windows {
            arguments.push(window.quota.count().to_string());
            arguments.push(window.quota.window_ms().to_string());
            if verb == ScriptVerb::Refund {
                arguments.push(window.admitted.as_ms().to_string());
            }
        }
        ScriptCall {
            script: self,
            keys: windows.iter().map(|window| key_text(&window.key)).collect(),
            arguments,
        }
    }

    /// A charge to a window that no client has, which tells whether the server decides. `hash_tag` is where.
    pub(super) fn probe(&self, hash_tag: &str) -> ScriptCall<'_> {
        let arguments = ["charge", "", "1000000000", "1000"];
        ScriptCall {
            script: self,
            keys: vec![format!("{PREFIX}{hash_tag}}}probe")],
            arguments: arguments.map(str::to_owned).to_vec(),
        }
    }
}

impl ScriptCall<'_> {
    /// Names the script by its hash.
    pub(super) fn by_hash(&self) -> Cmd {
        self.command("EVALSHA", self.script.0.get_hash())
    }

    /// Brings the script along, for a server that does not know it.
    pub(super) fn whole(&self) -> Cmd {
        self.command("EVAL", include_str!("window.lua"))
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len());
        command.arg(&self.keys).arg(&self.arguments);
        command
    }

    /// Reads the answer; none if it is not one.
    pub(super) fn answers(&self, value: &Value) -> Option<Vec<WindowAnswer>> {
        let Value::Array(values) = value else {
            return None;
        };
        let (triples, rest) = values.as_chunks::<3>();
        if triples.len() != self.keys.len() || !rest.is_empty() {
            return None;
        }
        triples.iter().map(answer).collect()
    }
}

fn answer(values: &[Value; 3]) -> Option<WindowAnswer> {
    let [counted, reset_ms, charged] = values;
    let number = |value: &Value| redis::from_redis_value_ref::<u64>(value).ok();
    let charged = number(charged)?;
    Some(WindowAnswer {
        usage: Usage {
            counted: u32::try_from(number(counted)?).unwrap_or(u32::MAX),
            reset_ms: number(reset_ms)?,
        },
        charged: (charged > 0).then(|| Timestamp::from_ms(charged)),
    })
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
                assert_eq!(text.len(), 27);
                assert_eq!(parse_key(text.as_bytes()), Some(key));
            }
        }
        let unknown = format!("lw1:{{AAAAAAAAAAAAAAAAAAAA}}{:x}", PolicyName::ALL.len());
        for bad in [
            "",
            &unknown,
            "lw1:{AAAAAAAAAAAAAAAAAAAA}",
            "lw1:{AAAAAAAAAAAAAAAAAAAA}A",
            "lw1:{AAAAAAAAAAAAAAAAAAAA}00",
            "lw1:{AAAAAAAAAAAAAAAAAAAA}probe",
            "lw1:{AAAAAAAAAAAAAAAAAAA}1",
            "lw1:{AAAAAAAAAAAAAAAAAAAAAAAA}1",
            "lw2:{AAAAAAAAAAAAAAAAAAAA}1",
            "lw1:{====================}1",
        ] {
            assert_eq!(parse_key(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_key(b"lw1:{\xff}1"), None);
    }

    #[test]
    fn stored_windows_are_read_and_anything_else_is_not() {
        let value = b"\x01\0\0\0\x05\0\0\0\0\x01\0\0\0\0\x02\0\0\0\0\x01\x01\0\0\0\x03";
        let window = decode(value).unwrap();
        let buckets = window.buckets().iter();
        let buckets: Vec<_> = buckets.map(|it| (it.newest.as_ms(), it.count)).collect();
        assert_eq!(buckets, [(256, 2), (257, 3)]);
        for bad in [&b""[..], b"\x01\0\0\0", b"\x02\0\0\0\0", &value[..24]] {
            assert!(decode(bad).is_none());
        }
    }
}
