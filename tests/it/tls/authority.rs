//! A scripted ACME authority (RFC 8555): a server that knows accounts, and answers every order with one problem, or
//! issues certificates except for some names.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use rcgen::{CertificateParams, Issuer, KeyPair, PublicKeyData, SignatureAlgorithm};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use x509_cert::der::Decode as _;
use x509_cert::request::CertReq;

use crate::field::files::pem;

use super::Authority;

/// In place of a problem: what a proxy before the authority answers.
pub(super) const PAGE: &str = "<html>Bad gateway</html>";

/// The server, which ends with the tests.
pub(super) struct ScriptedAuthority {
    /// Its directory.
    pub(super) url: String,
    /// The certificate that clients have to trust.
    pub(super) root: PathBuf,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    asked: Mutex<BTreeMap<String, usize>>,
    /// The problem of every order.
    refuses: Option<&'static str>,
    /// Names that cannot be proved, with their problems.
    failing: Mutex<BTreeMap<String, &'static str>>,
    /// The names of each order, and its certificate.
    orders: Mutex<Vec<(Vec<String>, Option<String>)>>,
}

impl ScriptedAuthority {
    /// Answers every order with a problem of this type.
    pub(super) fn refusing(vouching: &Authority, kind: &'static str) -> Self {
        let state = State {
            refuses: Some(kind),
            ..State::default()
        };
        Self::start(vouching, state)
    }

    /// Issues certificates for all names but these, which have problems of these types.
    pub(super) fn failing(vouching: &Authority, names: &[(&str, &'static str)]) -> Self {
        let failing = names.iter().map(|&(name, kind)| (name.to_owned(), kind));
        let state = State {
            failing: Mutex::new(failing.collect()),
            ..State::default()
        };
        Self::start(vouching, state)
    }

    /// No name fails any more.
    pub(super) fn repair(&self) {
        self.state.failing.lock().clear();
    }

    fn start(vouching: &Authority, state: State) -> Self {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let pair = vouching.sign("acme", &params);
        let root = vouching.dir.path().join("acme-root.pem");
        std::fs::write(&root, pem("CERTIFICATE", &vouching.root)).unwrap();
        let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_no_client_auth();
        let config = builder.with_single_cert(vec![pair.certificate], key);
        let config = Arc::new(config.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let base = format!("https://localhost:{port}");
        let (url, state) = (format!("{base}/dir"), Arc::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
                let stream = StreamOwned::new(tls, stream.unwrap());
                // Whoever hangs up has what it wanted.
                drop(answer(stream, &base, &shared));
            }
        });
        Self { url, root, state }
    }

    /// How often `path` was asked for.
    pub(super) fn asked(&self, path: &str) -> usize {
        let asked = self.state.asked.lock();
        asked.get(path).copied().unwrap_or_default()
    }
}

/// Answers one request.
fn answer(
    stream: StreamOwned<ServerConnection, TcpStream>,
    base: &str,
    state: &State,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        stream.read_line(&mut header)?;
        match header.trim().split_once(':') {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap();
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let path = line.split(' ').nth(1).unwrap_or_default();
    let name = path.splitn(3, '/').nth(2).unwrap_or_default();
    let counted = if name.parse::<usize>().is_ok() && !path.starts_with("/account") {
        path.rsplit_once('/').unwrap().0
    } else {
        path
    };
    *state.asked.lock().entry(counted.to_owned()).or_default() += 1;
    let (status, body) = match path {
        "/dir" => {
            let [nonce, account, order] =
                ["nonce", "account", "order"].map(|it| format!("{base}/{it}"));
            let urls = json!({"newNonce": nonce, "newAccount": account, "newOrder": order});
            ("200 OK", urls.to_string())
        }
        "/nonce" => ("200 OK", String::new()),
        "/account" => ("201 Created", json!({"status": "valid"}).to_string()),
        "/account/1" => ("200 OK", json!({"status": "valid"}).to_string()),
        _ => order(path, name, &payload(&body), base, state),
    };
    let length = body.len();
    write!(
        stream.get_mut(),
        "HTTP/1.1 {status}\r\nReplay-Nonce: abc\r\nLocation: {base}/{}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}",
        match path {
            "/order" => format!("order/{}", state.orders.lock().len().max(1) - 1),
            _ => "account/1".to_owned(),
        }
    )?;
    stream.get_mut().flush()
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
                let is_tried = state.asked.lock().contains_key(&format!("/proof/{name}"));
                let (status, mut challenge) =
                    (if is_tried { "invalid" } else { "pending" }, challenge);
                challenge["status"] = json!(status);
                if is_tried {
                    challenge["error"] = problem(kind);
                }
                json!({"status": status, "identifier": identifier(name), "challenges": [challenge]})
            }
        },
        "proof" => challenge,
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
