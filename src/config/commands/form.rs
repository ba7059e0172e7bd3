//! Flags that commands share.

/// How a command prints its result.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputForm {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
