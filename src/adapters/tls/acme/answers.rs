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
    pub(super) names: Vec<String>,
    pub(super) certificate: RwLock<Option<Certificate>>,
    /// By name. Empty except during an order.
    pub(super) proofs: RwLock<HashMap<String, Arc<CertifiedKey>>>,
}

impl Answers {
    /// The result of `of` for the certificate, if there is one.
    pub(super) fn of_certificate<T>(&self, of: impl FnOnce(&Certificate) -> T) -> Option<T> {
        self.certificate.read().as_ref().map(of)
    }

    /// Presents the digest of the key authorization for `name`.
    pub(super) fn prove(&self, name: &str, digest: &[u8]) -> Result<(), rcgen::Error> {
        let proof = Arc::new(proof(name, digest)?);
        self.proofs.write().insert(name.to_owned(), proof);
        Ok(())
    }
}

impl ResolvesServerCert for Answers {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name()?;
        if hello
            .alpn()
            .is_some_and(|mut offered| offered.any(|name| name == ACME_TLS))
        {
            let proofs = self.proofs.read();
            return proofs
                .iter()
                .find_map(|(of, proof)| is_same_host(of, name).then(|| Arc::clone(proof)));
        }
        let is_ours = self.names.iter().any(|ours| is_same_host(ours, name));
        self.of_certificate(|current| Arc::clone(&current.key))
            .filter(|_| is_ours)
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
