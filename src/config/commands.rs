//! The operator's commands.

mod block;
mod contacts;
mod form;
mod keys;
mod limits;
mod mail;
mod queue;

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

pub use self::block::{BlockCommand, NamedNetwork};
pub use self::contacts::{
    ColumnMeaning, ContactFilter, ContactOrder, ContactsCommand, ExportArgs, ForgetArgs, ImportArgs,
};
pub use self::form::{Consent, OutputForm};
pub use self::keys::{AgentsCommand, KeysCommand, NamedKeys};
pub use self::limits::{LimitsCommand, ResetLimits, Whose};
pub use self::mail::{MailCommand, Recipient};
pub use self::queue::{NamedDelivery, QueueCommand};

use super::generated::Shell;

/// A command of the operator, who may run it while the service runs on the data directory or while it
/// does not.
// A variant's doc comment is the command's help.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Show the state of the service and its last 24 hours
    Status {
        /// Refresh every two seconds, until Ctrl-C
        #[arg(long)]
        watch: bool,

        /// How to print it.
        #[command(flatten)]
        form: OutputForm,
    },

    /// List, export, import and erase contacts
    #[command(subcommand)]
    Contacts(ContactsCommand),

    /// List, check and revoke API keys
    #[command(subcommand)]
    Keys(KeysCommand),

    /// Revoke registrations of agents and list the revoked ones
    #[command(subcommand)]
    Agents(AgentsCommand),

    /// Show and reset rate limits
    #[command(subcommand)]
    Limits(LimitsCommand),

    /// List, add and remove blocked networks
    #[command(subcommand)]
    Block(BlockCommand),

    /// List, show, retry and drop deliveries; pause and resume them all
    #[command(subcommand)]
    Queue(QueueCommand),

    /// Write a backup, with the service running or stopped
    Backup {
        /// File to write; - is standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Replace FILE if it exists
        #[arg(long)]
        force: bool,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },

    /// Restore a backup into a data directory without a ledger
    Restore {
        /// File to read; - is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Whether to ask before it replaces a file.
        #[command(flatten)]
        consent: Consent,
    },

    /// Email: test the account, lift the suppression of an address
    #[command(subcommand)]
    Mail(MailCommand),

    /// Verify, repair and compact the ledger
    #[command(subcommand)]
    Ledger(LedgerCommand),

    /// Create or update the tables of --store, before the first start and with each new version
    Migrate(OutputForm),

    /// Copy a data directory to --store; the service must be stopped
    Move(Consent),

    /// Open the admin page
    #[command(subcommand)]
    Admin(AdminCommand),

    /// Print the handbook
    Handbook {
        /// Topic to print [default: list the topics]
        #[arg(hide_possible_values = true)]
        topic: Option<Topic>,
    },

    /// Check flags and files without starting the service
    Check(OutputForm),

    /// Check the machine and everything the service depends on
    Doctor(OutputForm),

    /// Print shell completions
    Completions {
        /// Shell to complete commands for
        shell: Shell,
    },

    /// Print the man page
    Man,
}

impl Command {
    /// Whether it works on a data directory.
    pub fn needs_data_dir(&self) -> bool {
        !matches!(
            self,
            Self::Handbook { .. } | Self::Completions { .. } | Self::Man
        )
    }

    /// Whether it takes every flag of the service, because it is about them.
    pub fn takes_flags(&self) -> bool {
        matches!(self, Self::Check(_) | Self::Doctor(_))
    }
}

/// A command about the admin page.
#[derive(Clone, Debug, Subcommand)]
pub enum AdminCommand {
    /// Print a login link for the admin page, valid once, for ten minutes
    ///
    /// The service must run with --admin-listen. From another machine, open the link through an SSH
    /// tunnel: ssh -L 9090:127.0.0.1:9090 HOST
    Link(OutputForm),
}

/// A command about the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Verify every line of the ledger, with the service running or stopped
    Verify(OutputForm),

    /// Discard damaged lines of the ledger and keep the rest; the service must be stopped
    Repair(Consent),

    /// Rewrite the ledger without superseded lines
    Compact(OutputForm),
}

/// A file of the handbook.
// A variant's doc comment is its line in the list of topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topic {
    /// Packages, systemd, containers, proxies, the first contact
    Install,
    /// Flags, status, log, metrics, admin page, backup, upgrades
    Operate,
    /// List, export, import and erase contacts; webhooks
    Contacts,
    /// Proof of consent, double opt-in, unsubscribing, recipes
    Consent,
    /// Every rate limit, who it counts, how to show and reset it
    Limits,
    /// See who floods the service, block them, erase their sign-ups
    Abuse,
    /// Your own language model, streaming
    Model,
    /// Documents, your own pages, forms and chat on other sites
    Site,
    /// Keys, registration, the MCP server
    Agents,
    /// PostgreSQL and Redis, guarantees, moving there
    SeveralNodes,
    /// The capacity of several nodes, and its end
    Scale,
    /// Measurements, and the commands that repeat them
    Benchmarks,
    /// The source and its checks
    Architecture,
    /// Changes in each release
    Changes,
    /// Recipes: an endpoint, an error code, a policy, a flag, a command
    HowToAdd,
}

impl Topic {
    /// Every topic's name, and what it is about.
    pub fn list() -> impl Iterator<Item = (String, String)> {
        let values = Self::value_variants().iter();
        values
            .filter_map(ValueEnum::to_possible_value)
            .map(|value| {
                let about = value.get_help().map(ToString::to_string);
                (value.get_name().to_owned(), about.unwrap_or_default())
            })
    }
}
