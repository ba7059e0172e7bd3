//! `check`: the flags and what they name, without starting.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use crate::adapters::admin_socket;
use crate::adapters::block_list::FileBlockList;
use crate::adapters::data_dir;
use crate::adapters::inspection::{Inspected, inspect};
use crate::adapters::listener::PublicSocket;
use crate::adapters::system::user_id;
use crate::config::{Args, OutputForm};
use crate::http::answer::problem;
use crate::wiring::{self, NewsletterWebhook, engines};

use super::certificate_order;
use super::findings::{Checked, Findings, failed, ok, warning};
use super::outcome::{CommandError, Done};

/// Checks flags and files. Whoever called it got the flags parsed already.
pub(super) fn check(args: &Args, form: OutputForm) -> Result<Done, CommandError> {
    let mut findings = Findings::default();
    findings.add("flags", ok("every flag has a valid value"));
    check_files(args, &mut findings);
    let dir = args.data_dir.as_deref();
    if let Some(dir) = dir {
        check_directory(dir, &mut findings);
        if let Err(error) = FileBlockList::open(Some(data_dir::blocks(dir)), Vec::new()) {
            findings.add("blocks", failed(error.to_string()));
        }
    }
    let address = match PublicSocket::open(None, args.listen) {
        Ok(_socket) => ok(format!("{} is free", args.listen)),
        Err(_in_use) if matches!(dir.map(admin_socket::connect), Some(Ok(Some(_stream)))) => {
            let listen = args.listen;
            ok(format!(
                "{listen} is taken, and a service runs on the data directory"
            ))
        }
        Err(error) => warning(format!("{error}; a service may be running there already")),
    };
    findings.add("address", address);
    findings.print(form, CommandError::Input)
}

/// The site, and the files with secrets.
fn check_files(args: &Args, findings: &mut Findings) {
    let interrupt = CancellationToken::new();
    let settings = args.settings(args.listen);
    match wiring::site(args, &settings, &problem::pages()) {
        Ok(site) => {
            findings.add("site", ok("every document can be made"));
            let model = match wiring::model_client(args, &site, &interrupt) {
                Ok(_client) if args.model.is_none() => {
                    ok("none: answers come from the site's pages")
                }
                Ok(_client) => ok("its address and files can be used"),
                Err(error) => failed(error),
            };
            findings.add("model", model);
        }
        Err(error) => findings.add("site", failed(error)),
    }
    if args.engines.store.is_some() {
        let engines = match engines::check_flags(&args.engines) {
            Ok(()) => ok("their addresses and files can be used; doctor tries them"),
            Err(error) => failed(error.to_string()),
        };
        findings.add("engines", engines);
    }
    if args.speaks_tls() {
        findings.add("certificate", certificate_order::judge(args));
    }
    let place = match args.engines.store {
        Some(_) => "the database",
        None => "the data directory",
    };
    let told = "the webhook's address and secret can be used";
    let sign_ups = match wiring::newsletter_webhook(args, &interrupt) {
        Ok(NewsletterWebhook::None) => ok(format!("are kept in {place}")),
        Ok(NewsletterWebhook::Queued(_)) => ok(format!("are kept in {place}, and told; {told}")),
        Ok(NewsletterWebhook::Direct(_)) => ok(format!("are passed on and not kept; {told}")),
        Err(error) => failed(error),
    };
    findings.add("sign-ups", sign_ups);
    let mail = match wiring::mail_sender(args) {
        Ok(None) => ok("none is sent"),
        Ok(Some(_sender)) => ok("its account and files can be used; doctor tries them"),
        Err(error) => failed(error),
    };
    findings.add("mail", mail);
}

/// Whether the data directory can be opened, and by whom.
pub(super) fn check_directory(path: &Path, findings: &mut Findings) -> Option<Inspected> {
    let dir = path.display();
    let inspected = inspect(path);
    let found = match &inspected {
        Ok(Some(inspected)) => directory(path, inspected),
        Ok(None) => ok(format!("{dir} does not exist; the first start makes it")),
        Err(error) => failed(format!(
            "{dir}: {error}; run this as the service's user, or as root"
        )),
    };
    findings.add("data directory", found);
    inspected.ok().flatten()
}

fn directory(path: &Path, inspected: &Inspected) -> Checked {
    let dir = path.display();
    let Inspected { owner, mode, .. } = inspected;
    let user = user_id();
    if let Some(foreign) = &inspected.foreign {
        let foreign = foreign.display();
        return failed(format!(
            "{foreign} is of another user; chown -R {owner} {dir}"
        ));
    }
    if user != 0 && *owner != user {
        return failed(format!(
            "{dir} belongs to user {owner}, and this is user {user}; run as {owner}"
        ));
    }
    if mode & 0o077 != 0 {
        return warning(format!(
            "{dir} is open to other users (mode {mode:o}); chmod 700 {dir}"
        ));
    }
    let ledger = match inspected.behind_ledger_ms {
        Some(_) => "it can be read",
        None => "it is empty",
    };
    ok(format!("{dir} is private to user {owner}; {ledger}"))
}
