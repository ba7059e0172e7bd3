//! HTTPS in the service itself: the files of its certificate, connections, and the listener that sends
//! clients to it.

mod acme;
mod authority;
mod certificate_files;
mod connections;
mod program;
mod redirect;

use landing_api::adapters::tls::OwnCertificate;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::prelude::*;

pub(crate) const NAME: &str = "landing.example";
const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

pub(crate) struct Authority {
    pub(crate) dir: TempDir,
    pub(crate) root: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate's files, and the certificate.
pub(crate) struct Pair {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) certificate: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let root = params.self_signed(&key).unwrap().der().clone();
        Self {
            dir: tempfile::tempdir().unwrap(),
            root,
            issuer: Issuer::new(params, key),
        }
    }

    /// A new certificate for [`NAME`], valid from and until these years, in files called after it.
    pub(crate) fn issue(&self, file: &str, (from, until): (i32, i32)) -> Pair {
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        self.sign(file, &params)
    }

    /// A new certificate in files called after it.
    pub(crate) fn sign(&self, file: &str, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let pair = Pair {
            chain: self.dir.path().join(format!("{file}.pem")),
            key: self.dir.path().join(format!("{file}.key")),
            certificate: certificate.der().clone(),
        };
        fs::write(&pair.chain, certificate.pem()).unwrap();
        write_private(&pair.key, &key.serialize_pem());
        pair
    }

    pub(crate) fn pair(&self, file: &str) -> Pair {
        self.issue(file, (2020, 2500))
    }

    /// The TLS of a server that is called `name`.
    pub(crate) fn acceptor(&self, name: &str) -> TlsAcceptor {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let pair = self.sign("server", &params).open().unwrap();
        TlsAcceptor::from(pair.tls().unwrap())
    }

    /// A client that trusts this authority, speaks these versions of TLS and offers these versions of HTTP.
    pub(crate) fn client(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        alpn: &[&str],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_protocol_versions(versions).unwrap();
        let mut config = builder.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|it| it.as_bytes().to_vec()).collect();
        Arc::new(config)
    }
}

impl Pair {
    pub(crate) fn open(&self) -> Result<Arc<OwnCertificate>, String> {
        OwnCertificate::open(&self.chain, &self.key).map(Arc::new)
    }

    pub(crate) fn flags(&self) -> [String; 2] {
        let (chain, key) = (self.chain.display(), self.key.display());
        [format!("--tls-cert={chain}"), format!("--tls-key={key}")]
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).unwrap()
}

/// Writes a file that nobody but its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text).unwrap();
    set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}
