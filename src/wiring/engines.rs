//! Opens the engines that several nodes share.

use std::sync::Arc;
use std::time::Duration;

use crate::adapters::cluster::postgres::{
    Migration, PostgresAddress, PostgresSettings, PostgresStore, migrate,
};
use crate::adapters::cluster::redis::{RedisAddress, RedisRateLimiter, RedisSettings};
use crate::adapters::files::operator_file;
use crate::adapters::files::pem::{Certificates, certificates_in};
use crate::config::EngineArgs;
use crate::domain::SharedSecret;
use crate::metrics::Metrics;

use super::{StoresError, at, of, password_file, roots_for};

/// Time for which a start retries the database: as long as a failover may take.
const START_PATIENCE: Duration = Duration::from_secs(30);

const STORE: &str = "--store";
const LIMITS: &str = "--limits";

/// The secret that all nodes share.
pub fn shared_secret(args: &EngineArgs) -> Result<SharedSecret, StoresError> {
    const FLAG: &str = "--secret-file";
    let Some(path) = args.secret_file.as_deref() else {
        return Err(format!("{FLAG} is missing").into());
    };
    let bytes = operator_file::read_secret_bytes(path).map_err(at(FLAG, path))?;
    Ok(SharedSecret::parse(&bytes).map_err(at(FLAG, path))?)
}

/// Opens the database of contacts, keys and revocations. A node of the service retries for a while if the
/// database is unavailable.
pub async fn open_store(
    args: &EngineArgs,
    secret: &SharedSecret,
    metrics: &Arc<Metrics>,
    is_node: bool,
) -> Result<Arc<PostgresStore>, StoresError> {
    let settings = store_settings(args, secret)?;
    let patience = match is_node {
        true => START_PATIENCE,
        false => Duration::ZERO,
    };
    Ok(PostgresStore::connect(&settings, Arc::clone(metrics), patience).await?)
}

/// Creates the tables of that database.
pub async fn migrate_store(
    args: &EngineArgs,
    secret: &SharedSecret,
) -> Result<Migration, StoresError> {
    Ok(migrate(&store_settings(args, secret)?).await?)
}

fn store_settings(
    args: &EngineArgs,
    secret: &SharedSecret,
) -> Result<PostgresSettings, StoresError> {
    let url = args.store.as_ref().map_or("", |url| &url.0);
    let address = PostgresAddress::parse(url).map_err(of(STORE))?;
    let file = args.store_password_file.as_deref();
    Ok(PostgresSettings {
        password_file: password_file("--store-password-file", file)?,
        roots: roots_for(address.may_use_tls(), authorities(args)?).map_err(of(STORE))?,
        address,
        tombstone_keys: secret.tombstone_keys(),
        secret_ids: secret.ids(),
    })
}

/// Opens the engine of the limits, for a service with its `metrics`. An unreachable engine is no error.
pub async fn open_limits(
    args: &EngineArgs,
    metrics: Option<Arc<Metrics>>,
) -> Result<Arc<RedisRateLimiter>, StoresError> {
    let opened = RedisRateLimiter::open(limits_settings(args, metrics)?).await;
    Ok(Arc::new(opened.map_err(of(LIMITS))?))
}

fn limits_settings(
    args: &EngineArgs,
    metrics: Option<Arc<Metrics>>,
) -> Result<RedisSettings, StoresError> {
    let url = args.limits.as_ref().map_or("", |url| &url.0);
    let file = args.limits_password_file.as_deref();
    Ok(RedisSettings {
        address: RedisAddress::parse(url).map_err(of(LIMITS))?,
        password_file: password_file("--limits-password-file", file)?,
        roots: roots_for(url.starts_with("rediss"), authorities(args)?).map_err(of(LIMITS))?,
        metrics,
    })
}

/// Checks the flags and their files without connecting to an engine.
pub fn check_flags(args: &EngineArgs) -> Result<(), StoresError> {
    if args.store.is_some() {
        store_settings(args, &shared_secret(args)?)?;
    }
    if args.limits.is_some() {
        limits_settings(args, None)?;
    }
    Ok(())
}

/// The certificate authorities of the engines' providers.
fn authorities(args: &EngineArgs) -> Result<Certificates, String> {
    match args.store_ca.as_deref() {
        Some(path) => certificates_in(path).map_err(at("--store-ca", path)),
        None => Ok(Vec::new()),
    }
}
