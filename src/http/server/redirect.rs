//! The listener of port 80: redirects clients to the service's `https` URL, and does nothing else.

use hyper::header::{CONNECTION, HOST, HeaderValue, LOCATION};
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri};

use crate::domain::is_same_host;
use crate::http::{ReplyBody, whole};

/// The target of the redirects.
#[derive(Debug)]
pub(crate) struct Redirect {
    base_url: String,
    /// Hosts whose requests are redirected.
    hosts: Vec<String>,
}

impl Redirect {
    /// Redirects requests for the base URL's host, and for the `further` names.
    pub(crate) fn new(base_url: &str, further: Vec<String>) -> Self {
        let uri: Option<Uri> = base_url.parse().ok();
        let mut hosts = further;
        hosts.extend(uri.and_then(|uri| uri.host().map(str::to_owned)));
        Self {
            hosts,
            base_url: base_url.to_owned(),
        }
    }

    /// 308 to the same path of the base URL, which keeps the method (RFC 9110, section 15.4.9). A request for
    /// another host is misdirected (section 15.5.20): otherwise anybody who points a name here would get a
    /// redirect from us.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Response<ReplyBody> {
        let mut response = Response::new(whole(""));
        *response.status_mut() = StatusCode::MISDIRECTED_REQUEST;
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        if let Some(location) = self.location(request.uri(), request.headers()) {
            headers.insert(LOCATION, location);
            *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        }
        response
    }

    fn location(&self, uri: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut hosts = headers.get_all(HOST).iter();
        let host: Authority = match (uri.authority(), hosts.next(), hosts.next()) {
            (Some(authority), _, _) => authority.clone(),
            (None, Some(host), None) => host.to_str().ok()?.parse().ok()?,
            (None, _, _) => return None,
        };
        let path = uri.path_and_query().map(PathAndQuery::as_str)?;
        let is_ours = |name: &String| is_same_host(host.host(), name);
        if !self.hosts.iter().any(is_ours) || !path.starts_with('/') {
            return None;
        }
        HeaderValue::try_from(format!("{}{path}", self.base_url)).ok()
    }
}
