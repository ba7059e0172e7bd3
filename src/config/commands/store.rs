//! Commands about the data directory as a whole.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::form::OutputForm;

/// Where a backup goes.
#[derive(Clone, Debug, Args)]
pub struct BackupArgs {
    /// File to write; - is standard output
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}

/// Where a backup comes from.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// File to read; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}

/// A command about the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Verify every line of the ledger; a service may run on it
    #[command(after_help = "Examples:
  landing-api ledger verify

Exit status 1: it is damaged. The error says what to do.")]
    Verify(OutputForm),

    /// Give up what is damaged in the ledger and keep all else, while no service runs
    #[command(after_help = "Examples:
  landing-api ledger repair

The file as it was is kept as ledger.damaged.1, or with a higher number.")]
    Repair(OutputForm),

    /// Write the ledger anew without what no longer counts
    #[command(after_help = "Examples:
  landing-api ledger compact

The service does this by itself when it is worth it.")]
    Compact(OutputForm),
}
