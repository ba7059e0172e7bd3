//! An order at an authority (RFC 8555), step by step, and the authority's refusals in words.

use std::pin::Pin;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use instant_acme::{
    Account, AuthorizationStatus, BodyWrapper, BytesResponse, ChallengeType, Error, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use tokio::time::{Instant, timeout, timeout_at};

use crate::adapters::lenient_json;
use crate::adapters::outbound::{HttpClient, client, root_cause, send};
use crate::domain::{is_same_host, quoted};

use super::{AcmeClient, proof};

/// Deadline of an order. Authorities verify from several places, and some wait in between.
const DEADLINE: Duration = Duration::from_secs(300);

/// Deadline of a request and its whole response.
const EXCHANGE_DEADLINE: Duration = Duration::from_secs(30);

/// Certificate chains have a few KiB. The files that store them are read up to 64 KiB.
const ANSWER_BYTES_MAX: usize = 60 * 1024;

/// Polling of the authority for its verification, and for the certificate.
const POLLS: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(90));

/// Prefix of problem types (RFC 8555, section 6.7).
const TYPES: &str = "urn:ietf:params:acme:error:";

/// The type of the problem that the account is unknown.
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// What to do if the authority could not verify a name. Authorities do not agree on the type of each cause.
const UNVERIFIED: &str = "the authority did not reach this service at port 443: open it in the firewall and the router, and \
     check that the name points to this machine (with an AAAA record only if --listen is an IPv6 address such as \
     [::]:443), and not to a CDN or a load balancer, such as Cloudflare's proxy, where this cannot work";

/// The reason why an order failed.
pub(super) struct Refusal {
    /// The names at fault; none if all of them are.
    names: Vec<String>,
    pub(super) words: String,
}

impl Refusal {
    fn new(words: impl Into<String>) -> Self {
        Self {
            names: Vec::new(),
            words: words.into(),
        }
    }

    /// Names, each with its reason.
    fn of_names(failed: Vec<(String, String)>) -> Self {
        let (names, words): (_, Vec<_>) = failed.into_iter().unzip();
        let words = words.join("; ");
        Self { names, words }
    }

