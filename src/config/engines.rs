//! The flags of engines that several nodes of the service share.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;

use super::values;

/// The address of an engine. It may hold a password, so `Debug` shows none of it.
#[derive(Clone, PartialEq, Eq)]
pub struct EngineUrl(String);

impl EngineUrl {
    /// The whole URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EngineUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineUrl(..)")
    }
}

/// Where several nodes keep what they share. All commands take these flags, so only their long help shows
/// them. `check` has checked that what belongs together is
/// there.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, clap::Args)]
#[allow(
    clippy::doc_markdown,
    rustdoc::bare_urls,
    reason = "help is plain text, not Markdown"
)]
pub struct EngineArgs {
    /// PostgreSQL database for contacts, keys and revocations, such as
    /// postgres://landing@db.example/landing?sslmode=require [default: the data directory]
    #[arg(long, global = true, hide_short_help = true, hide_env_values = true, value_name = "URL", value_parser = store_url)]
    pub store: Option<EngineUrl>,

    /// File with the password for --store, readable by its owner alone
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub store_password_file: Option<PathBuf>,

    /// Redis or Valkey for the rate limits, such as rediss://cache.example or
    /// redis-cluster://a.example,b.example; needs --store [default: the data directory]
    #[arg(long, global = true, hide_short_help = true, hide_env_values = true, value_name = "URL", value_parser = limits_url)]
    pub limits: Option<EngineUrl>,

    /// File with the password for --limits, readable by its owner alone
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub limits_password_file: Option<PathBuf>,

    /// File with the secret of all nodes, readable by its owner alone: a line of 64 hexadecimal digits,
    /// and perhaps another whose tokens are believed, too. --store needs it
    #[arg(long, global = true, hide_short_help = true, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,

    /// How many nodes there are. While --limits does not answer, each takes its share of every limit
    #[arg(long, global = true, hide_short_help = true, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub nodes: Option<u32>,

    /// How long a key or an agent that another node has revoked may still be believed, up to 1m
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = values::credential_cache
    )]
    pub credential_cache: Duration,
}

impl EngineArgs {
    /// Whether a node needs no data directory, because everything is in engines.
    pub const fn need_no_data_dir(&self) -> bool {
        self.store.is_some() && self.limits.is_some()
    }

    /// Checks that what belongs together is there.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(super) fn check(&self) -> Result<(), (ErrorKind, String)> {
        let missing = |why: &str| Err((ErrorKind::MissingRequiredArgument, why.to_owned()));
        if self.limits.is_some() && self.store.is_none() {
            return missing("--limits needs --store: nodes that share limits must share keys, too");
        }
        if self.store.is_some() && self.secret_file.is_none() {
            return missing(
                "--store needs --secret-file: all nodes need one secret. For a new service make it with \
                 `openssl rand -hex 32`; for one that has a data directory it is the file secret there",
            );
        }
        if self.limits.is_some() && self.nodes.is_none() {
            return missing(
                "--limits needs --nodes: while it does not answer, each node takes its share of every \
                 limit",
            );
        }
        let lonely = |flag: Option<&Path>, other: bool| flag.is_some() && !other;
        for (is_lonely, flag, other) in [
            (
                lonely(self.store_password_file.as_deref(), self.store.is_some()),
                "--store-password-file",
                "--store",
            ),
            (
                lonely(self.limits_password_file.as_deref(), self.limits.is_some()),
                "--limits-password-file",
                "--limits",
            ),
            (
                lonely(self.secret_file.as_deref(), self.store.is_some()),
                "--secret-file",
                "--store",
            ),
            (
                self.nodes.is_some() && self.limits.is_none(),
                "--nodes",
                "--limits",
            ),
        ] {
            if is_lonely {
                return missing(&format!("{flag} is of no use without {other}"));
            }
        }
        Ok(())
    }
}

/// The URL of an engine under one of these schemes. The adapter parses the rest.
fn engine_url(text: &str, schemes: &[&str]) -> Option<EngineUrl> {
    let (scheme, _rest) = text.split_once("://")?;
    let is_known = schemes.contains(&scheme);
    is_known.then(|| EngineUrl(text.to_owned()))
}

fn store_url(text: &str) -> Result<EngineUrl, String> {
    let url = engine_url(text, &["postgres", "postgresql"]);
    url.ok_or_else(|| "must be a URL such as postgres://landing@db.example/landing".to_owned())
}

fn limits_url(text: &str) -> Result<EngineUrl, String> {
    let schemes = ["redis", "rediss", "redis-cluster", "rediss-cluster"];
    engine_url(text, &schemes).ok_or_else(|| {
        "must be a URL such as redis://cache.example:6379, rediss://... for TLS, or \
         redis-cluster://a.example,b.example"
            .to_owned()
    })
}
