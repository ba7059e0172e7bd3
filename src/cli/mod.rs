//! The program's tasks: serving, and the operator's commands.
//!
//! | Module | Contents |
//! |---|---|
//! | [`serve`] | the service; `certificate` and `delivering` work beside it |
//! | `client` | the other end of commands: the running service, or this process |
//! | `output`, `answers`, `outcome` | printing, and the outcomes of commands |
//! | `input`, `contact_file`, `import_columns`, `signals` | input of commands, confirmations, and interruption |
//! | `asked` | commands that ask the service |
//! | `contacts`, `store` | the longer ones of these, and those that work on files or a database |
//! | `check`, `network` | checks of flags, files and the machine |
//! | `settings` | the service's file of settings, and its user, for commands |
//!
//! Exit status: 0 done, 1 failed, 2 wrong flags or input, 3 done in part, 130 interrupted.

mod answers;
mod asked;
mod certificate;
mod check;
mod client;
mod contact_file;
mod contacts;
mod delivering;
mod import_columns;
mod input;
mod network;
mod outcome;
mod output;
pub mod serve;
mod settings;
mod signals;
mod store;

use std::path::Path;

use tokio::runtime::Runtime;

use crate::config::{
    self, Args, AskingCommand, Command, ContactsCommand, LedgerCommand, OutputForm,
};
use crate::wiring::stores::WindowsFor;

pub use self::answers::in_words;
use self::client::Client;
pub use self::outcome::{CommandError, Done};
pub use self::output::report;
pub use self::settings::run_with;
use self::signals::unless_interrupted;

/// Runs a command. `args` give the data directory, if the command needs one.
///
/// # Errors
/// [`CommandError`] when the command did nothing of what was asked.
pub fn run(command: Command, form: OutputForm, args: &Args) -> Result<Done, CommandError> {
    let runtime = Runtime::new()?;
    let ended = runtime.block_on(dispatch(command, form, args));
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    ended
}

async fn dispatch(command: Command, form: OutputForm, args: &Args) -> Result<Done, CommandError> {
    match command {
        Command::Asked(command) => ask(command, form, args).await,
        Command::Backup { file, force } => {
            store::back_up(file, force, form, ledger_dir(args)?).await
        }
        Command::Restore { file } => store::restore(&file, form, ledger_dir(args)?).await,
        Command::Ledger(LedgerCommand::Verify) => store::verify(form, ledger_dir(args)?).await,
        Command::Ledger(LedgerCommand::Repair(consent)) => {
            store::repair(consent, form, ledger_dir(args)?).await
        }
        Command::Ledger(LedgerCommand::Compact) => {
            ledger_dir(args)?;
            with_client(
                Client::open(args, WindowsFor::Nobody, form).await?,
                store::compact,
            )
            .await
        }
        Command::Migrate => store::migrate(form, args).await,
        Command::Move(consent) => store::move_to_store(consent, form, args).await,
        Command::Handbook { topic } => handbook(topic.as_deref()),
        Command::Check => check::check(args, false, form).await,
        Command::Doctor => check::check(args, true, form).await,
        Command::Completions { shell } => output::print(&config::completions(shell)),
        Command::Man => output::print(&config::man_page()?),
    }
}

/// Runs a command that asks the service.
async fn ask(command: AskingCommand, form: OutputForm, args: &Args) -> Result<Done, CommandError> {
    if let AskingCommand::Contacts(ContactsCommand::Import(import)) = &command {
        contacts::make_directory(&import.file, args).await?;
    }
    // On a stopped directory the limiter's windows are opened, too.
    let windows = match matches!(command, AskingCommand::Limits(_)) {
        true => WindowsFor::Command,
        false => WindowsFor::Nobody,
    };
    let work = async |client: &Client| asked::run(command, args, client).await;
    with_client(Client::open(args, windows, form).await?, work).await
}

/// The directory of a ledger.
fn ledger_dir(args: &Args) -> Result<&Path, CommandError> {
    args.data_dir.as_deref().ok_or_else(|| {
        CommandError::Input(
            "this command is for the ledger in a data directory; with --store use PostgreSQL's own \
             tools, such as pg_dump and pg_restore"
                .to_owned(),
        )
    })
}

/// Runs `work` with `client`, and closes that.
async fn with_client(
    client: Client,
    work: impl AsyncFnOnce(&Client) -> Result<Done, CommandError>,
) -> Result<Done, CommandError> {
    let ended = unless_interrupted(work(&client)).await;
    // After an error, too: the stores of a stopped service must be closed.
    let closed = client.close().await;
    let done = ended?;
    closed.map(|()| done)
}

const README: &str = include_str!("../../README.md");

/// Prints the handbook's file of `topic` unchanged, or the list of topics.
fn handbook(topic: Option<&str>) -> Result<Done, CommandError> {
    let found = config::TOPICS.iter().find(|(name, _)| topic == Some(name));
    if let Some((_, text)) = found {
        return output::print(text.as_bytes());
    }
    // Of README's table, such as `| [install](data/handbook/install.md) | packages |`.
    let rows = README.lines().filter_map(|line| {
        let (_, row) = line.split_once("](data/handbook/")?;
        let (name, about) = row.strip_suffix(" |")?.split_once(".md) | ")?;
        Some(format!("{name:13}  {about}\n"))
    });
    let contents = rows.collect::<String>() + "\nlanding-api handbook TOPIC prints one.\n";
    output::print(contents.as_bytes())
}
