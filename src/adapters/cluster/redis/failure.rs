//! Errors of the server and of the connection, for the log and the operator.

use std::error::Error;
use std::io;
use std::sync::Arc;

use redis::RedisError;

use crate::domain::quoted;
use crate::ports::LimiterError;

/// The error in this program's words, or as the server's error code: the server's words may contain names.
pub(super) fn failure(error: RedisError) -> LimiterError {
    LimiterError(match error.code() {
        Some("READONLY") => "it is a read-only replica: point --limits to the primary".to_owned(),
        Some(code @ ("NOAUTH" | "WRONGPASS" | "NOPERM")) => {
            format!("{code}: check the user, the password and the permissions of --limits")
        }
        Some(code) => quoted(code.as_bytes(), None),
        None if error.is_timeout() => "no response in time".to_owned(),
        None => io_failure(&error).unwrap_or_else(|| error.category().to_owned()),
    })
}

fn io_failure(error: &RedisError) -> Option<String> {
    let source = error
        .source()?
        .downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    let io: &io::Error = source.downcast_ref()?;
    Some(match io.get_ref() {
        Some(inner) if inner.is::<rustls::Error>() => "the TLS handshake failed".to_owned(),
        Some(_) => io.kind().to_string(),
        None => io.to_string(),
    })
}
