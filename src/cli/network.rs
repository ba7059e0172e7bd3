//! Checks through the network: those that `doctor` adds to `check`.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::adapters::outbound::probe::{self, ProbeAnswer};
use crate::config::{Args, EngineArgs, leads_here};
use crate::metrics::Metrics;
use crate::site::Site;
use crate::wiring::{self, RenewedCertificate, engines};

use super::output::{Checked, Findings, failed, noted, ok, warning};

const HEALTH: &str = "/api/v1/health";
/// An address for documentation (RFC 5737), which no client has.
const FORGED: &str = "203.0.113.250";

/// Checks the dependencies of the service that `args` are of, except the model and the email account.
pub(super) async fn check(args: &Args, is_running: bool, findings: &mut Findings) {
    if args.engines.store.is_some() {
        findings.add("store", store(&args.engines).await);
    }
    if args.engines.limits.is_some() {
        findings.add("limits", limits(&args.engines).await);
    }
    match args.public_origin() {
        None => {
            let none = "no --base-url: documents contain the listening address";
            findings.add("base URL", warning(none));
        }
        Some(_) if !is_running => {
            let unasked = "not checked, because the service is not running";
            findings.add("base URL", warning(unasked));
        }
        Some(base_url) => check_base_url(&base_url, args, findings).await,
    }
    findings.add("webhook", webhook(args).await);
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

async fn limits(args: &EngineArgs) -> Checked {
    let asked = Instant::now();
    let survey = match engines::open_limits(args, None).await {
        Ok(limits) => limits.survey().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match survey {
        Err(error) => failed(format!("{error}; each node limits on its own")),
        Ok(survey) => match (survey.eviction, survey.risk) {
            (Some(eviction), _) => failed(eviction),
            (None, Some(risk)) => warning(risk),
            (None, None) => ok(format!(
                "{} is writable and evicts no windows; {} ms to connect and query",
                survey.server,
                asked.elapsed().as_millis()
            )),
        },
    }
}

async fn check_base_url(base_url: &str, args: &Args, findings: &mut Findings) {
    if let Ok(Some(RenewedCertificate::Ordered(orders))) = wiring::own_certificate(args) {
        let ours = orders.certificate.presented();
        findings.add("name", name(base_url, connect(base_url).await, ours));
    }
    let outside = match ask(base_url, None).await {
        Ok(outside) => outside,
        Err(error) => {
            let told = format!("{base_url}: {error}; check DNS, firewall and proxy");
            return findings.add("base URL", failed(told));
        }
    };
    let checked = match outside.status.as_u16() {
        200 if base_url.starts_with("https://") => ok(format!("{base_url} responds")),
        200 if leads_here(base_url) => noted(format!(
            "{base_url} responds, on this machine only; visitors elsewhere need an https URL"
        )),
        200 => warning(format!(
            "{base_url} responds over http: sign-ups and keys cross the network unencrypted"
        )),
        status => failed(format!(
            "{base_url}{HEALTH} responds with {status}; see the logs of the service and of the proxy in front of it"
        )),
    };
    findings.add("base URL", checked);
    // With TLS of its own, the service has no proxy in front.
    if outside.status == 200 && !args.speaks_tls() {
        findings.add("proxy", proxy(base_url, args.listen, &outside).await);
    }
}

/// Checks the certificate presented at the public address: the authority's validation takes the same way.
fn name(
    base_url: &str,
    presented: Result<Option<Vec<u8>>, String>,
    ours: Option<Vec<u8>>,
) -> Checked {
    match (presented, ours) {
        (Ok(Some(there)), Some(ours)) if there == ours => ok(format!(
            "{base_url} presents the certificate of this service"
        )),
        (Ok(_), _) => failed(format!(
            "{base_url} presents another certificate: the name resolves elsewhere, or a CDN or load balancer is in \
             front, such as Cloudflare's proxy, through which no certificate can be ordered; have it pass TLS \
             through, or do without --https-domain"
        )),
        (Err(error), _) => failed(format!(
            "{base_url}: {error}; the certificate authority must reach this service at port 443 of the name, over \
             IPv6 too if the name has an AAAA record"
        )),
    }
}

/// Checks that a proxy leads to this service and how clients are told apart, by the remaining limit in each
/// response.
async fn proxy(base_url: &str, listen: SocketAddr, outside: &ProbeAnswer) -> Checked {
    let direct = match ask(&format!("http://{listen}"), None).await {
        Ok(direct) => direct,
        Err(error) => {
            return warning(format!(
                "{listen} does not respond: {error}; give this command the service's --listen"
            ));
        }
    };
    let forged = match ask(base_url, Some(("X-Forwarded-For", FORGED))).await {
        Ok(forged) => forged,
        Err(error) => {
            return warning(format!(
                "{base_url} does not respond to a forged X-Forwarded-For: {error}"
            ));
        }
    };
    // The request ids of a process begin with the same random digits.
    let process =
        |answer: &ProbeAnswer| Some(header(answer, "x-request-id")?.get(..13)?.to_owned());
    if process(outside) != process(&direct) {
        return failed(format!(
            "{base_url} reaches another process; point the proxy to {listen}"
        ));
    }
    let left = |answer: &ProbeAnswer| header(answer, "ratelimit-remaining")?.parse::<u64>().ok();
    match [outside, &direct, &forged].map(left) {
        // The same client would have less left than before.
        [Some(first), Some(_), Some(forged)] if forged >= first => failed(
            "clients can forge X-Forwarded-For; have the proxy replace the header, and list only the \
             proxy in --trusted-proxy",
        ),
        [Some(first), Some(second), Some(_)] if second + 1 == first && leads_here(base_url) => {
            noted("none: all visitors are on this machine")
        }
        [Some(first), Some(second), Some(_)] if second + 1 == first => warning(
            "if there is one in front of the service, its visitors share one limit: list it in --trusted-proxy \
             and have it send X-Forwarded-For",
        ),
        [Some(_), Some(_), Some(_)] => {
            ok("clients are distinguished, and cannot forge their address")
        }
        _ => warning("not checked: responses show no limit (default=off)"),
    }
}

/// Connects to the host of `url`. Returns its certificate, if it speaks TLS.
async fn connect(url: &str) -> Result<Option<Vec<u8>>, String> {
    probe::connect(url, wiring::roots(url)?).await
}

async fn ask(base: &str, header: Option<(&str, &str)>) -> Result<ProbeAnswer, String> {
    probe::get(&format!("{base}{HEALTH}"), header, wiring::roots(base)?).await
}

fn header<'a>(answer: &'a ProbeAnswer, name: &str) -> Option<&'a str> {
    answer.headers.get(name)?.to_str().ok()
}

