//! Certificates presented in a handshake: the current one for one of its names, or the proof that an authority asks
//! for (TLS-ALPN-01, RFC 8737).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::adapters::tls::{ACME_TLS, Certificate};
use crate::domain::is_same_host;

/// The certificate and the proofs.
#[derive(Debug)]
pub(super) struct Answers {
    names: Vec<String>,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    certificate: Option<Certificate>,
    /// By name. Empty except during an order.
    proofs: HashMap<String, Arc<CertifiedKey>>,
}

impl Answers {
    pub(super) fn new(names: Vec<String>, certificate: Option<Certificate>) -> Self {
        let state = State {
            certificate,
            ..State::default()
        };
        Self {
            names,
            state: RwLock::new(state),
        }
    }

    /// The result of `of` for the certificate, if there is one.
    pub(super) fn of_certificate<T>(&self, of: impl FnOnce(&Certificate) -> T) -> Option<T> {
        self.state.read().certificate.as_ref().map(of)
    }

    /// Presents this certificate to new connections.
    pub(super) fn replace(&self, certificate: Certificate) {
        self.state.write().certificate = Some(certificate);
    }

    /// Presents the digest of the key authorization for `name`.
    pub(super) fn prove(&self, name: &str, digest: &[u8]) -> Result<(), rcgen::Error> {
        let proof = Arc::new(proof(name, digest)?);
        self.state.write().proofs.insert(name.to_owned(), proof);
        Ok(())
    }

    /// Removes the proofs after an order.
    pub(super) fn forget_proofs(&self) {
        self.state.write().proofs.clear();
    }
}

impl ResolvesServerCert for Answers {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?;
        let state = self.state.read();
        if hello
            .alpn()
            .is_some_and(|mut offered| offered.any(|name| name == ACME_TLS))
        {
            let mut proofs = state.proofs.iter();
            return proofs
                .find_map(|(of, proof)| is_same_host(of, name).then(|| Arc::clone(proof)));
        }
        let is_ours = self.names.iter().any(|ours| is_same_host(ours, name));
        let certificate = state.certificate.as_ref().filter(|_| is_ours);
        certificate.map(|current| Arc::clone(&current.key))
    }
}

/// A self-signed certificate with the digest in it.
fn proof(name: &str, digest: &[u8]) -> Result<CertifiedKey, rcgen::Error> {
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let chain = vec![certificate.der().clone()];
    let key = ring::sign::any_supported_type(&private);
    let key = key.map_err(|_unusable| rcgen::Error::CouldNotParseKeyPair)?;
    // Key and certificate are not compared: the parser rejects the critical extension of a proof.
    Ok(CertifiedKey::new(chain, key))
}
