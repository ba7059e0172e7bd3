//! Commands about rate limits.

use std::net::IpAddr;

use clap::{ArgGroup, Args, Subcommand};

use super::form::{Consent, OutputForm};
use crate::config::values;
use crate::domain::{EmailAddress, PolicyName};

/// A command about rate limits.
#[derive(Clone, Debug, Subcommand)]
pub enum LimitsCommand {
    /// Show all limits and their busiest clients, or what one client has left
    Show {
        /// Number of clients to show for each limit
        #[arg(
            long,
            value_name = "COUNT",
            default_value_t = 5,
            value_parser = clap::value_parser!(u16).range(0..=1000)
        )]
        top: u16,

        /// Who is asked about.
        #[command(flatten)]
        whose: Whose,

        /// How to print it.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Reset counters, so that refused clients are admitted again
    #[command(override_usage = "landing-api limits reset [OPTIONS]")]
    Reset(ResetLimits),
}

/// Whose limits.
#[derive(Clone, Debug, Args)]
pub struct Whose {
    /// IP address of a client
    #[arg(long, value_name = "ADDRESS", value_parser = values::ip)]
    pub ip: Option<IpAddr>,

    /// API key, token or client ID; - reads it from standard input
    #[arg(long, value_name = "KEY", conflicts_with = "ip")]
    pub key: Option<String>,

    /// Email address that the client of --ip signs up
    #[arg(long, value_name = "ADDRESS", value_parser = EmailAddress::parse, requires = "ip")]
    pub email: Option<EmailAddress>,
}

/// What to reset.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("what")
    .args(["policy", "ip", "key", "client", "all"])
    .multiple(true)
    .required(true))]
pub struct ResetLimits {
    /// Only this limit; without --ip or --key, for everyone
    #[arg(long, value_name = "NAME", value_parser = values::policy)]
    pub policy: Option<PolicyName>,

    /// Who is forgiven.
    #[command(flatten)]
    pub whose: Whose,

    /// Hash of a client, from `limits show`
    #[arg(long, value_name = "HASH", conflicts_with_all = ["policy", "ip", "key"])]
    pub client: Option<String>,

    /// Every limit, for everyone
    #[arg(long, conflicts_with_all = ["policy", "ip", "key", "client"])]
    pub all: bool,

    /// Whether to ask.
    #[command(flatten)]
    pub consent: Consent,
}
