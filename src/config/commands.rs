//! The operator's commands.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;
use serde_json::Value;

use super::values;
use crate::domain::PolicyName;

/// A command of the operator, who may run it while the service runs on the data directory or while it
/// does not.
// A variant's doc comment is the command's help.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// A command over the operations of the service.
    #[command(flatten)]
    Asked(AskingCommand),

    /// Write a backup, with the service running or stopped
    Backup {
        /// File to write; - is standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Replace FILE if it exists
        #[arg(long)]
        force: bool,
    },

    /// Restore a backup into a new data directory
    Restore {
        /// File to read; - is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },

    /// Verify, repair and compact the ledger
    #[command(subcommand)]
    Ledger(LedgerCommand),

    /// Create the tables of --store
    Migrate,

    /// Copy a data directory to --store; the service must be stopped
    Move(Consent),

    /// Print the handbook
    Handbook {
        /// Topic to print [default: list the topics]
        #[arg(
            hide_possible_values = true,
            value_parser = PossibleValuesParser::new(TOPICS.map(|(name, _)| name))
        )]
        topic: Option<String>,
    },

    /// Check flags and files without starting the service
    Check,

    /// Check the machine and everything the service depends on
    Doctor,

    /// Print shell completions
    Completions {
        /// Shell to complete commands for
        shell: Shell,
    },

    /// Print the man page
    Man,
}

impl Command {
    /// False if it works without a data directory or database.
    pub fn needs_data_dir(&self) -> bool {
        !matches!(
            self,
            Self::Handbook { .. } | Self::Completions { .. } | Self::Man
        )
    }

    /// True if it is about the service's flags, and so takes all of them.
    pub fn takes_flags(&self) -> bool {
        matches!(self, Self::Check | Self::Doctor)
    }
}

/// A command that asks the service, or this process if no service runs. Its words are the name of an operation, and its
/// fields the parameters.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "noun", rename_all = "kebab-case")]
pub enum AskingCommand {
    /// Show the state of the service and its last 24 hours
    Status,

    /// List, export, import and erase contacts
    #[command(subcommand)]
    Contacts(ContactsCommand),

    /// List, check and revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),

    /// Revoke agent registrations and list the revoked ones
    #[command(subcommand)]
    Agents(AgentsCommand),

    /// Show and reset rate limits
    #[command(subcommand)]
    Limits(LimitsCommand),

    /// List, add and remove blocked networks
    #[command(subcommand)]
    Block(BlockCommand),

    /// List the questions that the assistant could not answer
    #[command(subcommand)]
    Questions(QuestionsCommand),

    /// List, show, retry and drop deliveries; pause and resume them all
    #[command(subcommand)]
    Queue(QueueCommand),

    /// Test the mail account, and lift the suppression of an address
    #[command(subcommand)]
    Mail(MailCommand),

    /// Open the admin page
    #[command(subcommand)]
    Admin(AdminCommand),
}

impl AskingCommand {
    /// The name of its operation, such as `queue drop`, and the parameters.
    pub fn operation(&self) -> (String, Value) {
        let params = serde_json::to_value(self).unwrap_or_default();
        let words = ["noun", "verb"].into_iter();
        let words = words.filter_map(|tag| params.get(tag)?.as_str());
        (words.collect::<Vec<_>>().join(" "), params)
    }

    /// True if the operation answers rows, and not one value.
    pub const fn has_rows(&self) -> bool {
        matches!(
            self,
            Self::Contacts(ContactsCommand::List(_))
                | Self::Keys(KeysCommand::List)
                | Self::Agents(AgentsCommand::ListRevoked)
                | Self::Block(BlockCommand::List)
                | Self::Questions(QuestionsCommand::List)
                | Self::Queue(QueueCommand::List)
        )
    }
}

/// A command about the admin page.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum AdminCommand {
    /// Print a login link for the admin page, valid once, for ten minutes
    ///
    /// The service must run with --admin-listen. From another machine, open the link through an SSH
    /// tunnel: ssh -L 9090:127.0.0.1:9090 HOST
    Link,
}

/// A command about the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Verify every line of the ledger, with the service running or stopped
    Verify,

    /// Discard damaged lines of the ledger and keep the rest; the service must be stopped
    Repair(Consent),

    /// Rewrite the ledger without superseded lines
    Compact,
}

