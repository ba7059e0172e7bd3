//! `check`: the flags and what they name, without starting.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::adapters::inspection::{Inspected, inspect};
use crate::adapters::listener::PublicSocket;
use crate::adapters::system::user_id;
use crate::config::{Args, OutputForm};
use crate::http::endpoints::DEPRECATIONS;
use crate::http::problem;
use crate::wiring;

use super::findings::Findings;
use super::outcome::{CommandError, Done};

/// Checks flags and files. Whoever called it got the flags parsed already.
pub(super) fn check(args: &Args, form: OutputForm) -> Result<Done, CommandError> {
    let mut findings = Findings::default();
    findings.ok("flags", "every flag has a valid value");
    check_files(args, &mut findings);
    check_directory(&args.data_dir, &mut findings);
    match PublicSocket::open(None, args.listen) {
        Ok(_socket) => findings.ok("address", format!("{} is free", args.listen)),
        Err(error) => findings.warn(
            "address",
            format!("{error}; a service may be running there already"),
        ),
    }
    findings.print(form, CommandError::Input)
}

/// The site, and the files with secrets.
fn check_files(args: &Args, findings: &mut Findings) {
    let interrupt = CancellationToken::new();
    let settings = args.settings(args.listen);
    match wiring::site(args, &settings, &problem::pages(), DEPRECATIONS) {
        Ok(site) => {
            findings.ok("site", "every document can be made");
            match wiring::model_client(args, &site, &interrupt) {
                Ok(_client) if args.model.is_none() => {
                    findings.ok("model", "none: answers come from the site's pages");
                }
                Ok(_client) => findings.ok("model", "its address and files can be used"),
                Err(error) => findings.fail("model", error),
            }
        }
        Err(error) => findings.fail("site", error),
    }
    match wiring::notifier(args, &interrupt) {
        Ok(None) => findings.ok("sign-ups", "are kept in the data directory"),
        Ok(Some(_notifier)) => {
            findings.ok(
                "sign-ups",
                "are passed on; the webhook's address and secret can be used",
            );
        }
        Err(error) => findings.fail("sign-ups", error),
    }
}

/// Whether the data directory can be opened, and by whom.
pub(super) fn check_directory(path: &Path, findings: &mut Findings) -> Option<Inspected> {
    const SUBJECT: &str = "data directory";
    let dir = path.display();
    let inspected = match inspect(path) {
        Ok(Some(inspected)) => inspected,
        Ok(None) => {
            findings.ok(
                SUBJECT,
                format!("{dir} does not exist; the first start makes it"),
            );
            return None;
        }
        Err(error) => {
            findings.fail(
                SUBJECT,
                format!("{dir}: {error}; run this as the service's user, or as root"),
            );
            return None;
        }
    };
    let (owner, user) = (inspected.owner, user_id());
    if let Some(foreign) = &inspected.foreign {
        findings.fail(
            SUBJECT,
            format!(
                "{} is of another user; chown -R {owner} {dir}",
                foreign.display()
            ),
        );
    } else if user != 0 && owner != user {
        findings.fail(
            SUBJECT,
            format!("{dir} belongs to user {owner}, and this is user {user}; run as {owner}"),
        );
    } else if inspected.mode & 0o077 != 0 {
        findings.warn(
            SUBJECT,
            format!(
                "{dir} is open to other users (mode {:o}); chmod 700 {dir}",
                inspected.mode
            ),
        );
    } else {
        let ledger = match inspected.behind_ledger_ms {
            Some(_) => "it can be read",
            None => "it is empty",
        };
        findings.ok(
            SUBJECT,
            format!("{dir} is private to user {owner}; {ledger}"),
        );
    }
    Some(inspected)
}
