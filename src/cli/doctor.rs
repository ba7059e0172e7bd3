//! `doctor`: the machine, and what the service depends on.

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapters::admin_socket;
use crate::adapters::inspection::{Inspected, is_clock_synchronized};
use crate::adapters::probe::{self, Answer};
use crate::adapters::system;
use crate::config::{Args, OutputForm};
use crate::http::endpoints::DEPRECATIONS;
use crate::http::problem;
use crate::wiring;

use super::check::check_directory;
use super::findings::Findings;
use super::outcome::{CommandError, Done};

const HEALTH: &str = "/api/v1/health";
/// Less free disk is warned of.
const FREE_MIN: u64 = 256 * 1024 * 1024;
const FREE_FILES_MIN: u64 = 1000;
/// The clock may lag behind a ledger that was written a moment ago on a network's disk.
const CLOCK_LAG_MAX_MS: u64 = 2_000;
/// An address for documentation (RFC 5737), which no client has.
const FORGED: &str = "203.0.113.250";

/// Examines everything that the flags name. Changes nothing.
pub(super) async fn examine(args: &Args, form: OutputForm) -> Result<Done, CommandError> {
    let mut findings = Findings::default();
    if let Some(inspected) = check_directory(&args.data_dir, &mut findings) {
        check_disk(&inspected, &mut findings);
        check_clock(&inspected, &mut findings);
    }
    check_open_files(args, &mut findings);
    let is_running = check_running(args, &mut findings);
    check_base_url(args, is_running, &mut findings).await;
    check_model(args, &mut findings).await;
    check_webhook(args, &mut findings).await;
    findings.print(form, CommandError::Failed)
}

fn check_disk(inspected: &Inspected, findings: &mut Findings) {
    let free_mib = inspected.free_bytes / (1024 * 1024);
    let files = inspected.free_files;
    if inspected.free_bytes == 0 || files == Some(0) {
        findings.fail("disk", "full: nothing can be stored; make room");
    } else if inspected.free_bytes < FREE_MIN {
        findings.warn("disk", format!("only {free_mib} MiB are free; make room"));
    } else if files.is_some_and(|files| files < FREE_FILES_MIN) {
        findings.warn(
            "disk",
            "few inodes are free; remove files that nobody needs",
        );
    } else {
        findings.ok("disk", format!("{free_mib} MiB are free"));
    }
}

fn check_clock(inspected: &Inspected, findings: &mut Findings) {
    let behind_ms = inspected.behind_ledger_ms.unwrap_or_default();
    if behind_ms > CLOCK_LAG_MAX_MS {
        let behind_s = behind_ms / 1000;
        findings.fail(
            "clock",
            format!(
                "{behind_s} s behind the newest event of the ledger; set it, and keep it by NTP"
            ),
        );
        return;
    }
    match is_clock_synchronized() {
        Some(true) => findings.ok("clock", "synchronised by NTP"),
        Some(false) => findings.warn("clock", "not synchronised yet; see timedatectl"),
        None => findings.ok(
            "clock",
            "not behind the ledger; whether by NTP cannot be seen here",
        ),
    }
}

fn check_open_files(args: &Args, findings: &mut Findings) {
    let (limit, needed) = (
        system::open_files_max(),
        system::files_for(args.connections_max),
    );
    if limit < needed {
        findings.warn(
            "open files",
            format!(
                "the limit of this session is {limit}, --max-connections needs {needed}; raise \
                     LimitNOFILE= or ulimit -n"
            ),
        );
    } else {
        findings.ok(
            "open files",
            format!("{limit} are allowed, {needed} needed"),
        );
    }
}

fn check_running(args: &Args, findings: &mut Findings) -> bool {
    let connected = match args.data_dir.is_dir() {
        true => admin_socket::connect(&args.data_dir),
        false => Ok(None),
    };
    match connected {
        Ok(Some(_stream)) => {
            findings.ok("service", "runs on the data directory");
            return true;
        }
        Ok(None) => findings.warn("service", "none runs on the data directory; start it"),
        Err(error) => findings.fail("service", format!("admin.sock: {error}")),
    }
    false
}

/// Asks for health at the public address, and at the one listened on, and compares.
async fn check_base_url(args: &Args, is_running: bool, findings: &mut Findings) {
    const SUBJECT: &str = "base URL";
    let Some(base_url) = &args.base_url else {
        findings.warn(
            SUBJECT,
            "no --base-url: documents name the address listened on",
        );
        return;
    };
    if !is_running {
        findings.warn(SUBJECT, "not asked, because the service does not run");
        return;
    }
    let outside = match ask(base_url, None).await {
        Ok(answer) if answer.status() == 200 => answer,
        Ok(answer) => {
            let status = answer.status();
            findings.fail(
                SUBJECT,
                format!("{base_url}{HEALTH} answers {status}; see the proxy's log"),
            );
            return;
        }
        Err(error) => {
            findings.fail(
                SUBJECT,
                format!("{base_url}: {error}; check DNS, firewall and proxy"),
            );
            return;
        }
    };
    let direct = ask(&format!("http://{}", args.listen), None).await;
    let Ok(direct) = direct.as_ref() else {
        findings.warn(
            SUBJECT,
            format!(
                "answers, but {} does not; give this command the service's --listen",
                args.listen
            ),
        );
        return;
    };
    if !is_same_process(&outside, direct) {
        findings.fail(
            SUBJECT,
            format!(
                "{base_url} is answered by another process; point the proxy to {}",
                args.listen
            ),
        );
        return;
    }
    findings.ok(SUBJECT, format!("{base_url} reaches this service"));
    check_https(base_url, &outside, findings);
    check_proxy(base_url, &outside, direct, findings).await;
}

