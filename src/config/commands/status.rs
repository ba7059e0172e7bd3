//! The command about the service as a whole.

use clap::Args;

use super::form::OutputForm;

/// How to show the status.
#[derive(Clone, Copy, Debug, Args)]
pub struct StatusArgs {
    /// Show it anew every two seconds, until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// How to print it.
    #[command(flatten)]
    pub form: OutputForm,
}
