//! Requests that come from the admin page itself, or from somebody who opens it.
//!
//! A page elsewhere can send requests with the operator's cookie, or under a name of its own that resolves to
//! this address (DNS rebinding). The path of a session, which nobody else knows, stops it, too.

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{HeaderMap, Method};

use crate::domain::{is_same_origin, is_this_machine, rootless};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// True if the `Host` header is this machine: `localhost`, or a loopback address. The port may be that of a
/// tunnel.
pub(super) fn is_local_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let authority = Authority::try_from(host.as_bytes());
    authority
        .is_ok_and(|host| !host.as_str().contains('@') && is_this_machine(rootless(host.host())))
}

/// True if no page elsewhere sent the request, or it only opens a page.
pub(super) fn is_own(head: &Parts) -> bool {
    let headers = &head.headers;
    let is = |name: &HeaderName, value: &str| headers.get(name).is_some_and(|sent| sent == value);
    match headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes) {
        Some(b"same-origin" | b"none") => true,
        // A link was followed.
        Some(_) => {
            matches!(head.method, Method::GET | Method::HEAD)
                && is(&SEC_FETCH_MODE, "navigate")
                && is(&SEC_FETCH_DEST, "document")
        }
        // No current browser, unless a proxy removes the header.
        None => match headers.get(ORIGIN) {
            None => true,
            Some(origin) => is_origin_of(origin, headers),
        },
    }
}

/// True if `origin` is that of the requested host.
fn is_origin_of(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_of = |host| {
        is_same_origin(
            origin.to_str().unwrap_or_default(),
            &format!("http://{host}"),
        )
    };
    host.is_some_and(is_of)
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn head(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/contacts");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        let is_local = |host| is_local_host(&head("GET", &[("host", host)]).headers);
        for host in "localhost LocalHost:9090 localhost.:9090 127.0.0.1. 127.0.0.1:9090 127.1.2.3 \
             [::1]:9090 [::1]"
            .split(' ')
        {
            assert!(is_local(host), "{host}");
        }
        let other = " localhost.. localhost.evil.example evil.example 127.0.0.1.evil.example:9090 0.0.0.0:9090 \
             192.0.2.1:9090 [::]:9090 [::2]:9090 ::1 evil@localhost localhost@evil.example localhost/ \
             http://localhost 2130706433";
        for host in other.split(' ') {
            assert!(!is_local(host), "{host}");
        }
        assert!(!is_local_host(&HeaderMap::new()));
        let two = head("GET", &[("host", "localhost"), ("host", "localhost")]);
        assert!(!is_local_host(&two.headers));
    }

    #[test]
    fn pages_elsewhere_may_open_a_page_and_no_more() {
        const OPENS: [(&str, &str); 2] = [
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        for (site, may_read, may_open, may_change) in [
            ("same-origin", true, true, true),
            ("none", true, true, true),
            ("same-site", false, true, false),
            ("cross-site", false, true, false),
            ("new", false, true, false),
            ("", false, true, false),
        ] {
            let own = |method, more: &[(&str, &str)]| {
                let mut headers = vec![("sec-fetch-site", site)];
                headers.extend(more);
                is_own(&head(method, &headers))
            };
            assert_eq!(own("GET", &[]), may_read, "{site}");
            let frame = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
            assert_eq!(own("GET", &frame), may_read, "{site}");
            assert_eq!(own("GET", &OPENS), may_open, "{site}");
            assert_eq!(own("HEAD", &OPENS), may_open, "{site}");
            assert_eq!(own("POST", &OPENS), may_change, "{site}");
            // Our pages send no referrer, so browsers send nothing more than this.
            let private = [OPENS[0], OPENS[1], ("origin", "null")];
            assert_eq!(own("POST", &private), may_change, "{site}");
        }
    }

    #[test]
    fn without_its_site_the_origin_decides() {
        for (origin, expected) in [
            (None, true),
            (Some("http://localhost:9090"), true),
            (Some("http://LOCALHOST.:9090"), true),
            (Some("http://localhost:9091"), false),
            (Some("https://localhost:9090"), false),
            (Some("http://localhost"), false),
            (Some("https://evil.example"), false),
            (Some("null"), false),
            (Some(""), false),
        ] {
            let mut headers = vec![("host", "localhost:9090")];
            headers.extend(origin.map(|origin| ("origin", origin)));
            assert_eq!(is_own(&head("POST", &headers)), expected, "{origin:?}");
        }
    }
}
