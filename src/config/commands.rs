//! The operator's commands.

mod contacts;
mod form;
mod keys;
mod limits;
mod store;

use clap::Subcommand;

pub use self::contacts::{
    ContactsCommand, ExportArgs, ForgetArgs, ImportArgs, ListArgs, Period, ShowArgs,
};
pub use self::form::OutputForm;
pub use self::keys::{AgentsCommand, KeysCommand, NamedKeys};
pub use self::limits::{LimitsCommand, ResetLimits, ShowLimits, Whose};
pub use self::store::{BackupArgs, LedgerCommand, RestoreArgs};

use super::generated::Shell;
use super::given::GivenFlag;
use super::handbook::Topic;

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
    Status(StatusArgs),

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
    Backup(BackupArgs),

    /// Restore a backup into a data directory that has no ledger
    #[command(after_help = "Examples:
  landing-api restore landing.tar --data-dir ./restored

The backup is verified first. What is not as it was written is not restored.")]
    Restore(RestoreArgs),

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

/// How to show the status.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct StatusArgs {
    /// Show it anew every two seconds, until Ctrl-C
    #[arg(long)]
    pub watch: bool,

    /// How to print it.
    #[command(flatten)]
    pub form: OutputForm,
}
