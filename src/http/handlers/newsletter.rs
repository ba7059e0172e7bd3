//! `POST /api/v1/newsletter` and its legacy alias sign up an email address.

use hyper::body::Bytes;
use hyper::header::{HeaderName, ORIGIN, REFERER};
use hyper::{HeaderMap, StatusCode};
use serde_json::json;
use url::Url;

use crate::domain::{
    Consent, EmailAddress, EmailError, Language, SignUpWay, Source, TextDigest, is_same_origin,
};
use crate::http::endpoint::later;
use crate::http::request::json;
use crate::http::{BodyRule, Endpoint, Problem, Reply, RequestContext, Unknown};
use crate::site::tools::Tool;
use crate::usecases::subscribe::{Evidence, subscribe};

pub(crate) const SUBSCRIBE: Endpoint = Endpoint {
    name: "newsletter.subscribe",
    paths: &["/api/v1/newsletter", "/api/newsletter"],
    body: Some(BodyRule::json(8)),
    has_effects: true,
    tool: Some((Tool::SubscribeNewsletter, |context, arguments| {
        later(sign_up(context.clone(), arguments, SignUpWay::Tool))
    })),
    ..Endpoint::post(|context, body| later(sign_up(context.clone(), body, way(context))))
};

/// Origin of the sign-up: browsers send the origin of the page whose script calls the API.
fn way(context: &RequestContext) -> SignUpWay {
    match context.headers().contains_key(ORIGIN) {
        true => SignUpWay::Element,
        false => SignUpWay::Api,
    }
}

/// Responds with a `NewsletterSubscribeResponse`.
async fn sign_up(context: RequestContext, body: Bytes, way: SignUpWay) -> Result<Reply, Problem> {
    let email = read_request(&body)?;
    let app = context.app();
    // The body allows no other fields, so a page puts its name in the query. Invalid names are left out.
    let named = context.query_parameter("source");
    let language = (way == SignUpWay::Element).then(|| context.language());
    let evidence = evidence(&context, way, named.as_deref(), language);
    let subscribed = subscribe(app.newsletter(), &context.client, email, evidence).await?;
    let mode = match subscribed.is_notified {
        true => "notify",
        false => "contact",
    };
    let already_exists = subscribed.already_exists;
    let response = json!({ "ok": true, "mode": mode, "alreadyExists": already_exists });
    Ok(Reply::json(StatusCode::OK, response).with_decision(subscribed.decision))
}

/// Reads a `NewsletterSubscribeRequest`.
fn read_request(body: &[u8]) -> Result<EmailAddress, Problem> {
    json::read(body, Unknown::Rejected, |object, errors| {
        let email = object.required("email", errors)?;
        email.parsed(errors, |text| EmailAddress::parse(&text))
    })
}

/// The evidence of a sign-up by `way`, from a page that calls itself `source`, in `language`.
pub(crate) fn evidence(
    context: &RequestContext,
    way: SignUpWay,
    source: Option<&str>,
    language: Option<Language>,
) -> Evidence {
    let (settings, headers) = (&context.app().settings, context.headers());
    // The wording on other pages is unknown.
    let is_own =
        text(headers, ORIGIN).is_some_and(|origin| is_same_origin(origin, &settings.base_url));
    let templates = &context.state().templates;
    let asked_with = |language| templates.consent_text(language);
    let named = source.and_then(Source::parse);
    let text = language.filter(|_| is_own).and_then(asked_with);
    let consent = Consent {
        at: context.now,
        way,
        language,
        text: text.as_deref().map(TextDigest::of),
        source: named.or_else(|| page(headers)),
        ip: settings.keeps_consent_ip.then_some(context.address),
    };
    Evidence { consent, text }
}

/// The page in the browser's `Referer` or `Origin`: its origin and path, or its origin if that is too long.
fn page(headers: &HeaderMap) -> Option<Source> {
    let referer = text(headers, REFERER).and_then(|text| Url::parse(text).ok());
    let page = referer.filter(|url| matches!(url.scheme(), "http" | "https"));
    let origin = text(headers, ORIGIN).filter(|text| *text != "null");
    let Some(url) = page else {
        return origin.and_then(Source::parse);
    };
    let origin = url.origin().ascii_serialization();
    Source::parse(&format!("{origin}{}", url.path())).or_else(|| Source::parse(&origin))
}

/// The header `name`, if it is text.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

impl json::Invalidity for EmailError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLong => "length",
            Self::Malformed => "format",
        }
    }
}
