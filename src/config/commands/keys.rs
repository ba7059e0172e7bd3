//! Commands about API keys and agents.

use clap::{Args, Subcommand};

use super::form::{Consent, OutputForm};

/// A command about API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// List the keys in the order of issue
    List(OutputForm),

    /// Revoke keys, for good
    Revoke {
        /// Which ones.
        #[command(flatten)]
        named: NamedKeys,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },

    /// Tell whether keys are accepted
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
    /// Id of a key, which `keys list` shows, or the whole key; - reads standard input, a key a line,
    /// and keeps them out of the shell's history
    #[arg(value_name = "KEY", required = true)]
    pub names: Vec<String>,
}

/// A command about agents.
#[derive(Clone, Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the revoked registrations in the order of revocation
    ListRevoked(OutputForm),

    /// Revoke a registration with all its tokens, for good
    Revoke {
        /// Client id of the registration
        #[arg(value_name = "CLIENT_ID")]
        client_id: String,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },
}
