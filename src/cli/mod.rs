//! The program's tasks: serving, and the operator's commands.
//!
//! | Module | Contents |
//! |---|---|
//! | [`serve`] | the service |
//! | `client` | the other end of commands: the running service, or this process |
//! | `output`, `list`, `outcome` | printing, and the outcomes of commands |
//! | `source`, `contact_file`, `import_columns`, `consent`, `signals` | input of commands, confirmations, and interruption |
//! | `admin`, `block`, `contacts`, `keys`, `limits`, `mail`, `migration`, `status`, `store` | a file for each group of commands |
//! | `check`, `network`, `findings` | checks of flags, files and the machine |
//! | `handbook` | the handbook, which is part of the program |
//!
//! Exit status: 0 done, 1 failed, 2 wrong flags or input, 3 done in part, 130 interrupted.

mod admin;
mod block;
mod certificate;
mod certificate_order;
mod check;
mod client;
mod consent;
mod contact_file;
mod contacts;
mod delivering;
mod findings;
mod handbook;
mod import_columns;
mod keys;
mod limits;
mod list;
mod mail;
mod migration;
mod network;
mod outcome;
mod output;
mod queue;
pub mod serve;
mod signals;
mod source;
mod status;
mod store;

use std::path::Path;

use crate::config::{self, AdminCommand, Args, Command, ContactsCommand, LedgerCommand};

use self::client::Client;
pub use self::outcome::{CommandError, Done};
pub use self::output::report;
use self::signals::unless_interrupted;

/// Runs a command. `args` give the data directory, if the command needs one.
///
/// # Errors
/// [`CommandError`] when the command did nothing of what was asked.
pub async fn run(command: Command, args: Option<&Args>) -> Result<Done, CommandError> {
    let dir = args.and_then(|args| args.data_dir.as_deref());
    match command {
        Command::Status { watch, form } => {
            let args = known(args)?;
            let work = async |client: &Client| status::run(watch, form, args, client).await;
            match with_client(Some(args), work).await {
                // A signal is its normal end.
                Err(CommandError::Interrupted) if watch => Ok(Done::Whole),
                ended => ended,
            }
        }
        Command::Backup { file, force, form } => {
            store::back_up(file, force, form, ledger_dir(dir)?).await
        }
        Command::Restore { file, consent } => {
            store::restore(&file, consent, ledger_dir(dir)?).await
        }
        Command::Ledger(LedgerCommand::Verify(form)) => store::verify(form, ledger_dir(dir)?).await,
        Command::Ledger(LedgerCommand::Repair(consent)) => {
            store::repair(consent, ledger_dir(dir)?).await
        }
        Command::Ledger(LedgerCommand::Compact(form)) => {
            with_client(args, async |client| store::compact(form, client).await).await
        }
        Command::Contacts(command) => {
            if let ContactsCommand::Import(import) = &command {
                contacts::make_directory(&import.file, known(args)?).await?;
            }
            with_client(args, async |client| contacts::run(command, client).await).await
        }
        Command::Keys(command) => {
            with_client(args, async |client| keys::run(command, client).await).await
        }
        Command::Agents(command) => {
            with_client(args, async |client| keys::run_agents(command, client).await).await
        }
        Command::Limits(command) => {
            // On a stopped directory the limiter's windows are opened, too.
            let args = known(args)?;
            let client = Client::open(args, true).await?;
            let are_shared = args.engines.limits.is_some();
            let work = async |client: &Client| limits::run(command, are_shared, client).await;
            work_with(client, work).await
        }
        Command::Block(command) => {
            with_client(args, async |client| block::run(command, client).await).await
        }
        Command::Queue(command) => {
            with_client(args, async |client| queue::run(command, client).await).await
        }
        Command::Mail(command) => {
            with_client(args, async |client| mail::run(command, client).await).await
        }
        Command::Admin(AdminCommand::Link(form)) => {
            with_client(args, async |client| admin::link(form, client).await).await
        }
        Command::Migrate(form) => migration::migrate(form, known(args)?).await,
        Command::Move(consent) => migration::move_to_store(consent, known(args)?).await,
        Command::Handbook { topic } => handbook::print(topic),
        Command::Check(form) => check::check(known(args)?, false, form).await,
        Command::Doctor(form) => check::check(known(args)?, true, form).await,
        Command::Completions { shell } => output::print(&config::completions(shell)),
        Command::Man => output::print(&config::man_page()?),
    }
}

fn known(args: Option<&Args>) -> Result<&Args, CommandError> {
    args.ok_or_else(|| CommandError::Input("the command needs a --data-dir".to_owned()))
}

/// The directory of a ledger.
fn ledger_dir(dir: Option<&Path>) -> Result<&Path, CommandError> {
    dir.ok_or_else(|| {
        CommandError::Input(
            "this command is for the ledger in a data directory; with --store use PostgreSQL's own \
             tools, such as pg_dump and pg_restore"
                .to_owned(),
        )
    })
}

/// Runs `work` with the other end of commands.
async fn with_client(
    args: Option<&Args>,
    work: impl AsyncFnOnce(&Client) -> Result<Done, CommandError>,
) -> Result<Done, CommandError> {
    work_with(Client::open(known(args)?, false).await?, work).await
}

/// Runs `work` with `client`, and closes that.
async fn work_with(
    client: Client,
    work: impl AsyncFnOnce(&Client) -> Result<Done, CommandError>,
) -> Result<Done, CommandError> {
    let ended = unless_interrupted(work(&client)).await;
    // After an error, too: the stores of a stopped service must be closed.
    let closed = client.close().await;
    let done = ended?;
    closed.map(|()| done)
}
