//! A scripted ACME authority (RFC 8555): a server that knows accounts, and answers every order with one problem, or
//! issues certificates except for some names.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use rcgen::{CertificateParams, Issuer, KeyPair, PublicKeyData, SignatureAlgorithm};
use x509_cert::der::Decode as _;
use x509_cert::request::CertReq;

use crate::field::files::pem;
use crate::prelude::*;
use crate::provider::{Received, Script};

use super::Authority;

/// In place of a problem: what a proxy before the authority answers.
pub(super) const PAGE: &str = "<html>Bad gateway</html>";

pub(super) struct ScriptedAuthority {
    /// Its directory.
    pub(super) url: String,
    /// The certificate that clients have to trust.
    pub(super) root: PathBuf,
    state: Arc<State>,
    server: Provider,
}

#[derive(Default)]
struct State {
    /// The problem of every order.
    refuses: Option<&'static str>,
    /// Names that cannot be proved, with their problems.
    failing: Mutex<BTreeMap<String, &'static str>>,
    /// The names whose proof was looked at.
    tried: Mutex<BTreeSet<String>>,
    /// The names of each order, and its certificate.
    orders: Mutex<Vec<(Vec<String>, Option<String>)>>,
}

impl ScriptedAuthority {
    /// Answers every order with a problem of this type.
    pub(super) async fn refusing(vouching: &Authority, kind: &'static str) -> Self {
        let state = State {
            refuses: Some(kind),
            ..State::default()
        };
        Self::start(vouching, state).await
    }

