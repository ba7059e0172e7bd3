//! What a server says of itself.

use std::collections::HashMap;

use crate::domain::quoted;

/// What matters to limits in a server's `INFO`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedisSurvey {
    /// `redis` or `valkey`.
    pub name: String,
    /// The version, empty if it is unknown.
    pub version: String,
    /// The limit on its memory; 0 if it has none.
    pub maxmemory_bytes: u64,
    /// What it does at that limit, such as `noeviction`.
    pub maxmemory_policy: String,
    /// The memory that it uses.
    pub used_memory_bytes: u64,
    /// Whether it writes an append-only file.
    pub is_aof_enabled: bool,
    pub replicas: u64,
}

impl RedisSurvey {
    /// What is wrong if it may forget windows when its memory is full.
    pub fn eviction(&self) -> Option<String> {
        let Self {
            name,
            version,
            maxmemory_policy: policy,
            ..
        } = self;
        (policy != "noeviction").then(|| {
            format!(
                "{name} {version} has maxmemory-policy {policy}: when memory is full it forgets windows, and \
                 clients get more than their limits; set noeviction"
            )
        })
    }
}

/// Reads the answer to `INFO`.
pub(super) fn parse_info(info: &[u8]) -> RedisSurvey {
    let info = String::from_utf8_lossy(info);
    let fields: HashMap<&str, &str> = info
        .lines()
        .filter_map(|line| line.split_once(':'))
        .collect();
    let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let words = |name: &str| quoted(field(name).as_bytes(), None);
    let number = |name: &str| field(name).parse().unwrap_or_default();
    let (name, version) = match field("valkey_version") {
        "" => ("redis", "redis_version"),
        _ => ("valkey", "valkey_version"),
    };
    RedisSurvey {
        name: name.to_owned(),
        version: words(version),
        maxmemory_bytes: number("maxmemory"),
        maxmemory_policy: words("maxmemory_policy"),
        used_memory_bytes: number("used_memory"),
        is_aof_enabled: field("aof_enabled") == "1",
        replicas: number("connected_slaves"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_malformed_is_left_out() {
        let info = b"# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.1.2\r\n\
            maxmemory:-1\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:1\r\n\xff\r\nx";
        let expected = RedisSurvey {
            name: "valkey".to_owned(),
            version: "9.1.2".to_owned(),
            maxmemory_policy: "allkeys-lru".to_owned(),
            is_aof_enabled: true,
            ..RedisSurvey::default()
        };
        assert_eq!(parse_info(info), expected);
        let foreign = parse_info(b"redis_version:7\x1b[31m\r\nmaxmemory_policy:a@b.example\r\n");
        assert_eq!(foreign.version, "7 [31m");
        assert_eq!(foreign.maxmemory_policy, "(address)");
        let nothing = RedisSurvey {
            name: "redis".to_owned(),
            ..RedisSurvey::default()
        };
        assert_eq!(parse_info(b""), nothing);
    }
}
