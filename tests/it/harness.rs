//! The service in memory, with a clock that stands still, and a client that checks on every answer
//! what must be true of all of them.

use std::collections::HashSet;
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri};
use landing_api::adapters::files::questions::FileQuestionStore;
use landing_api::adapters::ledger::LedgerStore;
use landing_api::adapters::limiter::SledRateLimiter;
use landing_api::app::App;
use landing_api::domain::chat::Conversation;
use landing_api::domain::contact::Contact;
use landing_api::domain::email::EmailAddress;
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::secret::Secret;
use landing_api::domain::settings::{Settings, SignUpsGo};
use landing_api::domain::time::{DAY_MS, Timestamp};
use landing_api::http::answer::cors::AllowedOrigins;
use landing_api::http::endpoint::Endpoint;
use landing_api::http::request::client_ip::TrustedProxies;
use landing_api::http::router::{self, ENDPOINTS};
use landing_api::http::service::{LandingService, ServiceOptions};
use landing_api::metrics::Metrics;
use landing_api::ports::{
    AnswerSink, Clock, ContactStore, KeyIssuer, MailSender, ModelClient, ModelError, ModelReply,
    RateLimiter, RevocationList, WebhookSender,
};
use landing_api::site::{SiteFile, SiteImage};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use crate::call::{Call, VISITOR};
use crate::openapi_contract::contract::CONTRACT;
use crate::twins::{
    ManualClock, MemoryBlockList, MemoryContactStore, MemoryCountStore, MemoryKeyIssuer,
    MemoryRevocationList, MemoryStoreMaintenance, ScriptedModelClient, SeededEntropy,
};

/// 2026-11-21T12:00:00Z.
pub(crate) const NOW: Timestamp = Timestamp::from_ms(1_795_262_400_000);

/// Whether the API's description has it: pages for people are no part of that.
pub(crate) fn is_described(endpoint: &Endpoint) -> bool {
    let mut paths = endpoint.paths.iter();
    paths.all(|path| !path.starts_with("/newsletter"))
}

/// What a test may decide before the service starts.
pub(crate) struct Setup {
    pub(crate) base_url: &'static str,
    pub(crate) policies: Policies,
    pub(crate) model: Arc<dyn ModelClient>,
    pub(crate) model_fallback: Option<Arc<dyn ModelClient>>,
    pub(crate) limiter: Arc<dyn RateLimiter>,
    pub(crate) questions: Arc<FileQuestionStore>,
    /// Takes the sign-ups in place of the contacts.
    pub(crate) provider: Option<Arc<dyn WebhookSender>>,
    pub(crate) webhook: Option<Arc<dyn WebhookSender>>,
    /// Contacts are asked to confirm by this.
    pub(crate) mail: Option<Arc<dyn MailSender>>,
    /// Keeps contacts, keys and revocations in place of memory.
    pub(crate) store: Option<Arc<LedgerStore>>,
    pub(crate) allowed_origins: &'static [&'static str],
    pub(crate) trusted_proxies: &'static [&'static str],
    pub(crate) site_files: Vec<SiteFile>,
    pub(crate) site_images: Vec<SiteImage>,
    pub(crate) endpoints: &'static [&'static Endpoint],
    pub(crate) hsts_max_age_s: Option<u64>,
    /// In place of the one that a test sets.
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            base_url: "http://landing.example",
            policies: Policies::default(),
            model: Arc::new(ScriptedModelClient::default()),
            model_fallback: None,
            limiter: Arc::new(SledRateLimiter::in_memory(&Policies::default(), NOW)),
            questions: Arc::default(),
            provider: None,
            webhook: None,
            mail: None,
            store: None,
            allowed_origins: &[],
            trusted_proxies: &[],
            site_files: Vec::new(),
            site_images: Vec::new(),
            endpoints: ENDPOINTS,
            hsts_max_age_s: None,
            clock: None,
        }
    }
}

impl Setup {
    pub(crate) fn with_model(model: Arc<dyn ModelClient>) -> Self {
        Self {
            model,
            ..Self::default()
        }
    }

