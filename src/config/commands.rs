//! The operator's commands.

mod contacts;
mod form;
mod keys;
mod limits;

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

pub use self::contacts::{ContactsCommand, ExportArgs, ForgetArgs, ImportArgs, Period};
pub use self::form::OutputForm;
pub use self::keys::{AgentsCommand, KeysCommand, NamedKeys};
pub use self::limits::{LimitsCommand, ResetLimits, Whose};

use super::generated::Shell;
use super::given::GivenFlag;

/// A command of the operator, who may run it while the service runs on the data directory or while it
/// does not.
// A variant's doc comment is the command's help.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Show how the service is, and what happened in the last 24 hours
    #[command(after_help = "Examples:
  landing-api status
  landing-api status --watch
  landing-api status --json | jq .service.requests")]
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

    /// Write a backup, while the service runs or not
    #[command(after_help = "Examples:
  landing-api backup /srv/backups/landing-$(date +%F).tar
  landing-api backup - | ssh elsewhere 'cat > landing.tar'

It holds the addresses and the secret: keep it private.")]
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
    #[command(after_help = "Examples:
  landing-api restore landing.tar --data-dir ./restored

The backup is verified first. What is not as it was written is not restored.")]
    Restore {
        /// File to read; - is standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// How to print the result.
        #[command(flatten)]
        form: OutputForm,
    },

    /// The ledger: verify, repair, compact
    #[command(subcommand)]
    Ledger(LedgerCommand),

    /// Make or update the tables of --store, once before the first start and with each new version
    #[command(after_help = "Examples:
  landing-api migrate --store postgres://landing@db.example/landing --secret-file secret

Nodes of the version before may go on meanwhile. It also records which secret the
database belongs to: run it again before a secret is removed from the file.")]
    Migrate(OutputForm),

    /// Copy a data directory to --store, while no service runs on it
    #[command(after_help = "Examples:
  landing-api move --data-dir ./var --store postgres://landing@db.example/landing \\
    --secret-file ./var/secret

Contacts, keys, revoked agents, erased addresses and hourly counts. With the same
secret, keys, tokens and cookies stay good. The data directory is left as it is.
The tables have to be empty; they are made if they are missing.")]
    Move(OutputForm),

    /// The admin page
    #[command(subcommand)]
    Admin(AdminCommand),

    /// Print the handbook
    #[command(after_help = "Examples:
  landing-api handbook
  landing-api handbook operate")]
    Handbook {
        /// What to print; without it, the list of topics
        #[arg(hide_possible_values = true)]
        topic: Option<Topic>,
    },

    /// Check flags and files, without starting the service
    #[command(after_help = "Examples:
  landing-api check --data-dir ./var --limit newsletter=20/15m")]
    Check(OutputForm),

    /// Check the machine and what the service depends on
    #[command(after_help = "Examples:
  landing-api doctor --data-dir ./var --base-url https://www.example.com")]
    Doctor(OutputForm),

    /// Print a systemd service and its socket for these flags
    #[command(after_help = "Examples:
  landing-api systemd --base-url https://www.example.com")]
    Systemd {
        /// Those of the command line.
        #[arg(skip)]
        given: Vec<GivenFlag>,
    },

    /// Print completions for a shell
    #[command(after_help = "Examples:
  landing-api completions bash")]
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print the man page
    #[command(after_help = "Examples:
  landing-api man | man -l -")]
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
        matches!(
            self,
            Self::Check(_) | Self::Doctor(_) | Self::Systemd { .. }
        )
    }
}

/// A command about the admin page.
#[derive(Clone, Debug, Subcommand)]
pub enum AdminCommand {
    /// Print a link that opens the admin page once, within ten minutes
    ///
    /// The service has to run with --admin-listen. From another machine, open the link through an SSH
    /// tunnel: ssh -L 9090:127.0.0.1:9090 HOST
    #[command(after_help = "Examples:
  landing-api admin link")]
    Link(OutputForm),
}

/// A command about the ledger.
#[derive(Clone, Debug, Subcommand)]
pub enum LedgerCommand {
    /// Verify every line of the ledger; a service may run on it
    #[command(after_help = "Examples:
  landing-api ledger verify

Exit status 1: it is damaged. The error says what to do.")]
    Verify(OutputForm),

    /// Give up what is damaged in the ledger and keep all else, while no service runs
    #[command(after_help = "Examples:
  landing-api ledger repair

The file as it was is kept as ledger.damaged.1, or with a higher number.")]
    Repair(OutputForm),

    /// Write the ledger anew without what no longer counts
    #[command(after_help = "Examples:
  landing-api ledger compact

The service does this by itself when it is worth it.")]
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
    /// Every rate limit, who is counted, and how to look and reset
    Limits,
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
