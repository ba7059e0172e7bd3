//! Commands about what is to be delivered.

use clap::{Args, Subcommand};

use super::form::{Consent, OutputForm};

/// A command about deliveries.
#[derive(Clone, Debug, Subcommand)]
pub enum QueueCommand {
    /// List what is to be delivered, and what was given up
    List(OutputForm),

    /// Show a delivery with what is sent
    Show(NamedDelivery),

    /// Deliver at once, with all its attempts
    Retry {
        /// Id of a delivery, which `queue list` shows
        #[arg(value_name = "ID", required_unless_present = "all")]
        id: Option<String>,

        /// All failed deliveries, and those waiting for their next attempt
        #[arg(long, conflicts_with = "id")]
        all: bool,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Drop a delivery: nobody is told
    Drop {
        /// Id of a delivery, which `queue list` shows
        #[arg(value_name = "ID")]
        id: String,

        /// Whether to ask.
        #[command(flatten)]
        consent: Consent,
    },

    /// Let nothing leave until `queue release`
    Hold(OutputForm),

    /// Let what was held leave
    Release(OutputForm),
}

/// Which delivery.
#[derive(Clone, Debug, Args)]
pub struct NamedDelivery {
    /// Id of a delivery, which `queue list` shows
    #[arg(value_name = "ID")]
    pub id: String,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
