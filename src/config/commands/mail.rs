//! Commands about mail.

use clap::{Args, Subcommand};

use super::form::OutputForm;
use crate::domain::EmailAddress;

/// A command about the account that sends mail.
#[derive(Clone, Debug, Subcommand)]
pub enum MailCommand {
    /// Send a test email to your own address
    Test(TestMail),
}

/// Whom a mail is sent to.
#[derive(Clone, Debug, Args)]
pub struct TestMail {
    /// Email address
    #[arg(value_name = "ADDRESS", value_parser = EmailAddress::parse)]
    pub address: EmailAddress,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}
