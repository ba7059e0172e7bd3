//! Commands about what is to be delivered.

use clap::{Args, Subcommand};

use super::form::{Consent, OutputForm};

/// A command about deliveries.
#[derive(Clone, Debug, Subcommand)]
pub enum QueueCommand {
    /// List pending and failed deliveries
    List(OutputForm),

    /// Show a delivery and its content
    Show(NamedDelivery),

    /// Deliver now, with all attempts again
    Retry {
        /// ID of a delivery, from `queue list`
        #[arg(value_name = "ID", required_unless_present = "all")]
        id: Option<String>,

        /// All failed deliveries and all that wait for their next attempt
        #[arg(long, conflicts_with = "id")]
        all: bool,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Discard a delivery without sending it
    Drop {
        /// ID of a delivery, from `queue list`
        #[arg(value_name = "ID")]
        id: String,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },

    /// Pause deliveries until `queue release`
    Hold(OutputForm),

    /// Resume deliveries
    Release(OutputForm),
}

/// Which delivery.
#[derive(Clone, Debug, Args)]
pub struct NamedDelivery {
    /// ID of a delivery, from `queue list`
    #[arg(value_name = "ID")]
    pub id: String,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
