//! A server's description of itself.

use std::collections::HashMap;

use crate::domain::quoted;

/// A server, judged by its `INFO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisSurvey {
    /// The name and the version, such as `valkey 9.1.2`.
    pub server: String,
    /// A warning if it may forget windows when its memory is full.
    pub eviction: Option<String>,
    /// A warning if a restart loses windows.
    pub risk: Option<String>,
}

/// Reads the response to `INFO`.
pub(super) fn judge(info: &[u8]) -> RedisSurvey {
    let info = String::from_utf8_lossy(info);
    let lines = info.lines().filter_map(|line| line.split_once(':'));
    let fields: HashMap<&str, &str> = lines.collect();
    let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let (name, version) = match field("valkey_version") {
        "" => ("redis", field("redis_version")),
        version => ("valkey", version),
    };
    let server = format!("{name} {}", quoted(version.as_bytes(), None));
    let policy = quoted(field("maxmemory_policy").as_bytes(), None);
    let eviction = (policy != "noeviction").then(|| {
        format!(
            "{server} has maxmemory-policy {policy}: when memory is full, it drops windows, and clients get more \
             than their limits; set noeviction"
        )
    });
    let is_kept = field("aof_enabled") == "1" || !["", "0"].contains(&field("connected_slaves"));
    let risk = (!is_kept).then(|| {
        format!("{server} has no replica and no append-only file: a restart loses every window")
    });
    RedisSurvey {
        server,
        eviction,
        risk,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_malformed_is_left_out() {
        let info = b"# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n\
            maxmemory:-1\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n\xff\r\nx";
        let survey = judge(info);
        assert_eq!(survey.server, "valkey 9.1.2");
        let eviction = survey.eviction.unwrap();
        assert!(eviction.starts_with("valkey 9.1.2 has maxmemory-policy allkeys-lru:"));
        assert_eq!(survey.risk, None);
        let foreign = judge(b"redis_version:7\x1b[31m\r\nmaxmemory_policy:a@b.example\r\n");
        assert_eq!(foreign.server, "redis 7 [31m");
        let eviction = foreign.eviction.unwrap();
        assert!(
            eviction.contains("maxmemory-policy (address):"),
            "{eviction}"
        );
        let nothing = judge(b"");
        assert_eq!(nothing.server, "redis ");
        assert!(nothing.eviction.is_some() && nothing.risk.is_some());
    }

    #[test]
    fn windows_in_memory_alone_are_a_risk() {
        for (info, expected) in [
            ("aof_enabled:1", None),
            ("aof_enabled:0\r\nconnected_slaves:1", None),
            (
                "aof_enabled:0\r\nconnected_slaves:0",
                Some("redis  has no replica"),
            ),
        ] {
            let survey = judge(format!("{info}\r\nmaxmemory_policy:noeviction").as_bytes());
            assert_eq!(survey.eviction, None, "{info}");
            let is_expected = match (&survey.risk, expected) {
                (Some(risk), Some(begin)) => risk.starts_with(begin),
                (risk, begin) => risk.is_none() && begin.is_none(),
            };
            assert!(is_expected, "{info}: {survey:?}");
        }
    }
}
