//! Signing in with a link, and out.

use hyper::header::{HeaderValue, SET_COOKIE};
use hyper::{Response, StatusCode};
use minijinja::context;

use crate::domain::time::Timestamp;
use crate::http::admin::reply::AdminBody;
use crate::http::admin::request::Params;

use super::answer::{self, PageError};
use super::page_request::{PageAnswer, PageRequest};
use super::sessions::{SESSION_LIFETIME_S, Sessions};
use super::views::Views;

pub(super) const COOKIE_NAME: &str = "landing-admin";

/// The page that a link opens. It asks for a click, so that programs that only look at links do not use
/// them up.
pub(super) fn show(
    views: &Views,
    sessions: &Sessions,
    query: &Params,
    now: Timestamp,
) -> PageAnswer {
    let link = query.get("link").unwrap_or_default();
    if !sessions.has_link(link, now) {
        return Err(PageError::BadLink);
    }
    let html = views.fill("login.html", "", None, context! { link })?;
    Ok(answer::html(StatusCode::OK, html))
}

/// Opens a session.
pub(super) fn sign_in(sessions: &Sessions, form: &Params, now: Timestamp) -> PageAnswer {
    let link = form.get("link").unwrap_or_default();
    let session = sessions.open(link, now)?.ok_or(PageError::BadLink)?;
    tracing::info!(page = "login", "operator");
    let mut response = answer::see_other("/");
    set_cookie(&mut response, session.token(), SESSION_LIFETIME_S);
    Ok(response)
}

/// Ends the session.
pub(super) async fn sign_out(request: PageRequest) -> PageAnswer {
    request.sessions.close(&request.session, request.now);
    let mut response = answer::see_other("/");
    set_cookie(&mut response, "", 0);
    Ok(response)
}

fn set_cookie(response: &mut Response<AdminBody>, value: &str, max_age_s: u64) {
    let cookie =
        format!("{COOKIE_NAME}={value}; Max-Age={max_age_s}; Path=/; HttpOnly; SameSite=Strict");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}
