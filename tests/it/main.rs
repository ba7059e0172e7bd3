//! All integration tests, in one binary: it links once.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected has failed"
)]
#![allow(unreachable_pub, reason = "nothing outside reaches a test")]

mod admin_page;
mod agent;
mod architecture;
mod assistant;
mod assistant_courtesies;
mod assistant_pages;
mod assistant_visitors;
mod backup;
mod bad_bodies;
mod binary;
mod blocks;
mod bodies;
mod budget;
mod call;
mod commands;
mod compression;
mod consent;
mod contracts;
mod cors;
mod counts;
mod credential_cache;
mod crowd;
mod deliveries;
mod discovery;
mod doctor;
mod drain;
mod email;
mod error_pages;
mod exposition;
mod field;
mod fixtures;
mod flag_files;
mod generated;
mod handbook;
mod harness;
mod heads;
mod health;
mod hsts;
mod http2;
mod hung_disk;
mod identity;
mod imports;
mod kept_questions;
mod keys;
mod ledger;
mod limiter;
mod limits;
mod limits_shown;
mod log_lines;
mod looks;
mod mail;
mod mcp;
mod metrics;
mod newsletter;
mod newsletter_form;
mod notify;
mod openai;
mod openapi_contract;
mod operator;
mod opt_in;
mod pages;
mod prelude;
mod problems;
mod program;
mod provider;
mod reference;
#[path = "../support/rows.rs"]
mod rows;
mod sandbox;
mod shares;
mod signers;
mod site;
mod site_dir;
mod statements;
mod streaming;
mod systemd;
mod tls;
mod transport;
#[path = "../support/mod.rs"]
mod twins;
mod upgrade;
mod versions;
mod window;
mod words;
