//! The engines that several nodes share, opened.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::credential_cache::CredentialCache;
use crate::adapters::limiter::GuardedRateLimiter;
use crate::adapters::operator_file;
use crate::adapters::postgres::{
    Migration, PostgresAddress, PostgresOpenError, PostgresSettings, PostgresStore, migrate,
};
use crate::adapters::redis::{RedisAddress, RedisRateLimiter, RedisSettings};
use crate::adapters::system::{SystemClock, SystemEntropy};
use crate::config::EngineArgs;
use crate::domain::policy::Policies;
use crate::domain::secret::SharedSecret;
use crate::metrics::Metrics;

use super::{at, of, read_secret, roots_for};

/// How long a start tries to reach the database: as long as one that fails over may take.
pub const START_PATIENCE: Duration = Duration::from_secs(30);

const STORE: &str = "--store";
const LIMITS: &str = "--limits";

/// An engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A flag is wrong, or its file. The line begins with the flag.
    #[error("{0}")]
    Flag(String),
    /// The database cannot be used.
    #[error("--store: {0}")]
    Store(#[from] PostgresOpenError),
}

/// The secret of all nodes.
///
/// # Errors
/// When its file cannot be used.
pub fn shared_secret(args: &EngineArgs) -> Result<SharedSecret, EngineError> {
    const FLAG: &str = "--secret-file";
    let Some(path) = args.secret_file.as_deref() else {
        return Err(EngineError::Flag(format!("{FLAG} is missing")));
    };
    let bytes = operator_file::read_secret_bytes(path).map_err(at(FLAG, path));
    let secret = bytes.and_then(|bytes| SharedSecret::parse(&bytes).map_err(at(FLAG, path)));
    secret.map_err(EngineError::Flag)
}

/// Opens the database of contacts, keys and revocations, and tries for `patience` while it is away.
///
/// # Errors
/// When it cannot be used.
pub async fn open_store(
    args: &EngineArgs,
    secret: &SharedSecret,
    metrics: &Arc<Metrics>,
    patience: Duration,
) -> Result<Arc<PostgresStore>, EngineError> {
    let settings = store_settings(args, secret)?;
    let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let metrics = Arc::clone(metrics);
    let store = PostgresStore::connect(&settings, metrics, clock, entropy, patience);
    Ok(store.await?)
}

/// Makes or updates the tables of that database.
///
/// # Errors
/// When it cannot be used.
pub async fn migrate_store(
    args: &EngineArgs,
    secret: &SharedSecret,
) -> Result<Migration, EngineError> {
    Ok(migrate(&store_settings(args, secret)?).await?)
}

fn store_settings(
    args: &EngineArgs,
    secret: &SharedSecret,
) -> Result<PostgresSettings, EngineError> {
    let url = args.store.as_ref().map_or("", |url| url.as_str());
    let address = PostgresAddress::parse(url).map_err(of(STORE));
    let address = address.map_err(EngineError::Flag)?;
    let file = args.store_password_file.as_deref();
    Ok(PostgresSettings {
        password: password("--store-password-file", file)?,
        roots: roots_for(address.may_use_tls())
            .map_err(of(STORE))
            .map_err(EngineError::Flag)?,
        address,
        tombstone_keys: secret.tombstone_keys(),
        secret_ids: secret.ids(),
    })
}

/// The keys and revocations of the store, whose look-ups may be as old as the flags say.
pub fn cached_credentials(args: &EngineArgs, store: &Arc<PostgresStore>) -> Arc<CredentialCache> {
    let (keys, revocations) = (Arc::clone(store), Arc::clone(store));
    let clock = Arc::new(SystemClock);
    Arc::new(CredentialCache::new(
        keys,
        revocations,
        clock,
        args.credential_cache,
    ))
}

/// Opens the engine of the limits. One that does not answer is no error.
///
/// # Errors
/// When a flag is wrong.
pub async fn open_limits(args: &EngineArgs) -> Result<Arc<RedisRateLimiter>, EngineError> {
    let opened = RedisRateLimiter::open(limits_settings(args)?).await;
    let opened = opened.map_err(of(LIMITS)).map_err(EngineError::Flag);
    opened.map(Arc::new)
}

/// Puts the node's own table behind the engine of the limits.
///
/// # Errors
/// When the system cannot start a thread.
pub fn guard(
    engine: Arc<RedisRateLimiter>,
    args: &EngineArgs,
    policies: &Policies,
    metrics: &Arc<Metrics>,
) -> io::Result<Arc<GuardedRateLimiter>> {
    let (nodes, metrics) = (args.nodes.unwrap_or(1), Arc::clone(metrics));
    let clock = Arc::new(SystemClock);
    GuardedRateLimiter::new(engine, nodes, policies, metrics, clock)
}

fn limits_settings(args: &EngineArgs) -> Result<RedisSettings, EngineError> {
    let url = args.limits.as_ref().map_or("", |url| url.as_str());
    let address = RedisAddress::parse(url).map_err(of(LIMITS));
    let file = args.limits_password_file.as_deref();
    Ok(RedisSettings {
        address: address.map_err(EngineError::Flag)?,
        password: password("--limits-password-file", file)?,
        roots: roots_for(url.starts_with("rediss"))
            .map_err(of(LIMITS))
            .map_err(EngineError::Flag)?,
    })
}

/// Checks the flags and their files, without an engine.
///
/// # Errors
/// When one of them is wrong.
pub fn check_flags(args: &EngineArgs) -> Result<(), EngineError> {
    if args.store.is_some() {
        store_settings(args, &shared_secret(args)?)?;
    }
    if args.limits.is_some() {
        limits_settings(args)?;
    }
    Ok(())
}

fn password(flag: &str, path: Option<&Path>) -> Result<Option<String>, EngineError> {
    let password = read_secret(flag, path, |text| Ok::<_, String>(text.to_owned()));
    password.map_err(EngineError::Flag)
}