/// Checks the model, with a question if `asks`.
pub(super) async fn model(args: &Args, site: &Site, asks: bool) -> Checked {
    let interrupt = CancellationToken::new();
    if args.model.is_none() {
        return ok("none: answers come from your pages");
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
    match connect(&url.0).await {
        Ok(_certificate) => ok("its host accepts connections; nothing was posted"),
        Err(error) => failed(format!("cannot connect: {error}")),
    }
}

/// Checks the email account, with a connection if `asks`.
pub(super) async fn mail(args: &Args, asks: bool) -> Checked {
    match wiring::mail_sender(args) {
        Ok(None) => ok("none: no email is sent"),
        Ok(Some(_sender)) if !asks => ok("its settings are valid; doctor tests the connection"),
        Ok(Some(sender)) => {
            let accepted = "the relay accepts the account; `mail test ADDRESS` sends an email";
            sender.check().await.map(|()| accepted).into()
        }
        Err(error) => failed(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_here_if_it_presents_the_certificate_of_this_service() {
        let (ours, other) = (Some(vec![1]), Some(vec![2]));
        let another = " presents another certificate: the name";
        for (presented, verdict, told) in [
            (
                Ok(ours.clone()),
                "ok",
                " presents the certificate of this service",
            ),
            (Ok(other), "failed", another),
            (Ok(None), "failed", another),
            (
                Err("refused".to_owned()),
                "failed",
                ": refused; the certificate authority must reach",
            ),
        ] {
            let checked = name("https://a.example", presented, ours.clone());
            assert_eq!(checked.0, verdict, "{}", checked.2);
            let told = format!("https://a.example{told}");
            assert!(checked.2.starts_with(&told), "{}", checked.2);
        }
        // There is none yet.
        let checked = name("https://a.example", Ok(ours), None);
        assert_eq!(checked.0, "failed");
    }
}