    pub(crate) fn with_limiter(limiter: Arc<dyn RateLimiter>) -> Self {
        Self {
            limiter,
            ..Self::default()
        }
    }

    /// A program is told of sign-ups by `webhook`.
    pub(crate) fn with_webhook(webhook: Arc<dyn WebhookSender>) -> Self {
        Self {
            webhook: Some(webhook),
            ..Self::default()
        }
    }

    /// Contacts are asked to confirm by `mail`.
    pub(crate) fn with_mail(mail: Arc<dyn MailSender>) -> Self {
        Self {
            mail: Some(mail),
            ..Self::default()
        }
    }

    pub(crate) fn at(base_url: &'static str) -> Self {
        Self {
            base_url,
            ..Self::default()
        }
    }

    pub(crate) fn with_provider(provider: Arc<dyn WebhookSender>) -> Self {
        Self {
            provider: Some(provider),
            ..Self::default()
        }
    }

    pub(crate) fn behind(mut self, trusted_proxies: &'static [&'static str]) -> Self {
        self.trusted_proxies = trusted_proxies;
        self
    }

    pub(crate) fn allowing(mut self, origins: &'static [&'static str]) -> Self {
        self.allowed_origins = origins;
        self
    }

    /// Sets one policy, written as on the command line, or `off`.
    pub(crate) fn limit(mut self, name: &str, quota: &str) -> Self {
        let policy = PolicyName::from_name(name).unwrap();
        let quota = (quota != "off").then(|| quota.parse().unwrap());
        self.policies.set(policy, quota);
        self
    }

    fn sign_ups(&self) -> SignUpsGo {
        match (&self.webhook, &self.provider) {
            (None, None) => SignUpsGo::Kept,
            (Some(_), _) => SignUpsGo::Told,
            (None, Some(_)) => SignUpsGo::PassedOn,
        }
    }

    fn origins(&self) -> impl Iterator<Item = String> {
        self.allowed_origins.iter().map(|&origin| origin.to_owned())
    }

    fn settings(&self) -> Settings {
        Settings {
            base_url: self.base_url.to_owned(),
            policies: self.policies.clone(),
            opt_in_ms: self.mail.as_ref().map(|_| 7 * DAY_MS),
            sign_ups: self.sign_ups(),
            allowed_origins: self.origins().collect(),
            trusts_proxies: !self.trusted_proxies.is_empty(),
            ..crate::site::facts().settings
        }
    }

    pub(crate) fn start(self) -> TestApp {
        let clock = Arc::new(ManualClock::new(NOW));
        let contacts = Arc::new(MemoryContactStore::default());
        let keys = Arc::new(MemoryKeyIssuer::default());
        let revocations = Arc::new(MemoryRevocationList::default());
        let blocks = Arc::new(MemoryBlockList::default());
        let origins: Vec<_> = self.origins().collect();
        let settings = self.settings();
        let facts = crate::site::facts_of(settings.clone());
        let site = crate::site::made(&facts, &self.site_files, &self.site_images);
        let metrics = Arc::new(Metrics::new(router::names()));
        let stores: Stores = match self.store {
            Some(store) => (store.clone(), store.clone(), store),
            None => (contacts.clone(), keys.clone(), revocations.clone()),
        };
        let app = Arc::new(App {
            contacts: stores.0,
            provider: self.provider,
            webhook: self.webhook,
            opt_in: self.mail.as_ref().map(|_| site.letters.clone()),
            deliveries: contacts.clone(),
            mail: self.mail,
            keys: stores.1,
            revocations: stores.2,
            maintenance: Arc::new(MemoryStoreMaintenance),
            model: self.model,
            model_fallback: self.model_fallback,
            limiter: self.limiter,
            blocks: blocks.clone(),
            counts: Arc::new(MemoryCountStore::default()),
            questions: self.questions,
            clock: self.clock.unwrap_or_else(|| clock.clone()),
            entropy: Arc::new(SeededEntropy::default()),
            secrets: Secret::new([7; 32]).keys(),
            settings,
            metrics: metrics.clone(),
        });
        let proxies = self.trusted_proxies.iter();
        let proxies = proxies.map(|cidr| cidr.parse().unwrap());
        let options = ServiceOptions {
            endpoints: self.endpoints,
            origins: AllowedOrigins::new(origins),
            proxies: TrustedProxies::new(proxies),
            hsts_max_age_s: self.hsts_max_age_s,
            body_deadline: Duration::from_secs(10),
            id_seed: [1; 16],
        };
        let service = LandingService::new(app.clone(), &site, options);
        TestApp {
            base_url: self.base_url,
            has_own_pages: !self.site_files.is_empty() || !self.site_images.is_empty(),
            service: Arc::new(service),
            clock,
            contacts,
            keys,
            revocations,
            blocks,
            metrics,
            app,
            seen_ids: Mutex::default(),
        }
    }
}

