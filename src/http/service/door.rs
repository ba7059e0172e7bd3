//! The door: who is asking, may they come in, and is there anything to wait for?

use std::sync::Arc;

use hyper::body::{Body, Bytes};
use hyper::http::request::Parts;

use crate::domain::client::Client;
use crate::domain::decision::Decision;
use crate::http::body::BodyError;
use crate::http::handlers::{self, HeldContext};
use crate::http::identity;
use crate::http::problem::{Code, Problem};
use crate::http::reply::Reply;
use crate::http::route::{Endpoint, Plain};
use crate::http::visit::Visit;
use crate::ports::Answer;
use crate::usecases::admit;
use crate::usecases::meter::Meter;

use super::LandingService;

/// How far a request has come without waiting.
pub(super) enum Begun {
    /// It waits at the door, mostly for its credential to be looked up.
    Outside,
    /// It has been let in.
    Inside(Client),
    /// It has come to its end.
    Over(Result<Reply, Problem>),
}

impl LandingService {
    /// Steps 2 to 5, as far as nothing has to be waited for. What the door says is left in
    /// `decision`.
    pub(super) fn at_once(
        &self,
        visit: &Visit,
        context: &Arc<HeldContext>,
        decision: &mut Decision,
    ) -> Begun {
        if identity::presents_any(&visit.parts.headers) {
            return Begun::Outside;
        }
        let client = visit.client(None);
        match admit::admit(self.meter(visit), visit.now, &client) {
            Answer::Ready(Ok(admitted)) => *decision = admitted,
            Answer::Ready(Err(error)) => return Begun::Over(Err(error.into())),
            Answer::Pending(_) => return Begun::Outside,
        }
        match let_in(decision).and_then(|()| visit.endpoint()) {
            Err(problem) => Begun::Over(Err(problem)),
            Ok(Endpoint::Plain(plain)) if visit.wanted.check().is_ok() => {
                let Parts { uri, headers, .. } = &visit.parts;
                match handlers::answer(plain, context, uri.path(), headers) {
                    Answer::Ready(outcome) => Begun::Over(outcome),
                    Answer::Pending(_) => Begun::Inside(client),
                }
            }
            Ok(_) => Begun::Inside(client),
        }
    }

    /// Steps 2 to 5. What the door says is left in `decision`, whatever happens later.
    pub(super) async fn exchange(
        &self,
        visit: &mut Visit,
        context: Arc<HeldContext>,
        decision: &mut Decision,
        body: impl Body<Data = Bytes, Error: Into<BodyError>>,
    ) -> Result<Reply, Problem> {
        let client = self.open_door(decision, visit).await?;
        self.attend(visit, context, client, body).await
    }

    /// Finds out who is asking and counts the request.
    async fn open_door(&self, decision: &mut Decision, visit: &Visit) -> Result<Client, Problem> {
        let (now, headers) = (visit.now, &visit.parts.headers);
        let credentials = self.app().credentials();
        let authenticated = identity::authenticate(credentials, now, headers, visit.area).await;
        let credential = authenticated.as_ref().ok().copied().flatten();
        let client = visit.client(credential);
        *decision = admit::admit(self.meter(visit), now, &client).await?;
        let_in(decision)?;
        authenticated.map(|_credential| client)
    }

    fn meter(&self, visit: &Visit) -> Meter<'_> {
        Meter {
            known: Some(visit.peer_network),
            ..self.app().meter()
        }
    }

    /// Tells the operator of a proxy that has to be named or configured.
    pub(super) fn watch_proxies(&self, visit: &Visit) {
        let is_probe = visit.route.leads_to(Endpoint::Plain(Plain::Health));
        self.proxy_warnings
            .observe(visit.peer_address, visit.client_ip.forwarding, is_probe);
    }
}

/// Whether the door's decision lets a request in.
fn let_in(decision: &Decision) -> Result<(), Problem> {
    if decision.is_refused() {
        return Err(Problem::refused(Code::RateLimited, decision));
    }
    Ok(())
}
