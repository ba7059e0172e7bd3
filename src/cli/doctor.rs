//! `doctor`: the machine, and what the service depends on.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapters::acme::AcmeCertificate;
use crate::adapters::admin_socket;
use crate::adapters::inspection::{Inspected, is_clock_synchronized};
use crate::adapters::probe::{self, ProbeAnswer};
use crate::adapters::redis::RedisSurvey;
use crate::adapters::service_process;
use crate::config::{Args, EngineArgs, OutputForm};
use crate::domain::in_words;
use crate::http::answer::problem;
use crate::metrics::Metrics;
use crate::operator::status::{SHOW, StatusReport};
use crate::wiring::{self, OwnCertificate, engines};

use super::certificate_order;
use super::check::check_directory;
use super::client::Client;
use super::findings::{Checked, Findings, failed, ok, warning};
use super::outcome::{CommandError, Done};

const HEALTH: &str = "/api/v1/health";
/// Less free disk is warned of.
const FREE_MIN: u64 = 256 * 1024 * 1024;
/// The clock may lag behind a ledger that was written a moment ago on a network's disk.
const CLOCK_LAG_MAX_MS: u64 = 2_000;
/// An address for documentation (RFC 5737), which no client has.
const FORGED: &str = "203.0.113.250";

/// Examines everything that the flags name. Changes nothing.
pub(super) async fn examine(args: &Args, form: OutputForm) -> Result<Done, CommandError> {
    let mut findings = Findings::default();
    let mut is_running = false;
    if let Some(dir) = &args.data_dir {
        if let Some(inspected) = check_directory(dir, &mut findings) {
            findings.add("disk", disk(inspected.free_bytes));
            findings.add("clock", clock(&inspected));
        }
        let connected = admin_socket::connect(dir);
        if let Ok(Some(stream)) = &connected {
            is_running = true;
            findings.add("flags", flags_of_service(stream, args, form));
        }
        findings.add(
            "service",
            match connected {
                Ok(Some(_stream)) => ok("runs on the data directory"),
                Ok(None) => warning("none runs on the data directory; start it"),
                Err(error) => failed(format!("admin.sock: {error}")),
            },
        );
    }
    check_engines(args, &mut findings).await;
    if args.speaks_tls() {
        findings.add("certificate", certificate_order::judge(args));
    }
    check_base_url(args, is_running, &mut findings).await;
    findings.add("model", model(args).await);
    findings.add("webhook", webhook(args).await);
    findings.add("mail", mail(args).await);
    if is_running && let Some(paused) = paused(args).await {
        findings.add("mail", paused);
    }
    findings.print(form, CommandError::Failed)
}

/// Has the command begin again with the flags of the service behind `stream`, unless it did or was given some
/// itself.
fn flags_of_service(stream: &UnixStream, args: &Args, form: OutputForm) -> Checked {
    if service_process::has_begun_again() {
        return ok("those of the running service");
    }
    // The data directory is how the service was found.
    if !args.given.starts_with("--data-dir=") || args.given.contains(" --") {
        return ok("those of this command");
    }
    let words = ["doctor", "--json"];
    let words = if form.json { &words[..] } else { &words[..1] };
    let error = service_process::begin_again(stream, words);
    warning(format!(
        "those of this command, because those of the service cannot be read: {error}"
    ))
}

