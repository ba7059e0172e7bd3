//! What most tests begin with.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::fs::{self, File, Permissions};
pub(crate) use std::os::unix::fs::PermissionsExt as _;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use hyper::{Method, StatusCode};
pub(crate) use landing_api::adapters::limiter::{SledRateLimiter, WINDOWS_MAX};
pub(crate) use landing_api::adapters::model::PassageModelClient;
pub(crate) use landing_api::domain::policy::PolicyName;
pub(crate) use landing_api::domain::time::{DAY_MS, Timestamp};
pub(crate) use landing_api::http::server::ServerLimits;
pub(crate) use landing_api::ports::{ModelError, StoreError};
pub(crate) use rustix::process::Signal;
pub(crate) use serde_json::{Value, json};
pub(crate) use tempfile::TempDir;
pub(crate) use tokio::time::{Instant, sleep};
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) use crate::fixtures::{
    House, Opened, START, address, charge, failed, is_admitted, key_record, listed, logged,
    logged_async, policies,
};
pub(crate) use crate::harness::{Call, NOW, Reply, Setup, TestApp, VISITOR};
pub(crate) use crate::program::{
    Program, Ran, assert_absent, assert_present, closed_address, command, exchange, landing_api,
    private_dir,
};
pub(crate) use crate::provider::Provider;
pub(crate) use crate::rows::rows;
pub(crate) use crate::site::{facts, render};
pub(crate) use crate::transport::{Connection, Server};
pub(crate) use crate::twins::{
    ManualClock, ScriptedMailSender, ScriptedModelClient, ScriptedWebhookSender, SeededEntropy,
};
