//! A public landing back end: newsletter sign-ups kept safely, a quota-limited assistant, free API
//! keys, and honest rate limits on all of it, in one binary with an embedded store.
//!
//! # The map
//!
//! In reading order, from the rules outwards:
//!
//! | Module | What it is | What it may know |
//! |---|---|---|
//! | [`domain`] | values that cannot be wrong, rules that decide; no I/O, no clock | nothing |
//! | [`ports`] | what the use cases need of the world, as object-safe traits | `domain` |
//! | [`usecases`] | what the service does, a function each | `domain`, `ports` |
//! | [`app`] | every port and what the operator decided, in one value | the three above |
//! | [`adapters`] | the ports over real technologies, and a twin of each in memory | `domain`, `ports` |
//! | [`site`] | the documents of `data/`, rendered once at start | `domain` |
//! | [`http`] | connections, routes, JSON, headers, over hyper | `domain`, `ports`, `usecases`, `app`, `site` |
//! | [`config`] | flags and the environment behind them | `domain` |
//! | [`telemetry`] | the log | nothing |
//! | [`wiring`] | the adapters that the flags ask for | all but `http` and `app` |
//!
//! The program, `src/main.rs`, alone sees everything: it parses, binds, opens, wires, serves and
//! flushes.
//!
//! # What always holds
//!
//! - A sign-up, key or revocation that was answered survives a power cut: its line is in the ledger,
//!   and synced there, before the answer leaves ([`adapters::ledger`]). Where sign-ups are passed on
//!   instead, the provider has confirmed it before the answer leaves ([`adapters::webhook`]).
//! - No trailing window ever holds more admissions than its quota, on any number of threads; after
//!   `Retry-After` the next request is admitted ([`domain::window`], [`adapters::limiter`]).
//! - One [`domain::decision::Decision`] a request feeds every number that the answer shows.
//! - What a client is told and what the log is told are different strings, and neither holds an
//!   address, a key, a token or a cookie.
//! - Everything that grows or waits has a bound: connections, heads, bodies, handlers, queues,
//!   tables, and the drain at the end.
//!
//! # What is not there
//!
//! No status code, header name or JSON member inside [`app`]; no second place that builds an error
//! body; no global state; no clock but [`ports::Clock`]. `tests/it/architecture.rs` reads the
//! sources and fails on the plain ways to break these, and on any import that runs the other way.

pub mod adapters;
pub mod app;
pub mod config;
pub mod domain;
pub mod http;
pub mod ports;
pub mod site;
pub mod telemetry;
pub mod usecases;
pub mod wiring;
