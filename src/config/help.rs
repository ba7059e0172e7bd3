//! How the help is laid out.

use clap::Command;

const AFTER: &str = "Examples:
  landing-api --data-dir ./var                       serve
  landing-api status --data-dir ./var                look at the service
  landing-api contacts export -o contacts.csv --data-dir ./var
  landing-api handbook operate                       read on

Commands find the data directory by --data-dir or LANDING_DATA_DIR. They ask the
service that runs on it, or open it themselves if none does. With --store and
--secret-file they work on the database that several nodes share.

Exit status:
  0  done
  1  it could not be done
  2  a flag or an input on the command line is wrong
  3  done in part: bad rows or unknown names, which the output tells
  130  interrupted";

/// The widest help, in characters.
const WIDTH: usize = 80;

/// Wraps the help and adds what is about all of it.
pub(super) fn lay_out(command: Command) -> Command {
    command.max_term_width(WIDTH).after_help(AFTER)
}
