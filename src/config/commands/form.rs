//! Flags that commands share.

/// How a command prints its result.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputForm {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Whether a command that destroys something asks before, and how it prints its result.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Consent {
    /// Skip the confirmation prompt; required without a terminal
    #[arg(short, long)]
    pub yes: bool,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
