//! `check` and `doctor`: one list of checks. `check` looks at flags and files, `doctor` also, through the network, at
//! the service and its dependencies. Neither changes anything.

use std::io;
use std::ops::Range;
use std::path::Path;

use serde_json::json;

use crate::adapters::admin_socket;
use crate::adapters::files::block_list::FileBlockList;
use crate::adapters::files::data_dir::{self, LEDGER};
use crate::adapters::listener::PublicSocket;
use crate::adapters::system::{SystemClock, user_id};
use crate::config::{Args, Invocation, OutputForm, WebhookMode};
use crate::domain::Timestamp;
use crate::http::answer::problem;
use crate::operator::operation::ServiceFlags;
use crate::operator::status::FLAGS;
use crate::ports::Clock as _;
use crate::wiring::{self, RenewedCertificate, engines};

use super::client::{Client, End};
use super::network;
use super::outcome::{CommandError, Done};
use super::output::{Checked, Findings, failed, ok, warning};
use super::settings::become_owner;

/// Renewal usually happens with a third of the lifetime left. With less than this part left, it must have
/// failed.
const SHORT_PART: u64 = 6;

/// Checks flags and files; with `goes_out` also the service and the network. The flags are those of the
/// service that runs on the data directory, unless some were given.
pub(super) async fn check(
    args: &Args,
    goes_out: bool,
    form: OutputForm,
) -> Result<Done, CommandError> {
    let mut findings = Findings::default();
    if let Some(dir) = args.data_dir.as_deref()
        && let Err(error) = become_owner(dir)
    {
        findings.add("user", warning(format!("checking as root: {error}")));
    }
    let of_service = flags_of_service(args, form).await;
    findings.add(
        "flags",
        match &of_service {
            Ok(Some(_args)) => ok("the running service's flags are valid"),
            Ok(None) => ok("this command's flags are valid"),
            Err(error) => warning(format!(
                "checking this command's flags, because the service's cannot be read: {error}"
            )),
        },
    );
    let of_service = of_service.ok().flatten();
    let args = of_service.as_deref().unwrap_or(args);
    let settings = args.settings(args.listen);
    let site = wiring::site(args, &settings, &problem::PAGES);
    let made = site.as_ref().map(|_site| "pages are valid");
    findings.add("site", made);
    if let Ok(site) = &site {
        findings.add("model", network::model(args, site, goes_out).await);
    }
    if args.engines.store.is_some() && !goes_out {
        let checked = engines::check_flags(&args.engines);
        let told = "their URLs and files are valid; doctor connects to them";
        findings.add("engines", checked.map(|()| told));
    }
    if args.speaks_tls() {
        findings.add("certificate", certificate(args));
    }
    findings.add("sign-ups", sign_ups(args));
    findings.add("mail", network::mail(args, goes_out).await);
    let mut is_running = false;
    if let Some(dir) = args.data_dir.as_deref() {
        findings.add("data directory", directory(dir).await);
        let blocks = dir.join(data_dir::BLOCKS);
        if let Err(error) = FileBlockList::open(Some(blocks)) {
            findings.add("blocks", failed(error));
        }
        let connected = admin_socket::connect(dir);
        is_running = matches!(connected, Ok(Some(_)));
        if goes_out {
            findings.add(
                "service",
                match connected {
                    Ok(Some(_stream)) => ok("is running on the data directory"),
                    Ok(None) => warning("is not running on the data directory; start it"),
                    Err(error) => failed(format!("admin.sock: {error}")),
                },
            );
        }
    }
    findings.add("address", address(args, is_running));
    if goes_out {
        network::check(args, is_running, &mut findings).await;
        findings.print(form, CommandError::Failed)
    } else {
        findings.print(form, CommandError::Input)
    }
}

