//! Commands about mail.

use clap::{Args, Subcommand};

use super::form::OutputForm;
use crate::domain::EmailAddress;

/// A command about email.
#[derive(Clone, Debug, Subcommand)]
pub enum MailCommand {
    /// Send a test email to your own address
    Test(Recipient),

    /// Lift the suppression of an address whose owner wants email again
    Allow(Recipient),
}

/// A recipient of email.
#[derive(Clone, Debug, Args)]
pub struct Recipient {
    /// Email address
    #[arg(value_name = "ADDRESS", value_parser = EmailAddress::parse)]
    pub address: EmailAddress,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