// The output format. A doc comment would become the description of every command that takes it.
#[derive(Clone, Copy, Debug, Args)]
pub struct OutputForm {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// Confirmation of a destructive command.
#[derive(Clone, Copy, Debug, Args, Serialize)]
pub struct Consent {
    /// Skip the confirmation prompt; required without a terminal
    #[arg(short, long)]
    pub yes: bool,
}

/// A command about contacts.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum ContactsCommand {
    /// List contacts in the order they were added
    List(ContactFilter),

    /// Count contacts
    Count(ContactFilter),

    /// Export contacts to a file, for a spreadsheet or another service
    ///
    /// The file is CSV, or JSON Lines with --json or if its name ends in .jsonl
    Export(ExportArgs),

    /// Import contacts from a file
    Import(ImportArgs),

    /// Show the data stored about an address, with the proof of consent
    Show {
        /// Email address
        #[arg(value_name = "ADDRESS", value_parser = values::email)]
        email: String,
    },

    /// Permanently erase addresses from every file
    Forget(ForgetArgs),
}

/// Which contacts.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize)]
pub struct ContactFilter {
    /// Only contacts that signed up at this time or later: RFC 3339, or a date (UTC)
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub since: Option<String>,

    /// Only contacts that signed up before this time
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub until: Option<String>,

    /// Only contacts that this client signed up, as one of the last four: its name in the log, its hash in
    /// `limits show`, or its IP address
    #[arg(long, value_name = "NAME")]
    pub signed_by: Option<String>,

    /// Only contacts with this status [default: all; for export, subscribed]
    #[arg(long, value_name = "STATUS", value_parser = PossibleValuesParser::new(["pending", "subscribed", "unsubscribed", "all"]))]
    pub status: Option<String>,
}

/// Contacts to export, and their file.
#[derive(Clone, Debug, Args, Serialize)]
pub struct ExportArgs {
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

/// File to import.
#[derive(Clone, Debug, Args, Serialize)]
pub struct ImportArgs {
    /// CSV file to read; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Meaning of a column with an unknown name: unsubscribed (a yes or a time opts out), subscribed or confirmed
    /// (a yes or a time opts in), status, email, `subscribed_at` or ignore; repeatable
    #[arg(long = "column", value_name = "NAME=MEANING", value_parser = column)]
    pub columns: Vec<(String, ColumnMeaning)>,

    /// Also import addresses that were erased
    #[arg(long)]
    pub unforget: bool,
}

/// The meaning of a column of an imported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
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
#[derive(Clone, Debug, Args, Serialize)]
pub struct ForgetArgs {
    /// Email addresses
    #[arg(
        value_name = "ADDRESS",
        value_parser = values::email,
        required_unless_present_any = ["from", "ContactFilter"],
        conflicts_with = "ContactFilter"
    )]
    pub emails: Vec<String>,

    /// File with more addresses, one per line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "ContactFilter")]
    pub from: Option<PathBuf>,

    /// All of these, in place of addresses.
    #[command(flatten)]
    pub filter: ContactFilter,

    /// Confirmation.
    #[command(flatten)]
    pub consent: Consent,
}

/// A command about API keys.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum KeysCommand {
    /// List keys in the order they were issued
    List,

    /// Permanently revoke keys
    Revoke {
        /// Which ones.
        #[command(flatten)]
        named: NamedKeys,

        /// Confirmation.
        #[command(flatten)]
        consent: Consent,
    },

    /// Check whether keys are accepted
    Check(NamedKeys),
}

/// Which keys.
#[derive(Clone, Debug, Args, Serialize)]
pub struct NamedKeys {
    /// ID of a key, from `keys list`, or the whole key; - reads them from standard input, one per line,
    /// which keeps them out of the shell history
    #[arg(value_name = "KEY", required = true)]
    pub names: Vec<String>,
}

/// A command about agents.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum AgentsCommand {
    /// List revoked registrations in the order they were revoked
    ListRevoked,

    /// Permanently revoke a registration and all its tokens
    Revoke {
        /// Client ID of the registration
        #[arg(value_name = "CLIENT_ID")]
        client_id: String,

        /// Confirmation.
        #[command(flatten)]
        consent: Consent,
    },
}

