//! The flags of engines that several nodes of the service share.

use std::path::PathBuf;

use super::values::{self, SecretUrl};

/// The engines that several nodes share. All commands take these flags, but the help of most doesn't show them.
/// Flags that belong together are given together.
// A field's doc comment is the flag's help.
#[derive(Clone, Debug, clap::Args)]
pub struct EngineArgs {
    /// PostgreSQL database for contacts and keys, such as postgres://landing@db.example/landing
    #[arg(long, global = true, hide_env_values = true, value_name = "URL", value_parser = values::engine_url)]
    pub store: Option<SecretUrl>,

    /// File with the password for --store
    #[arg(long, global = true, value_name = "FILE", requires = "store")]
    pub store_password_file: Option<PathBuf>,

    /// PEM file with further certificate authorities for --store and --limits
    #[arg(long, global = true, value_name = "FILE", requires = "store")]
    pub store_ca: Option<PathBuf>,

    /// Redis or Valkey for the rate limits, such as rediss://cache.example; needs --store
    #[arg(long, global = true, hide_env_values = true, value_name = "URL", value_parser = values::engine_url)]
    pub limits: Option<SecretUrl>,

    /// File with the password for --limits
    #[arg(long, global = true, value_name = "FILE", requires = "limits")]
    pub limits_password_file: Option<PathBuf>,

    /// File with the secret shared by all nodes: 64 hexadecimal digits, and an earlier one on a second line
    #[arg(long, global = true, value_name = "FILE", requires = "store")]
    pub secret_file: Option<PathBuf>,

    /// Number of nodes: while --limits is unavailable, each takes its share of every limit
    #[arg(
        long,
        global = true,
        value_name = "COUNT",
        requires = "limits",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub nodes: Option<u32>,
}

impl EngineArgs {
    /// Checks that flags that belong together are given together. A command, which `is_operating`, needs no
    /// --nodes: it takes no share of the limits.
    ///
    /// # Errors
    /// The missing flags, in words.
    pub(super) fn check(&self, is_operating: bool) -> Result<(), &'static str> {
        let (has_store, has_limits) = (self.store.is_some(), self.limits.is_some());
        let missing = if has_limits && !has_store {
            "--limits needs --store: nodes that share limits must share keys, too"
        } else if has_store && self.secret_file.is_none() {
            "--store needs --secret-file: all nodes share one secret. For a new service create it with \
             `openssl rand -hex 32`; for an existing data directory use its file secret"
        } else if has_limits && self.nodes.is_none() && !is_operating {
            "--limits needs --nodes: while it is unavailable, each node takes its share of every limit"
        } else {
            return Ok(());
        };
        Err(missing)
    }
}
