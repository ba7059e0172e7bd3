//! What most tests begin with.

pub(crate) use std::collections::{BTreeMap, BTreeSet};
pub(crate) use std::fs::{self, File, Permissions, set_permissions};
pub(crate) use std::net::SocketAddr;
pub(crate) use std::os::unix::fs::PermissionsExt as _;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::process::Command;
pub(crate) use std::sync::Arc;
pub(crate) use std::thread;
pub(crate) use std::time::Duration;

pub(crate) use hyper::{Method, Request, StatusCode};
pub(crate) use landing_api::adapters::files::block_list::FileBlockList;
pub(crate) use landing_api::adapters::files::counts::FileCountStore;
pub(crate) use landing_api::adapters::ledger::{Tuning, verify_ledger};
pub(crate) use landing_api::adapters::limiter::{SledRateLimiter, SledWindowStore, WINDOWS_MAX};
pub(crate) use landing_api::adapters::model::{OpenAiModelClient, PassageModelClient};
pub(crate) use landing_api::domain::Registration;
pub(crate) use landing_api::domain::chat::Role;
pub(crate) use landing_api::domain::contact::Contact;
pub(crate) use landing_api::domain::credential::ApiKey;
pub(crate) use landing_api::domain::delivery::Channel;
pub(crate) use landing_api::domain::email::EmailAddress;
pub(crate) use landing_api::domain::policy::PolicyName;
pub(crate) use landing_api::domain::time::{DAY_MS, Timestamp};
pub(crate) use landing_api::http::answer::problem::Code;
pub(crate) use landing_api::http::server::ServerLimits;
pub(crate) use landing_api::metrics::Metrics;
pub(crate) use landing_api::ports::{ModelClient, ModelError, StoreError};
pub(crate) use rustix::process::Signal;
pub(crate) use serde_json::{Value, json};
pub(crate) use tempfile::TempDir;
pub(crate) use tokio::task::JoinHandle;
pub(crate) use tokio::time::{Instant, advance, sleep, timeout};
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) use crate::agent::register;
pub(crate) use crate::contracts::block_list::network;
pub(crate) use crate::fixtures::{
    FaultyRateLimiter, House, Opened, START, address, charge, failed, is_admitted, key_record,
    listed, logged, logged_async, make_fifo, policies,
};
pub(crate) use crate::harness::{Call, NOW, PanickingModelClient, Reply, Setup, TestApp, VISITOR};
pub(crate) use crate::program::{
    Program, Ran, assert_absent, assert_present, closed_address, command, exchange, landing_api,
    private_dir,
};
pub(crate) use crate::provider::Provider;
pub(crate) use crate::rows::rows;
pub(crate) use crate::site::{facts, render};
pub(crate) use crate::tls::{Authority, write_private};
pub(crate) use crate::transport::{Connection, Server};
pub(crate) use crate::twins::{
    ManualClock, MemoryAnswerSink, ScriptedMailSender, ScriptedModelClient, ScriptedWebhookSender,
    SeededEntropy,
};
pub(crate) use crate::{commands, mcp};