/// A command about rate limits.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum LimitsCommand {
    /// Show all limits and their heaviest clients, or what is left for one client
    Show {
        /// Number of clients to show for each limit
        #[arg(long, value_name = "COUNT", default_value_t = 5)]
        top: u8,

        /// Who is asked about.
        #[command(flatten)]
        #[serde(flatten)]
        whose: Whose,
    },

    /// Reset counters, so that refused clients are admitted again
    #[command(override_usage = "landing-api limits reset [OPTIONS]")]
    Reset(ResetLimits),
}

/// Whose limits.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Whose {
    /// IP address of a client
    #[arg(long, value_name = "ADDRESS", value_parser = values::ip)]
    pub ip: Option<IpAddr>,

    /// API key, token or client ID; - reads it from standard input
    #[arg(long, value_name = "KEY", conflicts_with = "ip")]
    pub key: Option<String>,

    /// Email address: with --ip, the limit on that pair; alone, the limits on the address over all networks
    #[arg(long, value_name = "ADDRESS", value_parser = values::email, conflicts_with = "key")]
    pub email: Option<String>,
}

/// Windows to reset.
#[derive(Clone, Debug, Args, Serialize)]
#[command(group = ArgGroup::new("what")
    .args(["policy", "ip", "email", "key", "client", "all"])
    .multiple(true)
    .required(true))]
pub struct ResetLimits {
    /// Only this limit; without --ip, --email or --key, for everyone
    #[arg(
        long,
        value_name = "NAME",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(PolicyName::ALL.map(PolicyName::as_str))
    )]
    pub policy: Option<String>,

    /// Who is forgiven.
    #[command(flatten)]
    #[serde(flatten)]
    pub whose: Whose,

    /// Hash of a client, from `limits show`
    #[arg(long, value_name = "HASH", conflicts_with_all = ["policy", "ip", "email", "key"])]
    pub client: Option<String>,

    /// Every limit, for everyone
    #[arg(long, conflicts_with_all = ["policy", "ip", "email", "key", "client"])]
    pub all: bool,

    /// Confirmation.
    #[command(flatten)]
    pub consent: Consent,
}

/// A command about blocked networks.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum BlockCommand {
    /// List blocked networks
    List,

    /// Block all requests from a network
    Add(NamedNetwork),

    /// Unblock a network
    Remove(NamedNetwork),
}

/// Which network.
#[derive(Clone, Debug, Args, Serialize)]
pub struct NamedNetwork {
    /// Network such as 192.0.2.0/24, or an address
    #[arg(value_name = "CIDR", value_parser = values::blocked)]
    pub network: String,
}

/// A command about questions.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum QuestionsCommand {
    /// List the questions that --keep-questions has stored, oldest first
    List,
}

/// A command about deliveries.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum QueueCommand {
    /// List pending and failed deliveries
    List,

    /// Show a delivery and its content
    Show {
        /// ID of a delivery, from `queue list`
        #[arg(value_name = "ID")]
        id: String,
    },

    /// Retry a delivery now, and start its attempts over
    Retry {
        /// ID of a delivery, from `queue list`
        #[arg(value_name = "ID", required_unless_present = "all")]
        id: Option<String>,

        /// All failed deliveries and all those waiting for their next attempt
        #[arg(long, conflicts_with = "id")]
        all: bool,
    },

    /// Discard a delivery without sending it
    Drop {
        /// ID of a delivery, from `queue list`
        #[arg(value_name = "ID")]
        id: String,

        /// Confirmation.
        #[command(flatten)]
        consent: Consent,
    },

    /// Pause deliveries until `queue release`
    Hold,

    /// Resume deliveries
    Release,
}

/// A command about email.
#[derive(Clone, Debug, Subcommand, Serialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub enum MailCommand {
    /// Send a test email to your own address
    Test(Recipient),

    /// Lift the suppression of an address whose owner wants email again
    Allow(Recipient),
}

/// A recipient of email.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Recipient {
    /// Email address
    #[arg(value_name = "ADDRESS", value_parser = values::email)]
    pub address: String,
}

macro_rules! topics {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../data/handbook/", $name, ".md")))),+]
    };
}

/// The handbook's topics, and their texts.
#[rustfmt::skip]
pub const TOPICS: [(&str, &str); 15] = topics!(
    "install", "operate", "contacts", "consent", "limits", "abuse", "model", "site", "agents",
    "several-nodes", "scale", "benchmarks", "architecture", "changes", "how-to-add"
);
