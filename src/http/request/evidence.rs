//! The evidence of a sign-up in its request.

use hyper::HeaderMap;
use hyper::header::{HeaderName, ORIGIN, REFERER};
use url::Url;

use crate::domain::{Consent, Language, SignUpWay, Source, TextDigest, is_same_origin};
use crate::http::RequestContext;
use crate::usecases::subscribe::Evidence;

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

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
