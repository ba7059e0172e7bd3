//! Inside: a request that has been let in, its body and its operation.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::body::{Body, Bytes};

use crate::domain::client::{Client, Network};
use crate::http::body::{self, BodyError};
use crate::http::cookie::QuotaCookie;
use crate::http::handlers::{self, Call, HeldContext, Outcome};
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::route::{BodyRule, Endpoint};
use crate::http::version::Wanted;
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
        context: Arc<HeldContext>,
        client: Client,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        let endpoint = visit.endpoint()?;
        let asker = if endpoint.shows_quota() {
            self.visitor(&visit.parts.headers)
        } else {
            Asker::Program
        };
        let call = Call {
            id: visit.id,
            context,
            unawaited: None,
            client,
            asker,
            headers: std::mem::take(&mut visit.parts.headers),
            uri: std::mem::take(&mut visit.parts.uri),
            now: visit.now,
        };
        match self.operate(visit.wanted, endpoint, call, body).await {
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
        wanted: Wanted,
        endpoint: Endpoint,
        mut call: Call,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        wanted.check()?;
        let headers = &call.headers;
        // What no provider may send is not even read.
        if endpoint == Endpoint::Revoke && body::is_of_type(headers, LOGOUT_TOKEN) {
            return Err(Problem::of(Code::IssuerNotEnabled));
        }
        if endpoint.checks_origin() && !self.origins.admits(headers, self.own_origin()) {
            return Err(Problem::of(Code::OriginNotAllowed));
        }
        let body = match endpoint.body() {
            Some(rule) => self.read(call.client.network, headers, rule, body).await?,
            None => Bytes::new(),
        };
        // The body may have taken its time.
        call.now = self.app().clock.now();
        self.run(endpoint, call, body).await
    }

    fn run(&self, endpoint: Endpoint, mut call: Call, body: Bytes) -> Outcome {
        handlers::run(&self.context.unfinished, endpoint, |unawaited| {
            call.unawaited = unawaited;
            handlers::handle(endpoint, call, body)
        })
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
