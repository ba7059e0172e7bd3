//! A public landing back end: newsletter sign-ups kept safely, a quota-limited assistant, free API
//! keys, and honest rate limits on all of it, in one binary with an embedded store.

pub mod adapters;
pub mod domain;
pub mod ports;
pub mod site;
pub mod usecases;