/// The three ports of a store.
type Stores = (
    Arc<dyn ContactStore>,
    Arc<dyn KeyIssuer>,
    Arc<dyn RevocationList>,
);

pub(crate) struct TestApp {
    pub(crate) base_url: &'static str,
    has_own_pages: bool,
    pub(crate) service: Arc<LandingService>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) contacts: Arc<MemoryContactStore>,
    pub(crate) keys: Arc<MemoryKeyIssuer>,
    pub(crate) revocations: Arc<MemoryRevocationList>,
    pub(crate) blocks: Arc<MemoryBlockList>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) app: Arc<App>,
    seen_ids: Mutex<HashSet<String>>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn is_html(&self) -> bool {
        self.header("content-type") == Some("text/html; charset=utf-8")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Whether it is HTML that was made for this request: the pages of people are not described.
    pub(crate) fn is_page_for_one_request(&self) -> bool {
        let is_html = |media_type: &str| media_type.starts_with("text/html");
        self.header("content-type").is_some_and(is_html)
            && self.header("cache-control") == Some("no-store")
    }

    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap().to_owned()
    }

    /// The text of a member.
    pub(crate) fn member(&self, name: &str) -> String {
        self.json()[name].as_str().unwrap().to_owned()
    }

    /// The status, and behind it the code of a problem: `404 not_found`.
    pub(crate) fn outcome(&self) -> String {
        let problem: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let code = problem["code"].as_str().map(|code| format!(" {code}"));
        self.status.as_str().to_owned() + &code.unwrap_or_default()
    }

    /// The binding policy and what is left of it: `keys 59`.
    pub(crate) fn shown(&self) -> String {
        format!("{} {}", self.policy(), self.remaining())
    }

    /// The policies that count the request, with a space between them.
    pub(crate) fn policies(&self) -> String {
        let listed = self.header("ratelimit-policy").unwrap();
        let names: Vec<_> = listed.split('"').skip(1).step_by(2).collect();
        names.join(" ")
    }

    /// Fails unless the body has each of these texts.
    #[track_caller]
    pub(crate) fn check_shows(&self, parts: &[&str]) {
        let text = self.text();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[track_caller]
    pub(crate) fn check_silent_on(&self, secret: &str) {
        let body = String::from_utf8_lossy(&self.body);
        assert!(!body.contains(secret), "{secret:?} is in {body}");
    }

    /// Each error of a problem, as pointer and code, with a comma between them.
    pub(crate) fn complaints(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let told = |error: &Value| {
            assert!(!text(&error["detail"]).is_empty());
            format!("{} {}", text(&error["pointer"]), text(&error["code"]))
        };
        let errors: Vec<_> = self.json()["errors"]
            .as_array()
            .unwrap()
            .iter()
            .map(told)
            .collect();
        errors.join(", ")
    }

    pub(crate) fn remaining(&self) -> u32 {
        self.header("ratelimit-remaining").unwrap().parse().unwrap()
    }

    /// The policy that `RateLimit` shows.
    pub(crate) fn policy(&self) -> String {
        let shown = self.header("ratelimit").unwrap();
        shown.split('"').nth(1).unwrap().to_owned()
    }

    pub(crate) fn retry_after_s(&self) -> u64 {
        self.header("retry-after").unwrap().parse().unwrap()
    }

    pub(crate) fn cookie(&self) -> String {
        let set_cookie = self.header("set-cookie").unwrap();
        set_cookie.split(';').next().unwrap().to_owned()
    }
}

