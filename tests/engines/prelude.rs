//! What most tests of the engines begin with.

pub(crate) use std::fs;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use landing_api::adapters::cluster::postgres::PostgresStore;
pub(crate) use landing_api::adapters::cluster::redis::RedisRateLimiter;
pub(crate) use landing_api::domain::contact::Subscription;
pub(crate) use landing_api::domain::policy::PolicyName;
pub(crate) use landing_api::domain::time::Timestamp;
pub(crate) use landing_api::metrics::Metrics;
pub(crate) use landing_api::ports::{ContactStore, RateLimiter, WindowSet};
pub(crate) use rustix::process::Signal;
pub(crate) use tokio::task::JoinSet;
pub(crate) use tokio::time::Instant;

pub(crate) use crate::client::{Call, Client, at_once};
pub(crate) use crate::engine::{free_port, until};
pub(crate) use crate::fixtures::{
    START, acquire, address, charge, imported, origin, refund, sign_up,
};
pub(crate) use crate::nodes::{Nodes, engines, write_secret};
pub(crate) use crate::postgres::{Postgres, TERMINATE, url};
pub(crate) use crate::program::{Program, Ran, landing_api};
pub(crate) use crate::redis::Redis;
pub(crate) use crate::relay::{Flow, Relay};
