//! Commands about API keys and agents.

use clap::{Args, Subcommand};

use super::form::OutputForm;

/// A command about API keys.
#[derive(Clone, Debug, Subcommand)]
pub enum KeysCommand {
    /// List the keys in the order of issue
    #[command(after_help = "Examples:
  landing-api keys list
  landing-api keys list --json | jq -r 'select(.state == \"active\") | .id'")]
    List(OutputForm),

    /// Revoke keys, for good
    #[command(after_help = "Examples:
  landing-api keys revoke Yo3IxbA7
  landing-api keys revoke - < leaked-keys.txt

Exit status 3: some of them are not known, the others are revoked.")]
    Revoke(NamedKeys),

    /// Tell whether keys are accepted
    #[command(after_help = "Examples:
  landing-api keys check Yo3IxbA7
  landing-api keys check - < key.txt

Exit status 3: some of them are not known.")]
    Check(NamedKeys),
}

/// Which keys.
#[derive(Clone, Debug, Args)]
pub struct NamedKeys {
    /// Id of a key, which `keys list` shows, or the whole key; - reads standard input, a key a line,
    /// and keeps them out of the shell's history
    #[arg(value_name = "KEY", required = true)]
    pub names: Vec<String>,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}

/// A command about agents.
#[derive(Clone, Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the revoked registrations in the order of revocation
    #[command(after_help = "Examples:
  landing-api agents list-revoked")]
    ListRevoked(OutputForm),

    /// Revoke a registration with all its tokens, for good
    #[command(after_help = "Examples:
  landing-api agents revoke reg_00dmbk4ta0...")]
    Revoke {
        /// Client id of the registration
        #[arg(value_name = "CLIENT_ID")]
        client_id: String,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },
}