impl TestApp {
    pub(crate) fn new() -> Self {
        Setup::default().start()
    }

    /// Sends a request and fails unless its answer has this status, and behind it this code of a
    /// problem: `200`, `2xx`, `404 not_found`.
    #[track_caller]
    pub(crate) fn expect(&self, outcome: &str, call: Call) -> impl Future<Output = Reply> {
        let (caller, told) = (Location::caller(), call.told());
        async move {
            let reply = self.send(call).await;
            let found = match outcome {
                "2xx" if reply.status.is_success() => outcome.to_owned(),
                _ if outcome.contains(' ') => reply.outcome(),
                _ => reply.status.as_str().to_owned(),
            };
            assert_eq!(found, outcome, "{caller}: {told}: {:?}", reply.body);
            reply
        }
    }

    /// Sends a request and fails unless its answer shows this policy and so much left of it:
    /// `keys 59`.
    #[track_caller]
    pub(crate) fn expect_left(&self, shown: &str, call: Call) -> impl Future<Output = Reply> {
        let (caller, told) = (Location::caller(), call.told());
        async move {
            let reply = self.send(call).await;
            assert_eq!(reply.shown(), shown, "{caller}: {told}: {:?}", reply.body);
            reply
        }
    }

    pub(crate) async fn mint(&self) -> String {
        self.expect("201", Call::mint()).await.member("api_key")
    }

    pub(crate) async fn contact(&self, email: &str) -> Option<Contact> {
        let email = EmailAddress::parse(email).unwrap();
        self.contacts.find(&email).await.unwrap()
    }

    /// Sends a request and checks what every answer must fulfil.
    pub(crate) async fn send(&self, call: Call) -> Reply {
        let method = call.method.clone();
        let uri: Uri = call.path.parse().unwrap();
        let reply = self.send_unchecked(call).await;
        self.check(&method, uri.path(), &reply);
        reply
    }

