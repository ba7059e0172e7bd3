//! A scripted ACME authority (RFC 8555): a server that knows accounts, and answers every order with one problem.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rcgen::CertificateParams;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::Authority;

/// The server, which ends with the tests.
pub(super) struct ScriptedAuthority {
    /// Its directory.
    pub(super) url: String,
    /// The certificate that clients have to trust.
    pub(super) root: PathBuf,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl ScriptedAuthority {
    /// Answers every order with a problem of this type.
    pub(super) fn refusing(vouching: &Authority, kind: &'static str) -> Self {
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let pair = vouching.sign("acme", &params);
        let root = vouching.dir.path().join("acme-root.pem");
        std::fs::write(&root, pem(&vouching.root)).unwrap();
        let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_no_client_auth();
        let config = builder.with_single_cert(vec![pair.certificate], key);
        let config = Arc::new(config.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!(
            "https://localhost:{}",
            listener.local_addr().unwrap().port()
        );
        let (url, asked) = (format!("{base}/dir"), Arc::default());
        let counts = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
                let stream = StreamOwned::new(tls, stream.unwrap());
                // Whoever hangs up has what it wanted.
                drop(answer(stream, &base, kind, &counts));
            }
        });
        Self { url, root, asked }
    }

    /// How often `path` was asked for.
    pub(super) fn asked(&self, path: &str) -> usize {
        self.asked.lock().get(path).copied().unwrap_or_default()
    }
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}

/// Answers one request.
fn answer(
    stream: StreamOwned<ServerConnection, TcpStream>,
    base: &str,
    kind: &str,
    asked: &Mutex<BTreeMap<String, usize>>,
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
    *asked.lock().entry(path.to_owned()).or_default() += 1;
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
        _ => {
            let kind = format!("urn:ietf:params:acme:error:{kind}");
            let problem = json!({"type": kind, "detail": "as the test wants it"});
            ("429 Too Many Requests", problem.to_string())
        }
    };
    let length = body.len();
    write!(
        stream.get_mut(),
        "HTTP/1.1 {status}\r\nReplay-Nonce: abc\r\nLocation: {base}/account/1\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )?;
    stream.get_mut().flush()
}
