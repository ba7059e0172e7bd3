//! Checks through the network: those that `doctor` adds to `check`.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapters::cluster::redis::RedisSurvey;
use crate::adapters::outbound::probe::{self, ProbeAnswer};
use crate::adapters::tls::acme::AcmeCertificate;
use crate::config::{Args, EngineArgs};
use crate::domain::in_words;
use crate::metrics::Metrics;
use crate::operator::status::SHOW;
use crate::site::Site;
use crate::wiring::{self, OwnCertificate, engines};

use super::client::Client;
use super::findings::{Checked, Findings, failed, ok, warning};

const HEALTH: &str = "/api/v1/health";
/// An address for documentation (RFC 5737), which no client has.
const FORGED: &str = "203.0.113.250";

/// Checks the dependencies of the service that `args` are of, except the model and the email account.
pub(super) async fn check(args: &Args, is_running: bool, findings: &mut Findings) {
    check_engines(args, findings).await;
    check_base_url(args, is_running, findings).await;
    findings.add("webhook", webhook(args).await);
    if is_running && let Some(paused) = paused(args).await {
        findings.add("mail", paused);
    }
}

/// Checks the engines shared by several nodes.
async fn check_engines(args: &Args, findings: &mut Findings) {
    if args.engines.store.is_some() {
        findings.add("store", store(&args.engines).await);
    }
    if args.engines.limits.is_none() {
        return;
    }
    let asked = Instant::now();
    let survey = match engines::open_limits(&args.engines, None).await {
        Ok(limits) => limits.survey().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    let checked = match survey {
        Ok(RedisSurvey {
            eviction: Some(eviction),
            ..
        }) => failed(eviction),
        Ok(RedisSurvey {
            risk: Some(risk), ..
        }) => warning(risk),
        Ok(RedisSurvey { server, .. }) => ok(format!(
            "{server} is writable and evicts no windows; {} ms to connect and query",
            asked.elapsed().as_millis()
        )),
        Err(error) => failed(format!("{error}; each node limits on its own")),
    };
    findings.add("limits", checked);
}

async fn store(args: &EngineArgs) -> Checked {
    let asked = Instant::now();
    let opened = async {
        let secret = engines::shared_secret(args)?;
        let metrics = Arc::new(Metrics::new([]));
        engines::open_store(args, &secret, &metrics, false).await
    };
    let opened = opened.await.map(|_store| {
        let ms = asked.elapsed().as_millis();
        format!("is writable, {ms} ms to connect; its tables and the secret match")
    });
    opened.into()
}

async fn check_base_url(args: &Args, is_running: bool, findings: &mut Findings) {
    const SUBJECT: &str = "base URL";
    let Some(base_url) = &args.public_origin() else {
        let none = warning("no --base-url: documents contain the listening address");
        return findings.add(SUBJECT, none);
    };
    if !is_running {
        let unasked = warning("not checked, because the service is not running");
        return findings.add(SUBJECT, unasked);
    }
    if args.speaks_tls() {
        if let Ok(Some(OwnCertificate::Acme(acme))) = wiring::own_certificate(args) {
            findings.add("name", name(base_url, &acme, args.listen).await);
        }
        // At the listening address, the certificate is valid for another name, and there is no proxy.
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

/// Checks the certificate presented at the public address: the authority's validation takes the same way.
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
            "{base_url} presents another certificate: the name resolves elsewhere, or a CDN or load balancer is in \
             front, such as Cloudflare's proxy, through which no certificate can be ordered; have it pass TLS \
             through, or do without --https-domain"
        )),
        (Err(error), _) => failed(format!(
            "{base_url}: {error}; the certificate authority must reach this service at port 443 of the name"
        )),
    }
}

/// Requests health at the public address and at the listening one, which must be the same service.
async fn reach(base_url: &str, args: &Args) -> Result<[ProbeAnswer; 2], Checked> {
    let listen = args.listen;
    let outside = ask_outside(base_url).await?;
    let direct = ask(&format!("http://{listen}"), None).await;
    let direct = direct.map_err(|_error| {
        warning(format!(
            "responds, but {listen} does not; give this command the service's --listen"
        ))
    })?;
    match is_same_process(&outside, &direct) {
        true => Ok([outside, direct]),
        false => Err(failed(format!(
            "{base_url} reaches another process; point the proxy to {listen}"
        ))),
    }
}

