//! A public landing back end: newsletter sign-ups kept safely, a quota-limited assistant, free API
//! keys, and honest rate limits on all of it, in one binary with an embedded store.

pub mod adapters;
pub mod app;
pub mod config;
pub mod domain;
pub mod http;
pub mod ports;
pub mod site;
pub mod telemetry;
pub mod usecases;
