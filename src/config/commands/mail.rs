//! Commands about mail.

use clap::{Args, Subcommand};

use super::form::OutputForm;
use crate::domain::EmailAddress;

/// A command about mail.
#[derive(Clone, Debug, Subcommand)]
pub enum MailCommand {
    /// Send a mail to an address of yours, by the account of the service
    Test(Recipient),

    /// Email an address again that is suppressed because its recipient refused
    Allow(Recipient),
}

/// Who gets mail.
#[derive(Clone, Debug, Args)]
pub struct Recipient {
    /// The address
    #[arg(value_name = "ADDRESS", value_parser = EmailAddress::parse)]
    pub address: EmailAddress,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
