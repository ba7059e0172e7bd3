//! An upstream behind TLS, vouched for by an authority of our own.

use landing_api::adapters::model::openai::Roots;

use crate::prelude::*;

use super::upstream::{Script, Upstream};
use super::whole::check_outcome;
use super::{app_with, ask, check_refund, settings_at, text};

#[tokio::test]
async fn an_authority_that_is_trusted_vouches_and_any_other_is_refused_with_a_refund() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let [tls, other_name] = ["127.0.0.1", "model.example"].map(|name| authority.acceptor(name));
    let (root, stranger) = (authority.root, stranger.root);
    for (roots, tls, is_trusted) in [
        (vec![stranger.clone(), root.clone()], &tls, true),
        (vec![stranger], &tls, false),
        (vec![], &tls, false),
        (vec![root], &other_name, false),
    ] {
        let upstream = Upstream::start_with([Script::saying("Safe.")], Some(tls.clone())).await;
        let (roots, never) = (Roots::of(roots), CancellationToken::new());
        let settings = settings_at(&upstream.base_url().replace("http:", "https:"));
        let model = OpenAiModelClient::new(settings, roots, never);
        let model = Arc::new(model);
        let reply = app_with(model.clone()).send(ask()).await;
        let outcome = text(&*model, None).await;
        if is_trusted {
            assert_eq!(reply.json()["message"], "Safe.");
            assert_eq!(outcome, Ok("Safe.".to_owned()));
        } else {
            check_refund(&reply, "not trusted");
            check_outcome(&outcome, "not started", "certificate", "not trusted");
            assert!(upstream.requests().is_empty());
        }
    }
}
