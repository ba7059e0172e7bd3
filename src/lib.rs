//! A public landing back end: newsletter sign-ups, a quota-limited assistant, free API keys, and rate
//! limits on all of it, in one binary with an embedded store. Several nodes share PostgreSQL and Redis
//! instead.
//!
//! # The map
//!
//! In reading order, from the rules outwards:
//!
//! | Module | Contents | Imports |
//! |---|---|---|
//! | [`domain`] | values that are valid by construction, and rules as pure functions; no I/O, no clock | |
//! | [`ports`] | object-safe traits that the use cases depend on, and their errors | `domain` |
//! | [`usecases`] | what visitors and agents can do, one function each | `domain`, `ports`, `metrics` |
//! | [`app`] | the ports and the operator's settings in one value | `domain`, `ports`, `usecases`, `metrics` |
//! | [`adapters`] | the ports over real technologies | `domain`, `ports`, `metrics` |
//! | [`site`] | the documents of `data/`, rendered once at start, and pages for one request | `domain` |
//! | [`http`] | the server: connections, the request pipeline, endpoints, errors | `domain`, `ports`, `usecases`, `app`, `site`, `metrics` |
//! | [`operator`] | the operator's operations, for commands, the admin page and monitors | `domain`, `ports`, `usecases`, `app`, `metrics` |
//! | [`config`] | the flags and the operator's commands | `domain` |
//! | [`telemetry`] | the log | `domain`, `ports`, `adapters` |
//! | [`metrics`] | counters since the start of the process | `domain` |
//! | [`wiring`] | opens the adapters and files named by flags | `domain`, `ports`, `adapters`, `site`, `config`, `app`, `metrics` |
//! | [`cli`] | the service and the operator's commands, run | all but `usecases` and `telemetry` |
//!
//! The program, `src/main.rs`, parses the command line, then serves ([`cli::serve`]) or runs a command.
//! No file imports another in a circle.
//!
//! # Invariants
//!
//! - An acknowledged sign-up, key or revocation survives a power cut: before the response is sent, its
//!   line is in the ledger and the ledger is synced ([`adapters::ledger`]), or the database has committed
//!   it ([`adapters::cluster::postgres`]). Where sign-ups are passed on instead, the provider has
//!   confirmed it ([`adapters::outbound::webhook`]).
//! - No window holds more admissions than its quota, at any instant and on any number of threads.
//!   After `Retry-After` the next request is admitted ([`domain::window`], [`adapters::limiter`]).
//!   [`adapters::cluster::redis`] describes how much of this several nodes guarantee.
//! - One [`domain::decision::Decision`] per request is the source of every number about limits in its
//!   response.
//! - Clients and the log get different texts about an error. Neither contains an address, a key, a
//!   token or a cookie.
//! - Everything that grows or waits has a limit: connections, heads, bodies, handlers, queues, tables,
//!   and the drain at the end.
//!
//! # Absences
//!
//! No status code, header name or JSON field in `domain`, `ports`, `usecases` and `app`; one place
//! that builds error bodies; no global state; no clock but [`ports::Clock`].
//! `tests/it/architecture.rs` reads the sources and fails on imports and names that break these rules.

pub mod adapters;
pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod http;
pub mod metrics;
pub mod operator;
pub mod ports;
#[cfg(test)]
#[path = "../tests/support/rows.rs"]
mod rows;
pub mod site;
pub mod telemetry;
pub mod usecases;
pub mod wiring;
