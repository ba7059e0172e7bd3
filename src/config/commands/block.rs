//! Commands about blocked networks.

use clap::{Args, Subcommand};

use super::form::OutputForm;
use crate::domain::BlockedNetwork;

/// A command about blocked networks.
#[derive(Clone, Debug, Subcommand)]
pub enum BlockCommand {
    /// List blocked networks, including those of --block
    List(OutputForm),

    /// Block every request of a network from now on
    Add(NamedNetwork),

    /// Unblock a network
    Remove(NamedNetwork),
}

/// Which network.
#[derive(Clone, Debug, Args)]
pub struct NamedNetwork {
    /// Network such as 192.0.2.0/24, or an address
    #[arg(value_name = "CIDR", value_parser = BlockedNetwork::parse)]
    pub network: BlockedNetwork,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