async fn ask(base: &str, header: Option<(&str, &str)>) -> Result<Answer, String> {
    let roots = wiring::roots(base).map_err(|error| error.to_string())?;
    probe::get(&format!("{base}{HEALTH}"), header, roots).await
}

/// Whether two answers come from one process. The ids of its requests begin with a number that grows by
/// one in thousands of requests.
fn is_same_process(one: &Answer, other: &Answer) -> bool {
    const REQUESTS_BETWEEN: u64 = 64;
    let start = |answer: &Answer| {
        let id = answer.header("x-request-id")?;
        let digits: String = id
            .chars()
            .filter(char::is_ascii_hexdigit)
            .take(12)
            .collect();
        u64::from_str_radix(&digits, 16).ok()
    };
    match (start(one), start(other)) {
        (Some(one), Some(other)) => one.abs_diff(other) <= REQUESTS_BETWEEN,
        _ => false,
    }
}

fn check_https(base_url: &str, outside: &Answer, findings: &mut Findings) {
    if !base_url.starts_with("https://") {
        findings.warn(
            "https",
            "the base URL is http: sign-ups and keys cross the network in the open",
        );
    } else if outside.header("strict-transport-security").is_none() {
        findings.warn("https", "browsers are not told to insist on it; see --hsts");
    } else {
        findings.ok(
            "https",
            "the certificate is valid, and browsers are told to insist on it",
        );
    }
}

/// Compares by whom requests are counted: each answer tells what is left of the client's limit.
async fn check_proxy(base_url: &str, outside: &Answer, direct: &Answer, findings: &mut Findings) {
    const SUBJECT: &str = "proxy";
    let forged = ask(base_url, Some(("X-Forwarded-For", FORGED))).await;
    let left = |answer: &Answer| answer.header("ratelimit-remaining")?.parse::<u64>().ok();
    let forged = forged.ok().and_then(|answer| left(&answer));
    let (Some(first), Some(second), Some(forged)) = (left(outside), left(direct), forged) else {
        findings.warn(SUBJECT, "not judged: answers tell no limit (default=off)");
        return;
    };
    // The same client would have less left than before.
    if forged >= first {
        findings.fail(
            SUBJECT,
            "a client that writes X-Forwarded-For itself is believed; have the proxy replace the \
             header, and name nothing but the proxy with --trusted-proxy",
        );
    } else if second + 1 == first {
        findings.warn(
            SUBJECT,
            "a request through it counts like one from the proxy itself: unless this machine's \
             requests come from the same address, name the proxy with --trusted-proxy and have it \
             send X-Forwarded-For",
        );
    } else {
        findings.ok(
            SUBJECT,
            "clients are told apart, and cannot forge their address",
        );
    }
}

async fn check_model(args: &Args, findings: &mut Findings) {
    const SUBJECT: &str = "model";
    if args.model.is_none() {
        findings.ok(SUBJECT, "none: answers come from the site's pages");
        return;
    }
    let settings = args.settings(args.listen);
    let site = wiring::site(args, &settings, &problem::pages(), DEPRECATIONS);
    let asked = Instant::now();
    let answered = match site {
        Ok(site) => wiring::ask_model(args, &site, &CancellationToken::new()).await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(answer) => {
            let (length, ms) = (answer.chars().count(), asked.elapsed().as_millis());
            findings.ok(
                SUBJECT,
                format!("answered with {length} characters in {ms} ms"),
            );
        }
        Err(error) => findings.fail(SUBJECT, error),
    }
}

async fn check_webhook(args: &Args, findings: &mut Findings) {
    const SUBJECT: &str = "webhook";
    let Some(url) = &args.newsletter_webhook else {
        findings.ok(SUBJECT, "none: sign-ups are kept here");
        return;
    };
    let url = url.as_str();
    let connected = match wiring::roots(url) {
        Ok(roots) => probe::connect(url, roots).await,
        Err(error) => Err(error.to_string()),
    };
    match connected {
        Ok(()) => findings.ok(SUBJECT, "its host accepts connections; nothing was posted"),
        Err(error) => findings.fail(SUBJECT, format!("cannot connect: {error}")),
    }
}
