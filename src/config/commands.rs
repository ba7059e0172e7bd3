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
    /// Show how the service is, and what happened in the last 24 hours
    Status {
        /// Show it anew every two seconds, until Ctrl-C
        #[arg(long)]
        watch: bool,

        /// How to print it.
        #[command(flatten)]
        form: OutputForm,
    },

    /// The newsletter's contacts: list, export, import, erase
    #[command(subcommand)]
    Contacts(ContactsCommand),

    /// API keys: list, check, revoke
    #[command(subcommand)]
    Keys(KeysCommand),

    /// Agents' registrations: list those revoked, revoke
    #[command(subcommand)]
    Agents(AgentsCommand),

    /// Rate limits: show, reset
    #[command(subcommand)]
    Limits(LimitsCommand),

    /// Blocked networks: list, add, remove
    #[command(subcommand)]
    Block(BlockCommand),

    /// What is to be delivered: list, show, retry, drop, hold, release
    #[command(subcommand)]
    Queue(QueueCommand),

    /// Write a backup, while the service runs or not
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

    /// Restore a backup into a data directory that has no ledger
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

    /// The ledger: verify, repair, compact
    #[command(subcommand)]
    Ledger(LedgerCommand),

    /// Make or update the tables of --store, once before the first start and with each new version
    Migrate(OutputForm),

    /// Copy a data directory to --store, while no service runs on it
    Move(Consent),

    /// The admin page
    #[command(subcommand)]
    Admin(AdminCommand),

    /// Print the handbook
    Handbook {
        /// What to print; without it, the list of topics
        #[arg(hide_possible_values = true)]
        topic: Option<Topic>,
    },

    /// Check flags and files, without starting the service
    Check(OutputForm),

    /// Check the machine and what the service depends on
    Doctor(OutputForm),

    /// Print completions for a shell
    Completions {
        /// The shell
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
    /// Print a link that opens the admin page once, within ten minutes
    ///
    /// The service has to run with --admin-listen. From another machine, open the link through an SSH
    /// tunnel: ssh -L 9090:127.0.0.1:9090 HOST
    Link(OutputForm),
}

/// A command about the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Verify every line of the ledger; a service may run on it
    Verify(OutputForm),

    /// Give up what is damaged in the ledger and keep all else, while no service runs
    Repair(Consent),

    /// Write the ledger anew without what no longer counts
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
    /// List, export, import, erase, pass on
    Contacts,
    /// What is kept of a consent, how to show it, leaving, recipes
    Consent,
    /// Every rate limit, who is counted, and how to look and reset
    Limits,
    /// See who floods the service, block, erase what they brought
    Abuse,
    /// A language model of your own, streaming
    Model,
    /// Documents, pages of your own, calls from other sites
    Site,
    /// Keys, registration, the MCP server
    Agents,
    /// PostgreSQL and Redis, what is promised, moving there
    SeveralNodes,
    /// What several nodes carry, and where that ends
    Scale,
    /// What was measured, and how
    Benchmarks,
    /// The source, and its checks
    Architecture,
    /// What each release changed
    Changes,
    /// An endpoint, an error code, a policy, a flag, a command
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