    /// True if this name is at fault, and others are not.
    pub(super) fn blames(&self, name: &str) -> bool {
        self.names.iter().any(|bad| is_same_host(bad, name))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        if let Error::Other(cause) = error {
            let what = match cause.is::<rcgen::Error>() {
                true => "the certificate's key or request cannot be made here:",
                false => "the authority",
            };
            return Self::new(format!("{what} {}", root_cause(&*cause)));
        }
        let Error::Api(problem) = error else {
            let words = quoted(error.to_string().as_bytes(), None);
            return Self::new(format!("the order failed: {words}"));
        };
        let of_names = problem.subproblems.iter().filter_map(|of_name| {
            let name = of_name.identifier.as_ref()?.authorized(false).to_string();
            let words = told(&name, &of_name.r#type, &of_name.detail);
            Some((name, words))
        });
        let of_names: Vec<_> = of_names.collect();
        if !of_names.is_empty() {
            return Self::of_names(of_names);
        }
        Self::new(told("the order", &problem.r#type, &problem.detail))
    }
}

/// A problem with `name` in words, and what to do about it.
fn told(name: &str, kind: &Option<String>, detail: &Option<String>) -> String {
    let kind = kind.as_deref().unwrap_or_default();
    let words = match kind.strip_prefix(TYPES).unwrap_or(kind) {
        "connection" | "tls" | "unauthorized" | "incorrectResponse" => UNVERIFIED.to_owned(),
        _ if kind == NO_ACCOUNT => {
            "the account is unknown: the next order creates a new one".to_owned()
        }
        other => format!("refused as {}", quoted(other.as_bytes(), None)),
    };
    let detail = detail.as_deref().unwrap_or("no reason is given");
    let detail = quoted(detail.as_bytes(), None);
    format!("{name}: {words} (the authority: {detail})")
}

impl AcmeClient {
    /// A certificate for these names with its chain and key, in PEM.
    pub(super) async fn ordered(&self, names: &[String]) -> Result<String, Refusal> {
        let late = "the authority did not finish the order in time";
        let issued = timeout(DEADLINE, self.issued(names)).await;
        issued.unwrap_or_else(|_elapsed| Err(Refusal::new(late)))
    }

    async fn issued(&self, names: &[String]) -> Result<String, Refusal> {
        let identifiers = names.iter().map(|name| Identifier::Dns(name.clone()));
        let identifiers: Vec<_> = identifiers.collect();
        let account = self.account().await?;
        let order = account.new_order(&NewOrder::new(&identifiers)).await;
        if let Err(Error::Api(problem)) = &order
            && problem.r#type.as_deref() == Some(NO_ACCOUNT)
        {
            self.state.lock().account = None;
        }
        let mut order = order?;
        self.prove(&mut order).await?;
        match order.poll_ready(&POLLS).await {
            Ok(OrderStatus::Ready) => {}
            Ok(_) | Err(Error::Api(_)) => {
                return Err(refusal(&mut order).await);
            }
            Err(error) => return Err(error.into()),
        }
        let key = order.finalize().await?;
        let chain = order.poll_certificate(&POLLS).await?;
        Ok(format!("{}\n{key}", chain.trim_end()))
    }

    /// The stored account, or a new one.
    async fn account(&self) -> Result<Account, Refusal> {
        let http = client(self.settings.roots.clone(), 1);
        let builder = Account::builder_with_http(Box::new(AcmeHttp(http)));
        let stored = self.state.lock().account.clone();
        if let Some(stored) = stored {
            let damaged = "the account in acme.json is damaged: remove the file";
            let credentials = serde_json::from_value(stored);
            let credentials = credentials.map_err(|_may_quote_it| Refusal::new(damaged))?;
            return Ok(builder.from_credentials(credentials).await?);
        }
        let new = NewAccount {
            contact: &[],
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let directory = self.settings.directory.clone();
        let (account, credentials) = builder.create(&new, directory, None).await?;
        let credentials = serde_json::to_value(credentials).map_err(Error::Json)?;
        self.state.lock().account = Some(credentials);
        let unkept = |error| Refusal::new(format!("the account: {error}"));
        self.store().await.map_err(unkept)?;
        Ok(account)
    }

    /// Prepares the proof of each unproven name, and tells the authority.
    async fn prove(&self, order: &mut Order) -> Result<(), Refusal> {
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let name = authorization.identifier().to_string();
            let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) else {
                let words =
                    "the authority does not offer TLS-ALPN-01, the only supported challenge";
                return Err(Refusal::new(words));
            };
            let digest = challenge.key_authorization().digest();
            let proof = proof(&name, digest.as_ref());
            let proof = proof.map_err(|error| Error::Other(error.into()))?;
            self.certificate.proofs.write().insert(name, proof);
            challenge.set_ready().await?;
        }
        Ok(())
    }
}

/// The reason why an order is invalid: the authority's findings at each failed name.
async fn refusal(order: &mut Order) -> Refusal {
    let of_order = order.state().error.clone();
    let mut failed = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else {
            break;
        };
        if let Some(problem) = state.challenges.iter().find_map(|one| one.error.as_ref()) {
            let words = told(&name, &problem.r#type, &problem.detail);
            failed.push((name, words));
        }
    }
    match of_order {
        _ if !failed.is_empty() => Refusal::of_names(failed),
        Some(problem) => Error::Api(problem).into(),
        None => Refusal::new("the authority refused the order without a reason"),
    }
}

/// The HTTP client of an order.
struct AcmeHttp(HttpClient);

impl instant_acme::HttpClient for AcmeHttp {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let http = self.0.clone();
        Box::pin(async move {
            let answer = exchange(&http, request).await;
            answer.map_err(|why| Error::Other(why.into()))
        })
    }
}

async fn exchange(
    http: &HttpClient,
    request: Request<BodyWrapper<Bytes>>,
) -> Result<BytesResponse, String> {
    let (head, body) = request.into_parts();
    // The body is in memory, so this never fails.
    let body = body.collect().await.map_err(|never| never.to_string())?;
    let request = Request::from_parts(head, Full::new(body.to_bytes()));
    let deadline = Instant::now() + EXCHANGE_DEADLINE;
    let response = send(http, Ok(request), EXCHANGE_DEADLINE).await;
    let response = response.map_err(|why| format!("cannot be reached: {why}"))?;
    let (head, body) = response.into_parts();
    let body = timeout_at(deadline, Limited::new(body, ANSWER_BYTES_MAX).collect()).await;
    let body = body.map_err(|_elapsed| "did not complete its response within 30 seconds")?;
    let body = body.map_err(|error| match error.is::<LengthLimitError>() {
        true => "sent a response of more than 60 KiB".to_owned(),
        false => format!("broke off its response: {}", root_cause(&*error)),
    })?;
    // The ACME client is strict about JSON.
    let text = lenient_json::mended(&body.to_bytes());
    let (status, is_json) = (head.status, text.trim_start().starts_with('{'));
    if !is_json && (status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS) {
        // This response is from a proxy in front of the authority.
        return Err(format!("responded with {status}"));
    }
    Ok(Response::from_parts(head, Full::<Bytes>::new(text.into())).into())
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use crate::adapters::outbound::Roots;

    use super::*;

    /// The error of an exchange with an authority that sends this and then hangs.
    async fn fault_after(sent: &str) -> Option<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let hanging = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap();
            stream.write_all(sent.as_bytes()).await.unwrap();
            pending::<()>().await;
        };
        let http = client(Roots::of([]), 1);
        let request = Request::get(url).body(BodyWrapper::default()).unwrap();
        tokio::select! {
            answer = exchange(&http, request) => answer.err(),
            () = hanging => unreachable!(),
        }
    }

    #[tokio::test]
    async fn a_response_that_is_too_long_is_named_as_that() {
        let body = "x".repeat(ANSWER_BYTES_MAX + 1);
        let sent =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf001\r\n{body}\r\n");
        let told = fault_after(&sent).await;
        assert_eq!(told.as_deref(), Some("sent a response of more than 60 KiB"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_authority_that_hangs_is_waited_for_thirty_seconds() {
        for (sent, told) in [
            ("", "cannot be reached: no response within 30 seconds"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
                "did not complete its response within 30 seconds",
            ),
        ] {
            let began = Instant::now();
            assert_eq!(fault_after(sent).await.as_deref(), Some(told));
            assert_eq!(began.elapsed().as_secs(), 30, "{told}");
        }
    }

    #[test]
    fn a_fault_of_this_service_is_not_taken_for_one_of_the_authority() {
        let cause = rcgen::Error::KeyGenerationUnavailable;
        for (error, told) in [
            (
                Error::Other(cause.into()),
                "the certificate's key or request cannot be made here: ",
            ),
            (
                Error::Other("cannot be reached: refused".into()),
                "the authority cannot be reached: refused",
            ),
        ] {
            let words = Refusal::from(error).words;
            assert!(words.starts_with(told), "{words}");
        }
    }

    #[test]
    fn a_problem_is_told_in_the_authoritys_words_and_with_what_to_do() {
        for (kind, words) in [
            ("connection", "open it in the firewall"),
            ("tls", "not to a CDN"),
            ("unauthorized", "open it in the firewall"),
            ("unauthorized", "not to a CDN"),
            ("caa", "refused as caa"),
            ("rateLimited", "refused as rateLimited"),
        ] {
            let problem = json!({"type": format!("{TYPES}{kind}"), "detail": "because\n\u{1b}[1m"});
            let told = Refusal::from(Error::Api(serde_json::from_value(problem).unwrap())).words;
            assert!(told.starts_with("the order: "), "{told}");
            assert!(told.contains(words), "{kind}: {told}");
            assert!(told.ends_with("(the authority: because [1m)"), "{told}");
        }
        let long = Some("x".repeat(1000));
        let words = told("api.example", &long, &long);
        assert!(words.len() < 600, "{words}");
        let words = told(
            "api.example",
            &Some("urn:ietf:params:acme:error:caa".to_owned()),
            &None,
        );
        let expected = "api.example: refused as caa (the authority: no reason is given)";
        assert_eq!(words, expected);
    }
}
