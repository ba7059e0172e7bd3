//! What a server says of itself.

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
    /// Its replicas.
    pub replicas: u64,
}

/// Reads the answer to `INFO`.
pub(super) fn parse_info(info: &[u8]) -> RedisSurvey {
    let info = String::from_utf8_lossy(info);
    let field = |name: &str| {
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        fields.find_map(|(field, value)| (field == name).then(|| value.trim().to_owned()))
    };
    let number = |name: &str| field(name).and_then(|value| value.parse().ok());
    let valkey = field("valkey_version");
    RedisSurvey {
        name: match &valkey {
            Some(_) => "valkey".to_owned(),
            None => "redis".to_owned(),
        },
        version: valkey
            .or_else(|| field("redis_version"))
            .unwrap_or_default(),
        maxmemory_bytes: number("maxmemory").unwrap_or_default(),
        maxmemory_policy: field("maxmemory_policy").unwrap_or_default(),
        used_memory_bytes: number("used_memory").unwrap_or_default(),
        is_aof_enabled: field("aof_enabled").as_deref() == Some("1"),
        replicas: number("connected_slaves").unwrap_or_default(),
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
        let nothing = RedisSurvey {
            name: "redis".to_owned(),
            ..RedisSurvey::default()
        };
        assert_eq!(parse_info(b""), nothing);
    }
}