/// The flags of the service that runs on the data directory, after entering its working directory; `None` if
/// no service runs there, or if more than the data directory was given.
async fn flags_of_service(args: &Args, form: OutputForm) -> Result<Option<Box<Args>>, String> {
    let Some(dir) = &args.data_dir else {
        return Ok(None);
    };
    let is_running = matches!(admin_socket::connect(dir), Ok(Some(_)));
    let is_directory = |word: &String| word.starts_with("--data-dir=");
    if !is_running || !args.given.words.iter().all(is_directory) {
        return Ok(None);
    }
    // Files from the flags would be read, and keys sent, with rights that the service does not have.
    data_dir::refuse_foreign(dir).map_err(|error| error.to_string())?;
    let service = Client {
        end: End::There(dir.clone()),
        form,
    };
    let asked = service.one(FLAGS, json!({})).await;
    let flags: ServiceFlags = asked.map_err(|error| error.to_string())?;
    let words = ["landing-api", "check"].map(str::to_owned).into_iter();
    let parsed = match Invocation::load(words.chain(flags.words)) {
        Ok(Invocation::Operate { args, .. } | Invocation::Serve(args)) => Ok(Some(args)),
        Ok(Invocation::RunWith(_)) => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    // So that relative paths resolve as they do for the service.
    let entered = std::env::set_current_dir(&flags.directory);
    entered.map_err(|error| format!("its directory: {error}"))?;
    parsed
}

/// Destination of sign-ups.
fn sign_ups(args: &Args) -> Checked {
    let place = match args.engines.store {
        Some(_) => "the database",
        None => "the data directory",
    };
    let told = "the webhook's URL and secret are valid";
    let webhook = wiring::newsletter_webhook(args);
    let goes = webhook.map(|webhook| match (webhook, args.newsletter_webhook_mode) {
        (None, _) => format!("stored in {place}"),
        (Some(_), WebhookMode::Queue) => {
            format!("stored in {place}, and the webhook is notified; {told}")
        }
        (Some(_), WebhookMode::Direct) => format!("are passed on and not stored; {told}"),
    });
    goes.into()
}

fn address(args: &Args, is_running: bool) -> Checked {
    let listen = args.listen;
    match PublicSocket::open(None, listen) {
        Ok(_socket) => ok(format!("{listen} is free")),
        Err(_in_use) if is_running => ok(format!(
            "{listen} is in use, and a service is running on the data directory"
        )),
        Err(error) => warning(format!("{error}; a service may already be running there")),
    }
}

/// Checks that the data directory can be opened.
async fn directory(path: &Path) -> Checked {
    let dir = path.display();
    if matches!(path.try_exists(), Ok(false)) {
        return ok(format!("{dir} does not exist; the first start creates it"));
    }
    if let Err(error) = data_dir::refuse_foreign(path) {
        return failed(error);
    }
    let owned = format!("{dir} belongs to user {}", user_id());
    match tokio::fs::File::open(path.join(LEDGER)).await {
        Ok(_ledger) => ok(format!("{owned}; it is readable")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ok(format!("{owned}; it is empty"))
        }
        Err(error) => failed(format!("{dir}/{LEDGER}: {error}")),
    }
}

/// The certificate of the flags.
fn certificate(args: &Args) -> Checked {
    let now = SystemClock.now();
    let own = match wiring::own_certificate(args) {
        Ok(Some(own)) => own,
        Ok(None) => return ok("none: no TLS, unless a proxy provides it"),
        Err(error) => return failed(error),
    };
    let (error, next) = match &own {
        RenewedCertificate::Read(_) => (None, String::new()),
        RenewedCertificate::Ordered(orders) => {
            let order = orders.last_order(now);
            (order.error, order.next_at.to_rfc3339())
        }
    };
    match (own.certificate().validity(), error) {
        (Some(known), None) => validity(&known, now),
        (Some(known), Some(error)) => {
            let until = known.end.to_rfc3339();
            failed(format!(
                "is valid until {until}, but the last order failed or lacks names: {error}; next order at {next}"
            ))
        }
        (None, Some(error)) => failed(format!("there is none: {error}; next order at {next}")),
        (None, None) => warning("there is none yet; the running service will order it"),
    }
}

/// Checks a certificate that fits its key.
fn validity(validity: &Range<Timestamp>, now: Timestamp) -> Checked {
    let (from, until) = (validity.start.to_rfc3339(), validity.end.to_rfc3339());
    let lifetime_ms = validity.end.ms_since(validity.start);
    if now < validity.start {
        return failed(format!("is not valid before {from}; set the clock"));
    }
    match validity.end.ms_since(now) {
        0 => failed(format!("expired at {until}; renew it")),
        left_ms if left_ms < lifetime_ms / SHORT_PART => {
            warning(format!("expires at {until}; check why it was not renewed"))
        }
        _ => ok(format!("fits its key and is valid until {until}")),
    }
}