/// Requests health at the public address.
async fn ask_outside(base_url: &str) -> Result<ProbeAnswer, Checked> {
    let outside = ask(base_url, None).await.map_err(|error| {
        failed(format!(
            "{base_url}: {error}; check DNS, firewall and proxy"
        ))
    })?;
    match outside.status {
        200 => Ok(outside),
        status => Err(failed(format!(
            "{base_url}{HEALTH} responds with {status}; see the logs of the service and of the proxy in front of it"
        ))),
    }
}

async fn ask(base: &str, header: Option<(&str, &str)>) -> Result<ProbeAnswer, String> {
    probe::get(&format!("{base}{HEALTH}"), header, wiring::roots(base)?).await
}

/// True if two responses come from one process: its request ids begin with the same random digits.
fn is_same_process(one: &ProbeAnswer, other: &ProbeAnswer) -> bool {
    let [one, other] = [one, other].map(|answer| answer.header("x-request-id")?.get(..13));
    one.is_some() && one == other
}

fn https(base_url: &str, outside: &ProbeAnswer) -> Checked {
    if !base_url.starts_with("https://") {
        return warning("the base URL is http: sign-ups and keys cross the network unencrypted");
    }
    match outside.header("strict-transport-security") {
        None => warning("browsers are not told to require it; see --hsts"),
        Some(_) => ok("the certificate is valid, and browsers are told to require it"),
    }
}

/// Checks how clients are told apart, by the remaining limit in each response.
async fn proxy(base_url: &str, outside: &ProbeAnswer, direct: &ProbeAnswer) -> Checked {
    let forged = ask(base_url, Some(("X-Forwarded-For", FORGED))).await;
    let left = |answer: &ProbeAnswer| answer.header("ratelimit-remaining")?.parse::<u64>().ok();
    let forged = forged.ok().and_then(|answer| left(&answer));
    let (Some(first), Some(second), Some(forged)) = (left(outside), left(direct), forged) else {
        return warning("not checked: responses show no limit (default=off)");
    };
    // The same client would have less left than before.
    if forged >= first {
        return failed(
            "clients can forge X-Forwarded-For; have the proxy replace the header, and list only \
             the proxy in --trusted-proxy",
        );
    }
    if second + 1 == first {
        return warning(
            "requests through it count as the proxy's own: unless this machine's requests come \
             from the same address, list the proxy in --trusted-proxy and have it send \
             X-Forwarded-For",
        );
    }
    ok("clients are distinguished, and cannot forge their address")
}

/// Checks the model, with a question if `asks`.
pub(super) async fn model(args: &Args, site: &Site, asks: bool) -> Checked {
    let interrupt = CancellationToken::new();
    if args.model.is_none() {
        return ok("none: answers come from the site's pages");
    }
    if !asks {
        let client = wiring::model_client(args, site, &interrupt);
        return client.map(|_client| "its URL and files are valid").into();
    }
    let asked = Instant::now();
    let answer = wiring::ask_model(args, site, &interrupt).await;
    let told = answer.map(|answer| {
        let (length, ms) = (answer.chars().count(), asked.elapsed().as_millis());
        format!("answered with {length} characters in {ms} ms")
    });
    told.into()
}

async fn webhook(args: &Args) -> Checked {
    let Some(url) = &args.newsletter_webhook else {
        return ok("none: nobody is notified of sign-ups");
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

/// Reports a channel that the running service has paused.
async fn paused(args: &Args) -> Option<Checked> {
    let client = Client::open(args, false).await.ok()?;
    let status: Value = client.one(SHOW, serde_json::json!({})).await.ok()?;
    let mut queues = status.get("queues")?.as_array()?.iter();
    let paused = queues.find(|queue| queue.get("paused_until").is_some_and(Value::is_string))?;
    Some(failed(in_words(paused.get("halt")?.as_str()?)))
}

/// Checks the email account, with a connection if `asks`.
pub(super) async fn mail(args: &Args, asks: bool) -> Checked {
    match wiring::mail_sender(args) {
        Ok(None) => ok("none: no email is sent"),
        Ok(Some(_sender)) if !asks => ok("its account and files are valid; doctor connects to it"),
        Ok(Some(sender)) => {
            let accepted = "the relay accepts the account; `mail test ADDRESS` sends an email";
            sender.check().await.map(|()| accepted).into()
        }
        Err(error) => failed(error),
    }
}
