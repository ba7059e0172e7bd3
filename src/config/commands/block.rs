//! Commands about blocked networks.

use clap::{Args, Subcommand};

use super::form::OutputForm;
use crate::domain::BlockedNetwork;

/// A command about blocked networks.
#[derive(Clone, Debug, Subcommand)]
pub enum BlockCommand {
    /// List the blocked networks, those of --block, too
    List(OutputForm),

    /// Refuse every request of a network from now on
    Add(NamedNetwork),

    /// Let a network in again
    Remove(NamedNetwork),
}

/// Which network.
#[derive(Clone, Debug, Args)]
pub struct NamedNetwork {
    /// The network, such as 192.0.2.0/24, or an address
    #[arg(value_name = "CIDR", value_parser = BlockedNetwork::parse)]
    pub network: BlockedNetwork,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
