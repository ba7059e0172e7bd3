//! The checks for bots: a field that people do not see, the time that they need, and a proof of work.
//!
//! A form without a stamp comes from a page that is not made for one visitor, and is taken; so is one
//! without a proof, as long as few come from its network.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, HeaderValue};
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::{
    FormStamp, Proof, Timestamp, proof_of_work::ALGORITHM, proof_of_work::Challenge,
    proof_of_work::NUMBER_MAX, proof_of_work::Solution,
};
use crate::http::answer::reply::NO_STORE;
use crate::http::{Endpoint, Problem, Reply, RequestContext};
use crate::ports::random;

use crate::http::handlers::newsletter_form::fields::FormFields;

pub(crate) const CHALLENGE: Endpoint = Endpoint {
    name: "newsletter.challenge",
    paths: &["/newsletter/challenge"],
    is_described: false,
    ..Endpoint::get(|context, _body| Box::pin(async move { challenge(&context) }))
};

/// A challenge as ALTCHA's protocol has it.
pub(super) fn new_challenge(app: &App, now: Timestamp) -> Result<Value, Problem> {
    let random = random(&*app.entropy).map_err(Problem::fault)?;
    let made = Challenge::new(random, now, &app.secrets.form);
    Ok(json!({
        "algorithm": ALGORITHM,
        "challenge": made.challenge,
        "maxnumber": NUMBER_MAX,
        "salt": made.salt,
        "signature": made.signature,
    }))
}

/// A challenge for the widget of a form on any page.
fn challenge(context: &RequestContext) -> Result<Reply, Problem> {
    let challenge = new_challenge(context.app(), context.now)?;
    let mut reply = Reply::json(StatusCode::OK, &challenge)?;
    reply.headers.insert(CACHE_CONTROL, NO_STORE);
    let any = HeaderValue::from_static("*");
    reply.headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
    Ok(reply)
}

/// The check that a form did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The field that people do not see was filled in.
    Bot,
    /// It came sooner than people can fill it in.
    Hasty,
    /// It came too late, or with a forged stamp or a wrong proof.
    Again,
}

/// Checks a form, and returns the proof that it brings, if any.
pub(super) fn check(
    context: &RequestContext,
    fields: &FormFields,
) -> Result<Option<Proof>, Stopped> {
    let (app, now) = (context.app(), context.now);
    if !app.settings.checks_forms {
        return Ok(None);
    }
    let stopped = &app.metrics.forms;
    if fields.website.is_some() {
        stopped.honeypot.increase();
        return Err(Stopped::Bot);
    }
    if let Some(began) = &fields.began {
        let stamp = FormStamp::decode(began, &app.secrets.form);
        let stamp = stamp.filter(|stamp| !stamp.is_expired(now));
        if stamp.is_none_or(|stamp| stamp.is_hasty(now)) {
            stopped.stamp.increase();
            return Err(stamp.map_or(Stopped::Again, |_hasty| Stopped::Hasty));
        }
    }
    let Some(altcha) = &fields.altcha else {
        return Ok(None);
    };
    let proof = proof(altcha, now, app);
    if proof.is_none() {
        stopped.proof.increase();
        return Err(Stopped::Again);
    }
    Ok(proof)
}

/// The proof in a solution as ALTCHA's widget sends it: JSON in base64.
fn proof(altcha: &str, now: Timestamp, app: &App) -> Option<Proof> {
    let json = STANDARD.decode(altcha).ok()?;
    let payload: Value = serde_json::from_slice(&json).ok()?;
    let text = |name| payload.get(name)?.as_str();
    let solution = Solution {
        algorithm: text("algorithm")?,
        challenge: text("challenge")?,
        number: payload.get("number")?.as_u64()?,
        salt: text("salt")?,
        signature: text("signature")?,
    };
    solution.verify(now, &app.secrets.form)
}
