//! The kinds of faults that programs, files and people outside bring along: an input, and the right outcome. Each
//! module is data-driven; the peers speak bytes.

mod engines;
pub(crate) mod files;
mod imports;
mod ledger;
mod mail;
mod model;
mod queue;
mod requests;
mod webhook;