    /// For answers without the numbers that the others have.
    pub(crate) async fn send_unchecked(&self, call: Call) -> Reply {
        let mut request = Request::builder().method(call.method).uri(&call.path);
        for (name, value) in &call.headers {
            request = request.header(name, value.as_slice());
        }
        let request = request.body(Full::new(call.body)).unwrap();
        let peer = self.service.peer(call.peer);
        let responding = self.service.respond(&peer, Instant::now(), request);
        let (mut parts, body) = responding.await.unwrap().into_parts();
        // What hyper writes: the length that it is told.
        if let Some(length) = body.size_hint().exact().filter(|&length| length > 0) {
            let before = parts.headers.insert("content-length", length.into());
            let is_first = before.is_none();
            assert!(is_first, "the length of a body that is sent is hyper's");
        }
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    fn check(&self, method: &Method, path: &str, reply: &Reply) {
        check_headers(reply);
        let id = reply.header("x-request-id").unwrap().to_owned();
        if reply.status == StatusCode::NO_CONTENT {
            // A preflight: free of charge, and nothing but headers.
            assert!(reply.body.is_empty());
            for absent in ["content-length", "ratelimit", "set-cookie"] {
                assert_eq!(reply.header(absent), None);
            }
            return;
        }
        let is_blocked =
            reply.status == StatusCode::FORBIDDEN && reply.header("ratelimit").is_none();
        // There a page of another origin gets this status, too, with the numbers that are promised.
        let is_promised_more = is_blocked && path == "/mcp";
        // The description cannot know the operator's own pages.
        let is_described = !self.has_own_pages || CONTRACT.find(method, path).is_some();
        if is_described && !is_promised_more {
            CONTRACT.check(method, path, reply);
        }
        if *method == Method::HEAD {
            assert!(reply.body.is_empty());
        } else {
            let length = reply.header("content-length");
            if reply.header("content-type") == Some("text/event-stream") {
                assert_eq!(length, None);
                assert_eq!(reply.header("cache-control"), Some("no-store"));
            } else if reply.status == StatusCode::NOT_MODIFIED {
                assert_eq!((length, reply.body.len()), (None, 0));
            } else {
                assert_eq!(length, Some(&*reply.body.len().to_string()));
            }
            if reply.status.as_u16() >= 400 {
                if path == "/mcp" && reply.header("content-type") == Some("application/json") {
                    check_rpc_error(reply);
                } else if !reply.is_page_for_one_request() {
                    check_problem(self.base_url, &id, reply);
                }
            }
        }
        assert!(self.seen_ids.lock().unwrap().insert(id), "an id came twice");
        let is_refused = reply.status == StatusCode::TOO_MANY_REQUESTS;
        let is_oauth = is_below("/agent", path) || is_below("/oauth2", path);
        if is_blocked {
            check_blocked(*method == Method::HEAD, reply);
        } else if is_oauth || is_below("/api", path) || path == "/mcp" || is_refused {
            check_rate_limits(reply);
        } else {
            assert_eq!(reply.header("ratelimit"), None, "{path}");
        }
        check_oauth(is_oauth, *method == Method::HEAD, reply);
        let has_challenge = reply.header("www-authenticate").is_some();
        assert_eq!(has_challenge, reply.status == StatusCode::UNAUTHORIZED);
    }
}

fn is_below(area: &str, path: &str) -> bool {
    let rest = path.strip_prefix(area);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Only what a blocked network gets is not counted.
fn check_blocked(is_head: bool, reply: &Reply) {
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    if !is_head && !reply.is_page_for_one_request() {
        assert_eq!(reply.code(), "network_blocked");
    }
}

/// RFC 6749, sections 5.1 and 5.2.
fn check_oauth(is_oauth: bool, is_head: bool, reply: &Reply) {
    let pragma = is_oauth.then_some("no-cache");
    assert_eq!(reply.header("pragma"), pragma);
    if is_oauth {
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    if reply.status.as_u16() < 400 || is_head || reply.is_page_for_one_request() {
        return;
    }
    let problem = reply.json();
    for member in ["error", "error_description"] {
        assert_eq!(problem[member].is_string(), is_oauth, "{problem}");
    }
    if is_oauth {
        assert_eq!(problem["error"], oauth_error(reply), "{problem}");
    }
}

/// OAuth's word for a problem, or that of the proposal auth.md.
fn oauth_error(reply: &Reply) -> String {
    const OWN: &str = "claim_not_enabled identity_assertion_not_enabled invalid_client invalid_scope invalid_token \
                       issuer_not_enabled unsupported_credential_type unsupported_grant_type \
                       unsupported_response_type verified_email_not_enabled rate_limited";
    let code = reply.code();
    match reply.status.as_u16() {
        _ if OWN.split(' ').any(|own| own == code) => code,
        503 => "temporarily_unavailable".to_owned(),
        500 => "server_error".to_owned(),
        _ => "invalid_request".to_owned(),
    }
}

/// No header leaves the service unnoticed.
fn check_headers(reply: &Reply) {
    const ALLOWED: &str = "\
        access-control-allow-credentials access-control-allow-headers access-control-allow-methods \
        access-control-allow-origin access-control-expose-headers access-control-max-age allow cache-control \
        connection content-encoding content-language content-length content-security-policy content-type \
        cross-origin-opener-policy deprecation etag link location permissions-policy pragma ratelimit \
        ratelimit-limit ratelimit-policy ratelimit-remaining ratelimit-reset referrer-policy retry-after \
        service-api-version set-cookie strict-transport-security sunset vary www-authenticate x-accel-buffering \
        x-content-type-options x-request-id";
    for name in reply.headers.keys() {
        assert!(ALLOWED.split(' ').any(|it| it == name), "{name}");
        assert_eq!(reply.headers.get_all(name).iter().count(), 1, "{name}");
    }
}

/// What MCP answers to a message that it does not take.
fn check_rpc_error(reply: &Reply) {
    let answer = reply.json();
    assert_eq!(answer["jsonrpc"], "2.0");
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
    assert_eq!(answer.get("result"), None);
}

/// RFC 9457, with the members of every problem.
fn check_problem(base_url: &str, id: &str, reply: &Reply) {
    let media_type = reply.header("content-type");
    assert_eq!(media_type, Some("application/problem+json"));
    let problem = reply.json();
    let members: HashSet<_> = problem.as_object().unwrap().keys().collect();
    for required in ["type", "title", "status", "detail", "code", "resolution"] {
        assert!(members.contains(&required.to_owned()), "{problem}");
    }
    assert_eq!(problem["status"], reply.status.as_u16());
    assert_eq!(problem["instance"], format!("urn:uuid:{id}"));
    assert!(!problem["detail"].as_str().unwrap().is_empty());
    let code = problem["code"].as_str().unwrap();
    let expected = if reply.status == StatusCode::TOO_MANY_REQUESTS {
        "https://iana.org/assignments/http-problem-types#quota-exceeded".to_owned()
    } else {
        format!("{base_url}/problems/{code}")
    };
    assert_eq!(problem["type"], expected);
}

/// The integers, the structured fields and the body tell the same, as three readers see them.
fn check_rate_limits(reply: &Reply) {
    let number = |name: &str| -> i64 {
        let value = reply.header(name).unwrap_or_else(|| panic!("no {name}"));
        value.parse().unwrap()
    };
    let numbers = ["limit", "remaining", "reset"];
    let [limit, remaining, reset] = numbers.map(|name| number(&format!("ratelimit-{name}")));
    assert!((0..=limit).contains(&remaining));
    assert!(reset >= 1);
    let shown = structured(reply.header("ratelimit").unwrap());
    let [(name, parameters)] = shown.as_slice() else {
        panic!("more than the binding policy: {shown:?}");
    };
    let expected = [("r".to_owned(), remaining), ("t".to_owned(), reset)];
    assert_eq!(parameters, &expected);
    let policies = structured(reply.header("ratelimit-policy").unwrap());
    let (_, policy) = policies.iter().find(|(policy, _)| policy == name).unwrap();
    assert_eq!(policy[0], ("q".to_owned(), limit));
    assert!(reset <= policy[1].1, "longer than its window");
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let is_refused = reply.status == StatusCode::TOO_MANY_REQUESTS;
    assert_eq!(reply.header("retry-after").is_some(), is_refused);
    if is_refused {
        assert_eq!(number("retry-after"), reset);
        assert_eq!(remaining, 0);
        if !reply.body.is_empty() && !reply.is_page_for_one_request() {
            let problem = reply.json();
            let violated = problem["violated-policies"].as_array().unwrap();
            assert!(violated.contains(&Value::from(name.as_str())));
        }
    }
}

/// A structured field list of strings with integer parameters, read by a parser that is not ours.
fn structured(field: &str) -> Vec<(String, Vec<(String, i64)>)> {
    let list: sfv::List = sfv::Parser::new(field).parse().unwrap();
    list.into_iter()
        .map(|entry| {
            let sfv::ListEntry::Item(item) = entry else {
                panic!("an inner list");
            };
            let name = item.bare_item.as_string().unwrap().as_str().to_owned();
            let parameter = |(key, value): (sfv::Key, sfv::BareItem)| {
                let integer = value.as_integer().unwrap();
                (key.as_str().to_owned(), i64::from(integer))
            };
            (name, item.params.into_iter().map(parameter).collect())
        })
        .collect()
}

/// A model with a bug.
pub(crate) struct PanickingModelClient;

#[async_trait::async_trait]
impl ModelClient for PanickingModelClient {
    fn is_metered(&self) -> bool {
        false
    }

    async fn reply(
        &self,
        _conversation: &Conversation,
        _sink: Option<&dyn AnswerSink>,
    ) -> Result<ModelReply, ModelError> {
        panic!("the secret cause");
    }
}
