//! Pages that are rendered for one request, which caches may not keep: forms, and failures in words for
//! whoever asks for HTML outside the API.

use hyper::header::{
    CACHE_CONTROL, CONTENT_LANGUAGE, CONTENT_TYPE, HeaderValue, REFERRER_POLICY, VARY,
};
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::domain::{Decision, Language};
use crate::site::HTML;
use crate::site::templates::Templates;

use crate::http::answer::documents::{NO_REFERRER, PAGE_HEADERS};
use crate::http::answer::reply::NO_STORE;
use crate::http::request::negotiate;
use crate::http::{Area, Problem, Reply, RequestContext, whole};

/// What is rendered.
#[derive(Debug)]
pub(crate) struct WrittenPage<'a> {
    pub(crate) status: StatusCode,
    pub(crate) language: Language,
    /// The template of what stands in the frame.
    pub(crate) layout: &'a str,
    /// The key of the message that is its title.
    pub(crate) title: &'a str,
    /// Where the page can be read again, if it can.
    pub(crate) path: Option<&'a str>,
    /// What the layout uses.
    pub(crate) values: Value,
}

impl WrittenPage<'_> {
    /// The page as an answer.
    ///
    /// # Errors
    /// A problem when it cannot be rendered, which is a bug.
    pub(crate) fn reply(&self, templates: &Templates) -> Result<Reply, Problem> {
        let (title, path) = (self.title, self.path);
        let html = templates.page(self.language, self.layout, title, path, &self.values);
        let html = html.map_err(Problem::fault)?;
        let language = HeaderValue::from_static(self.language.as_str());
        let mut headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static(HTML)),
            (CONTENT_LANGUAGE, language),
            (CACHE_CONTROL, NO_STORE),
            (VARY, HeaderValue::from_static("Accept-Language")),
        ]);
        headers.extend(PAGE_HEADERS);
        Ok(Reply::new(self.status, headers, whole(html)))
    }
}

/// The page for `problem`, with the headers that the problem has. `None` unless the request wants a page rather than a
/// problem: it names HTML, and likes JSON no better. `None` also if the page cannot be rendered.
pub(crate) fn failure_page(
    context: &RequestContext,
    problem: &Problem,
    decision: &Decision,
) -> Option<Reply> {
    const OFFERED: [&str; 3] = ["application/problem+json", "application/json", "text/html"];
    let chosen = || negotiate::choose(context.headers(), OFFERED.into_iter());
    if context.area != Area::Site || chosen() != 2 {
        return None;
    }
    let status = problem.code.status();
    let (title, text_key) = match status {
        StatusCode::NOT_FOUND => ("error-not-found-title", "error-not-found"),
        StatusCode::METHOD_NOT_ALLOWED => ("error-method-title", "error-method"),
        StatusCode::TOO_MANY_REQUESTS => ("error-too-many-title", "error-too-many"),
        status if status.is_server_error() => ("error-broken-title", "error-broken"),
        _ => ("error-other-title", "error-other"),
    };
    let page = WrittenPage {
        status,
        language: context.language(),
        layout: "parts/error.html",
        title,
        path: None,
        values: json!({
            // The keys of its messages.
            "title": title,
            "status": status.as_u16(),
            "text_key": text_key,
            // After how many seconds to try again.
            "wait_s": decision.binding().map_or(0, |standing| standing.reset_s()),
            "id": context.id.0.to_string(),
        }),
    };
    let mut reply = page.reply(&context.state().templates).ok()?;
    let headers = reply.response.headers_mut();
    headers.extend(problem.headers.iter().cloned().collect::<HeaderMap>());
    // A failure may be that of an email's link.
    headers.insert(REFERRER_POLICY, NO_REFERRER);
    headers.insert(VARY, HeaderValue::from_static("Accept, Accept-Language"));
    Some(reply)
}
