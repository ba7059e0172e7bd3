//! Inside: a request that has been let in, its body and its operation.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::{Body, Bytes};

use crate::domain::client::{Client, Network};
use crate::http::body::{self, BodyError};
use crate::http::cookie::QuotaCookie;
use crate::http::handlers::{self, Call, Outcome};
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::route::{BodyRule, Endpoint};
use crate::http::visit::Visit;
use crate::usecases::chat::{self, Asker};

use super::LandingService;

/// What an identity provider revokes with, in the auth.md proposal (v0.1).
const LOGOUT_TOKEN: &str = "application/logout+jwt";

impl LandingService {
    /// Steps 3 to 5 of a request that has been let in.
    pub(super) async fn attend(
        &self,
        visit: &mut Visit,
        client: Client,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        let endpoint = visit.endpoint()?;
        let asker = if endpoint.shows_quota() {
            self.visitor(&visit.parts.headers)
        } else {
            Asker::Program
        };
        match self.operate(visit, endpoint, client, asker, body).await {
            // What failed before the quota was asked still tells what is left of it.
            Err(problem) if endpoint.shows_quota() && problem.decision.standings().is_empty() => {
                let now = self.app().clock.now();
                let quota = chat::quota(self.app().meter(), now, &client, asker);
                Err(problem.with_decision(quota.await?))
            }
            outcome => outcome,
        }
    }

    /// Steps 4 and 5.
    async fn operate(
        &self,
        visit: &mut Visit,
        endpoint: Endpoint,
        client: Client,
        asker: Asker,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        visit.wanted.check()?;
        let headers = &visit.parts.headers;
        // What no provider may send is not even read.
        if endpoint == Endpoint::Revoke && body::is_of_type(headers, LOGOUT_TOKEN) {
            return Err(Problem::of(Code::IssuerNotEnabled));
        }
        if endpoint.checks_origin() && !self.origins.admits(headers, self.own_origin()) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let body = match endpoint.body() {
            Some(rule) => self.read(client.network, headers, rule, body).await?,
            None => Bytes::new(),
        };
        let call = self.call(visit, client, asker);
        self.run(endpoint, call, body).await
    }

    fn run(&self, endpoint: Endpoint, mut call: Call, body: Bytes) -> Outcome {
        handlers::run(&self.context.unfinished, endpoint, |unawaited| {
            call.unawaited = unawaited;
            handlers::handle(endpoint, call, body)
        })
    }

    /// What an operation is told of a request. Takes headers and URI out of it.
    fn call(&self, visit: &mut Visit, client: Client, asker: Asker) -> Call {
        Call {
            id: visit.id,
            context: Arc::clone(&visit.peer.context),
            unawaited: None,
            client,
            asker,
            headers: std::mem::take(&mut visit.parts.headers),
            uri: std::mem::take(&mut visit.parts.uri),
            // The body may have taken its time.
            now: self.app().clock.now(),
        }
    }

    /// The body of a request from `network`, as `rule` wants it.
    async fn read(
        &self,
        network: Network,
        headers: &HeaderMap,
        rule: BodyRule,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Bytes, Problem> {
        let BodyRule {
            media_type,
            bytes_max,
        } = rule;
        let body = self.bodies.read(network, body, bytes_max).await?;
        let own_origin = self.own_origin();
        let is_empty = body.is_empty();
        body::check_media_type(media_type, headers, own_origin, &self.origins, is_empty)?;
        Ok(body)
    }

    fn visitor(&self, headers: &HeaderMap) -> Asker {
        QuotaCookie::new(self.app().settings.is_https())
            .read(headers, &self.app().secrets.quota_cookie)
            .map_or(Asker::Stranger, Asker::Visitor)
    }
}