    /// Issues certificates for all names but these, which have problems of these types.
    pub(super) async fn failing(vouching: &Authority, names: &[(&str, &'static str)]) -> Self {
        let failing = names.iter().map(|&(name, kind)| (name.to_owned(), kind));
        let state = State {
            failing: Mutex::new(failing.collect()),
            ..State::default()
        };
        Self::start(vouching, state).await
    }

    /// No name fails any more.
    pub(super) fn repair(&self) {
        self.state.failing.lock().clear();
    }

    async fn start(vouching: &Authority, state: State) -> Self {
        let root = vouching.dir.path().join("acme-root.pem");
        fs::write(&root, pem("CERTIFICATE", &vouching.root)).unwrap();
        let state = Arc::new(state);
        let shared = Arc::clone(&state);
        let answer = move |request: &Received| answer(request, &shared);
        let server = Provider::answering(answer, vouching.acceptor("127.0.0.1")).await;
        let url = server.url("/dir").replacen("http", "https", 1);
        Self {
            url,
            root,
            state,
            server,
        }
    }

    /// How often `path` was asked for, whatever number is behind it.
    pub(super) fn asked(&self, path: &str) -> usize {
        let is_number = |end: &str| end.parse::<usize>().is_ok();
        let requests = self.server.requests().into_iter();
        let asked = requests.filter(|request| match request.target.strip_prefix(path) {
            Some(end) => end.is_empty() || end.strip_prefix('/').is_some_and(is_number),
            None => false,
        });
        asked.count()
    }
}

fn answer(request: &Received, state: &State) -> Script {
    let base = format!("https://{}", request.header("host").unwrap());
    let path = &*request.target;
    let name = path.splitn(3, '/').nth(2).unwrap_or_default();
    let (status, body) = match path {
        "/dir" => {
            let [nonce, account, order] =
                ["nonce", "account", "order"].map(|it| format!("{base}/{it}"));
            let urls = json!({"newNonce": nonce, "newAccount": account, "newOrder": order});
            ("200 OK", urls.to_string())
        }
        "/nonce" => ("200 OK", String::new()),
        "/account" => ("201 Created", json!({"status": "valid"}).to_string()),
        "/accounts/1" => ("200 OK", json!({"status": "valid"}).to_string()),
        _ => order(path, name, &payload(&request.body), &base, state),
    };
    let location = match path {
        "/order" => format!("order/{}", state.orders.lock().len().max(1) - 1),
        _ => "accounts/1".to_owned(),
    };
    let head = format!("{status}\r\nReplay-Nonce: abc\r\nLocation: {base}/{location}\r\n");
    Script::response(&head, body)
}

/// What a request is about, whose signature nobody checks.
fn payload(body: &[u8]) -> Value {
    let signed: Value = serde_json::from_slice(body).unwrap_or_default();
    let payload = URL_SAFE_NO_PAD.decode(signed["payload"].as_str().unwrap_or_default());
    serde_json::from_slice(&payload.unwrap()).unwrap_or_default()
}

/// A problem with words that act on a terminal.
fn problem(kind: &str) -> Value {
    let kind = format!("urn:ietf:params:acme:error:{kind}");
    json!({"type": kind, "detail": "as \u{1b}[31m\u{202e}the test wants it"})
}

/// Answers a request about an order: `/order`, `/order/N`, `/authorization/NAME`, `/proof/NAME`, `/finalize/N` or
/// `/certificate/N`.
#[allow(clippy::too_many_lines, reason = "the orders of an authority")]
fn order(
    path: &str,
    name: &str,
    payload: &Value,
    base: &str,
    state: &State,
) -> (&'static str, String) {
    if state.refuses == Some(PAGE) {
        return ("502 Bad Gateway", PAGE.to_owned());
    }
    if let Some(kind) = state.refuses {
        let mut problem = problem(kind);
        problem["detail"] = json!("as the test wants it");
        return ("429 Too Many Requests", problem.to_string());
    }
    let failing = state.failing.lock();
    let mut orders = state.orders.lock();
    let identifier = |name: &str| json!({"type": "dns", "value": name});
    if path == "/order" {
        let identifiers = payload["identifiers"].as_array().unwrap();
        let names = identifiers.iter().map(|it| it["value"].as_str().unwrap());
        let names: Vec<_> = names.map(str::to_owned).collect();
        let is_rejected = |name: &&String| failing.get(*name) == Some(&"rejectedIdentifier");
        if let Some(name) = names.iter().find(is_rejected) {
            let mut of_name = problem("rejectedIdentifier");
            of_name["identifier"] = identifier(name);
            let mut all = problem("malformed");
            all["subproblems"] = json!([of_name]);
            return ("400 Bad Request", all.to_string());
        }
        orders.push((names, None));
    }
    let number = name.parse().unwrap_or_else(|_| orders.len().max(1) - 1);
    let challenge = json!({
        "type": "tls-alpn-01", "url": format!("{base}/proof/{name}"), "token": "abc", "status": "processing",
    });
    let answer = match path.split('/').nth(1).unwrap() {
        "authorization" => match failing.get(name) {
            None => json!({"status": "valid", "identifier": identifier(name), "challenges": []}),
            Some(kind) => {
                let is_tried = state.tried.lock().contains(name);
                let (status, mut challenge) =
                    (if is_tried { "invalid" } else { "pending" }, challenge);
                challenge["status"] = json!(status);
                if is_tried {
                    challenge["error"] = problem(kind);
                }
                json!({"status": status, "identifier": identifier(name), "challenges": [challenge]})
            }
        },
        "proof" => {
            state.tried.lock().insert(name.to_owned());
            challenge
        }
        "certificate" => return ("200 OK", orders[number].1.clone().unwrap()),
        action => {
            if action == "finalize" {
                let names = orders[number].0.clone();
                orders[number].1 = Some(issued(names, payload["csr"].as_str().unwrap()));
            }
            let (names, certificate) = &orders[number];
            let mut order = json!({
                "status": "ready",
                "identifiers": names.iter().map(|name| identifier(name)).collect::<Vec<_>>(),
                "authorizations": names.iter().map(|name| format!("{base}/authorization/{name}")).collect::<Vec<_>>(),
                "finalize": format!("{base}/finalize/{number}"),
            });
            if names.iter().any(|name| failing.contains_key(name)) {
                order["status"] = json!(if path == "/order" {
                    "pending"
                } else {
                    "invalid"
                });
            } else if certificate.is_some() {
                order["status"] = json!("valid");
                order["certificate"] = json!(format!("{base}/certificate/{number}"));
            }
            order
        }
    };
    ("200 OK", answer.to_string())
}

struct RequestedKey(Vec<u8>);

impl PublicKeyData for RequestedKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

/// A certificate for these names, in PEM.
fn issued(names: Vec<String>, request: &str) -> String {
    let request = URL_SAFE_NO_PAD.decode(request).unwrap();
    let request = CertReq::from_der(&request).unwrap();
    let key = &request.info.public_key.subject_public_key;
    let key = RequestedKey(key.raw_bytes().to_vec());
    let mut params = CertificateParams::new(names).unwrap();
    params.not_before = rcgen::date_time_ymd(2025, 12, 1);
    params.not_after = rcgen::date_time_ymd(2030, 1, 1);
    let issuer = Issuer::new(CertificateParams::default(), KeyPair::generate().unwrap());
    params.signed_by(&key, &issuer).unwrap().pem()
}
