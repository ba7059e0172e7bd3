//! Commands about contacts.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};

use super::form::{Consent, OutputForm};
use crate::config::values;
use crate::domain::{EmailAddress, Timestamp};

/// A command about contacts.
#[derive(Clone, Debug, Subcommand)]
pub enum ContactsCommand {
    /// List contacts in the order they were added, or sorted
    List {
        /// Which ones.
        #[command(flatten)]
        filter: ContactFilter,

        /// Sort as the admin page does [default: in the order they were added]
        #[arg(long, value_name = "ORDER")]
        sort: Option<ContactOrder>,

        /// How to print them.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Count contacts
    Count {
        /// Which ones.
        #[command(flatten)]
        filter: ContactFilter,

        /// How to print the number.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Export contacts to a file, for a spreadsheet or another service
    Export(ExportArgs),

    /// Import contacts from a file
    Import(ImportArgs),

    /// Show the data stored about an address
    Show {
        /// Email address
        #[arg(value_name = "ADDRESS", value_parser = EmailAddress::parse)]
        email: EmailAddress,

        /// Include the proof of consent
        #[arg(long)]
        proof: bool,

        /// How to print it.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Permanently erase addresses from every file
    Forget(ForgetArgs),
}

/// The orders of the admin page.
// A variant's doc comment is its help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ContactOrder {
    /// Newest contact first
    Newest,
    /// Oldest contact first
    Oldest,
    /// By address
    AToZ,
    /// By address, reversed
    ZToA,
}

/// Which contacts.
#[derive(Clone, Debug, Args)]
pub struct ContactFilter {
    /// Only contacts that signed up at this time or later: RFC 3339, or a date (UTC)
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub since: Option<Timestamp>,

    /// Only contacts that signed up before this time
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub until: Option<Timestamp>,

    /// Only contacts that have this client among the last four that signed them up: its name in the
    /// log, its hash in `limits show`, or its IP address
    #[arg(long, value_name = "NAME")]
    pub signed_by: Option<String>,

    /// Only contacts with this status [default: all; for export, subscribed]
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(["pending", "subscribed", "unsubscribed", "all"]))]
    pub status: Option<String>,
}

impl ContactFilter {
    /// Whether it leaves any contact out.
    pub fn is_given(&self) -> bool {
        self.since.is_some()
            || self.until.is_some()
            || self.signed_by.is_some()
            || self.status.is_some()
    }
}

/// What to export, and where to.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// File format [default: by the extension of FILE, else csv]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["csv", "jsonl"]))]
    pub format: Option<String>,

    /// File to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,

    /// Replace FILE if it exists
    #[arg(long)]
    pub force: bool,

    /// Which ones.
    #[command(flatten)]
    pub filter: ContactFilter,
}

/// What to import.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// File to read; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// File format [default: by the extension of FILE, else csv]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(["csv", "jsonl"]))]
    pub format: Option<String>,

    /// Meaning of a column with an unknown name: unsubscribed (a yes or a time opts out), subscribed or confirmed
    /// (a yes or a time opts in), status, email, `subscribed_at` or ignore; repeatable
    #[arg(long = "column", value_name = "NAME=MEANING", value_parser = column)]
    pub columns: Vec<(String, ColumnMeaning)>,

    /// Also import addresses that were erased
    #[arg(long)]
    pub unforget: bool,

    /// How to print the result.
    #[command(flatten)]
    pub form: OutputForm,
}

/// The meaning of a column of an imported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ColumnMeaning {
    /// The address.
    Email,
    /// When the contact signed up.
    SubscribedAt,
    /// A word for the contact's status.
    Status,
    /// Opt-out flag or time.
    Unsubscribed,
    /// Opt-in flag or time.
    Subscribed,
    /// Confirmation flag or time.
    Confirmed,
    /// Nothing of these.
    Ignore,
}

impl ColumnMeaning {
    /// Reads a meaning by its name, such as `subscribed_at`.
    pub fn parse(name: &str) -> Option<Self> {
        <Self as ValueEnum>::from_str(name, true).ok()
    }
}

fn column(text: &str) -> Result<(String, ColumnMeaning), String> {
    let (name, meaning) = text.rsplit_once('=').unwrap_or((text, ""));
    let meaning = ColumnMeaning::parse(meaning).ok_or(
        "must be NAME=MEANING: email, subscribed_at, status, unsubscribed, subscribed, confirmed or ignore",
    )?;
    Ok((name.to_owned(), meaning))
}

/// Whom to forget.
#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// Email addresses
    #[arg(
        value_name = "ADDRESS",
        value_parser = EmailAddress::parse,
        required_unless_present_any = ["from", "ContactFilter"],
        conflicts_with = "ContactFilter"
    )]
    pub emails: Vec<EmailAddress>,

    /// File with more addresses, one per line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "ContactFilter")]
    pub from: Option<PathBuf>,

    /// All of these, in place of addresses.
    #[command(flatten)]
    pub filter: ContactFilter,

    /// Whether to ask.
    #[command(flatten)]
    pub consent: Consent,
}
