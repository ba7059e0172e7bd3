//! Commands about API keys and agents.

use clap::{Args, Subcommand};

use super::form::{Consent, OutputForm};

/// A command about API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// List keys in the order they were issued
    List(OutputForm),

    /// Permanently revoke keys
    Revoke {
        /// Which ones.
        #[command(flatten)]
        named: NamedKeys,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },

    /// Check whether keys are accepted
    Check {
        /// Which ones.
        #[command(flatten)]
        named: NamedKeys,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },
}

/// Which keys.
#[derive(Clone, Debug, Args)]
pub struct NamedKeys {
    /// ID of a key, from `keys list`, or the whole key; - reads them from standard input, one per line,
    /// which keeps them out of the shell history
    #[arg(value_name = "KEY", required = true)]
    pub names: Vec<String>,
}

/// A command about agents.
#[derive(Clone, Debug, Subcommand)]
pub enum AgentsCommand {
    /// List revoked registrations in the order they were revoked
    ListRevoked(OutputForm),

    /// Permanently revoke a registration and all its tokens
    Revoke {
        /// Client ID of the registration
        #[arg(value_name = "CLIENT_ID")]
        client_id: String,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },
}
