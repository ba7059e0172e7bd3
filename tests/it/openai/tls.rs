//! An upstream behind TLS, vouched for by an authority of our own.

use std::sync::Arc;

use landing_api::adapters::model::OpenAiModelClient;
use landing_api::adapters::model::openai::Roots;
use landing_api::ports::ModelClient;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use super::upstream::{Script, Upstream};
use super::whole::check_outcome;
use super::{app_with, ask, check_refund, question, settings_at};

/// A new authority, and the TLS of a server that it vouches for under `name`.
pub(crate) fn authority(name: &str) -> (CertificateDer<'static>, String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let server_key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .signed_by(&server_key, &issuer)
        .unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![server.der().clone()],
            PrivateKeyDer::try_from(server_key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    (certificate.der().clone(), certificate.pem(), acceptor)
}

#[tokio::test]
async fn an_authority_that_is_trusted_vouches_and_any_other_is_refused_with_a_refund() {
    let (root, _, tls) = authority("127.0.0.1");
    let (stranger, _, _) = authority("127.0.0.1");
    let (other_root, _, other_name) = authority("model.example");
    for (roots, tls, is_trusted) in [
        (vec![stranger.clone(), root.clone()], &tls, true),
        (vec![stranger], &tls, false),
        (vec![], &tls, false),
        (vec![other_root], &other_name, false),
    ] {
        let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls.clone())).await;
        let (roots, never) = (Roots::of(roots), CancellationToken::new());
        let settings = settings_at(&upstream.base_url().replace("http:", "https:"));
        let model = OpenAiModelClient::new(settings, roots, never).unwrap();
        let model = Arc::new(model);
        let reply = app_with(model.clone()).send(ask()).await;
        let outcome = model.reply(&question(), None).await.map(|reply| reply.text);
        if is_trusted {
            assert_eq!(reply.json()["message"], "Safe.");
            assert_eq!(outcome, Ok("Safe.".to_owned()));
        } else {
            check_refund(&reply, "not trusted");
            check_outcome(&outcome, "not started", "certificate", "not trusted");
            assert!(upstream.asked().is_empty());
        }
    }
}