/// Asks the engines that several nodes share.
async fn check_engines(args: &Args, findings: &mut Findings) {
    if args.engines.store.is_some() {
        findings.add("store", store(&args.engines).await);
    }
    if args.engines.limits.is_none() {
        return;
    }
    let asked = Instant::now();
    let survey = match engines::open_limits(&args.engines).await {
        Ok(limits) => limits.survey().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let checked = match survey {
        Ok(survey) => limits(&survey, asked.elapsed().as_millis()),
        Err(error) => failed(format!("{error}; nodes decide alone")),
    };
    findings.add("limits", checked);
}

async fn store(args: &EngineArgs) -> Checked {
    let asked = Instant::now();
    let opened = async {
        let secret = engines::shared_secret(args)?;
        let metrics = Arc::new(Metrics::new([]));
        engines::open_store(args, &secret, &metrics).await
    };
    match opened.await {
        Ok(_store) => ok(format!(
            "takes writes, {} ms to connect; its tables and the secret fit",
            asked.elapsed().as_millis()
        )),
        Err(error) => failed(error.to_string()),
    }
}

/// Judges the server of the windows.
fn limits(survey: &RedisSurvey, taken_ms: u128) -> Checked {
    let server = format!("{} {}", survey.name, survey.version);
    if let Some(eviction) = survey.eviction() {
        return failed(eviction);
    }
    if survey.maxmemory_bytes > 0 && survey.used_memory_bytes > survey.maxmemory_bytes / 4 * 3 {
        return warning(format!(
            "{server} uses more than three quarters of its maxmemory; when it is full, nodes decide alone"
        ));
    }
    if !survey.is_aof_enabled && survey.replicas == 0 {
        return warning(format!(
            "{server} has no replica and no append-only file: a restart forgets every window"
        ));
    }
    ok(format!(
        "{server} takes writes and forgets no window; {taken_ms} ms to connect and ask"
    ))
}

fn disk(free_bytes: u64) -> Checked {
    let free_mib = free_bytes / (1024 * 1024);
    match free_bytes {
        0 => failed("full: nothing can be stored; make room"),
        1..FREE_MIN => warning(format!("only {free_mib} MiB are free; make room")),
        FREE_MIN.. => ok(format!("{free_mib} MiB are free")),
    }
}

fn clock(inspected: &Inspected) -> Checked {
    let behind_ms = inspected.behind_ledger_ms.unwrap_or_default();
    if behind_ms > CLOCK_LAG_MAX_MS {
        let behind_s = behind_ms / 1000;
        return failed(format!(
            "{behind_s} s behind the newest event of the ledger; set it, and keep it by NTP"
        ));
    }
    match is_clock_synchronized() {
        Some(true) => ok("synchronised by NTP"),
        Some(false) => warning("not synchronised yet; see timedatectl"),
        None => ok("not behind the ledger; whether by NTP cannot be seen here"),
    }
}

async fn check_base_url(args: &Args, is_running: bool, findings: &mut Findings) {
    const SUBJECT: &str = "base URL";
    let Some(base_url) = &args.public_origin() else {
        let none = warning("no --base-url: documents name the address listened on");
        return findings.add(SUBJECT, none);
    };
    if !is_running {
        let unasked = warning("not asked, because the service does not run");
        return findings.add(SUBJECT, unasked);
    }
    if args.speaks_tls() {
        if let Ok(Some(OwnCertificate::Acme(acme))) = wiring::own_certificate(args) {
            findings.add("name", name(base_url, &acme, args.listen).await);
        }
        // At the address listened on, the certificate is valid for another name, and there is no proxy.
        match ask_outside(base_url).await {
            Ok(outside) => {
                findings.add(SUBJECT, ok(format!("{base_url} answers")));
                findings.add("https", https(base_url, &outside));
            }
            Err(found) => findings.add(SUBJECT, found),
        }
        return;
    }
    match reach(base_url, args).await {
        Ok([outside, direct]) => {
            findings.add(SUBJECT, ok(format!("{base_url} reaches this service")));
            findings.add("https", https(base_url, &outside));
            findings.add("proxy", proxy(base_url, &outside, &direct).await);
        }
        Err(found) => findings.add(SUBJECT, found),
    }
}

/// Looks whose certificate is presented at the public address: the proof that the authority asks for has to pass
/// the same way.
async fn name(base_url: &str, acme: &AcmeCertificate, listen: SocketAddr) -> Checked {
    let host = base_url.rsplit('/').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let unheard = probe::unheard_ipv6(host, listen).await;
    let presented = match wiring::roots(base_url) {
        Ok(roots) => probe::connect(base_url, roots).await,
        Err(error) => Err(error),
    };
    match (presented, acme.presented()) {
        (Ok(Some(there)), Some(ours)) if there == ours => ok(format!(
            "{base_url} presents the certificate of this service"
        )),
        (_, _) if unheard.is_some() => failed(unheard.unwrap_or_default()),
        (Ok(_), _) => failed(format!(
            "{base_url} presents another certificate: the name leads elsewhere, or a CDN or a load balancer is in \
             front, such as Cloudflare's proxy, through which no certificate can be ordered; have it pass TLS on \
             as it is, or do without --https-domain"
        )),
        (Err(error), _) => failed(format!(
            "{base_url}: {error}; the authority must reach port 443 of the name, and there this service"
        )),
    }
}

/// Asks for health at the public address and at the one listened on, which must be the same service.
async fn reach(base_url: &str, args: &Args) -> Result<[ProbeAnswer; 2], Checked> {
    let listen = args.listen;
    let outside = ask_outside(base_url).await?;
    let direct = ask(&format!("http://{listen}"), None).await;
    let direct = direct.map_err(|_error| {
        warning(format!(
            "answers, but {listen} does not; give this command the service's --listen"
        ))
    })?;
    match is_same_process(&outside, &direct) {
        true => Ok([outside, direct]),
        false => Err(failed(format!(
            "{base_url} is answered by another process; point the proxy to {listen}"
        ))),
    }
}

/// Asks for health at the public address.
async fn ask_outside(base_url: &str) -> Result<ProbeAnswer, Checked> {
    let outside = ask(base_url, None).await.map_err(|error| {
        failed(format!(
            "{base_url}: {error}; check DNS, firewall and proxy"
        ))
    })?;
    match outside.status {
        200 => Ok(outside),
        status => Err(failed(format!(
            "{base_url}{HEALTH} answers {status}; see the log of the service and of a proxy in front of it"
        ))),
    }
}

async fn ask(base: &str, header: Option<(&str, &str)>) -> Result<ProbeAnswer, String> {
    probe::get(&format!("{base}{HEALTH}"), header, wiring::roots(base)?).await
}

/// Two responses come from one process: the ids of its requests begin with the same random digits.
fn is_same_process(one: &ProbeAnswer, other: &ProbeAnswer) -> bool {
    let [one, other] = [one, other].map(|answer| answer.header("x-request-id")?.get(..13));
    one.is_some() && one == other
}

fn https(base_url: &str, outside: &ProbeAnswer) -> Checked {
    if !base_url.starts_with("https://") {
        return warning("the base URL is http: sign-ups and keys cross the network in the open");
    }
    match outside.header("strict-transport-security") {
        None => warning("browsers are not told to insist on it; see --hsts"),
        Some(_) => ok("the certificate is valid, and browsers are told to insist on it"),
    }
}

/// Compares by whom requests are counted: each answer tells what is left of the client's limit.
async fn proxy(base_url: &str, outside: &ProbeAnswer, direct: &ProbeAnswer) -> Checked {
    let forged = ask(base_url, Some(("X-Forwarded-For", FORGED))).await;
    let left = |answer: &ProbeAnswer| answer.header("ratelimit-remaining")?.parse::<u64>().ok();
    let forged = forged.ok().and_then(|answer| left(&answer));
    let (Some(first), Some(second), Some(forged)) = (left(outside), left(direct), forged) else {
        return warning("not judged: answers tell no limit (default=off)");
    };
    // The same client would have less left than before.
    if forged >= first {
        return failed(
            "a client that writes X-Forwarded-For itself is believed; have the proxy replace the \
             header, and name nothing but the proxy with --trusted-proxy",
        );
    }
    if second + 1 == first {
        return warning(
            "a request through it counts like one from the proxy itself: unless this machine's \
             requests come from the same address, name the proxy with --trusted-proxy and have it \
             send X-Forwarded-For",
        );
    }
    ok("clients are told apart, and cannot forge their address")
}

async fn model(args: &Args) -> Checked {
    if args.model.is_none() {
        return ok("none: answers come from the site's pages");
    }
    let settings = args.settings(args.listen);
    let site = wiring::site(args, &settings, &problem::pages());
    let asked = Instant::now();
    let answered = match site {
        Ok(site) => wiring::ask_model(args, &site, &CancellationToken::new()).await,
        Err(error) => Err(error),
    };
    let ms = asked.elapsed().as_millis();
    match answered.map(|answer| answer.chars().count()) {
        Ok(length) => ok(format!("answered with {length} characters in {ms} ms")),
        Err(error) => failed(error),
    }
}

async fn webhook(args: &Args) -> Checked {
    let Some(url) = &args.newsletter_webhook else {
        return ok("none: nobody is told of sign-ups");
    };
    let url = url.as_str();
    let connected = match wiring::roots(url) {
        Ok(roots) => probe::connect(url, roots).await,
        Err(error) => Err(error),
    };
    match connected {
        Ok(_certificate) => ok("its host accepts connections; nothing was posted"),
        Err(error) => failed(format!("cannot connect: {error}")),
    }
}

/// Judges a channel that the running service has paused.
async fn paused(args: &Args) -> Option<Checked> {
    let client = Client::open(args, false).await.ok()?;
    let status: StatusReport = client.one(&SHOW, serde_json::json!({})).await.ok()?;
    let mut queues = status.queues.into_iter();
    let (until, reason) = queues.find_map(|queue| queue.paused_until.zip(queue.pause_reason))?;
    let reason = in_words(&reason);
    Some(failed(format!(
        "the service sends none until {until}, because the account was refused: {reason}"
    )))
}

async fn mail(args: &Args) -> Checked {
    match wiring::smtp_mail_sender(args) {
        Ok(None) => ok("none: no mail is sent"),
        Ok(Some(sender)) => match sender.check().await {
            Ok(()) => ok("the relay accepts the account; `mail test ADDRESS` sends a mail"),
            Err(error) => failed(error.to_string()),
        },
        Err(error) => failed(error),
    }
}
