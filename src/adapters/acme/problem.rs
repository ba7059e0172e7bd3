//! What an authority refuses, in the operator's words.

use instant_acme::{Error, Problem};

use crate::adapters::outbound::root_cause;

/// What precedes the types of problems (RFC 8555, section 6.7).
const TYPES: &str = "urn:ietf:params:acme:error:";

/// The most characters of the authority's own words.
const DETAIL_CHARS_MAX: usize = 400;

/// The account is not known any more. The next order makes another one.
pub(super) const NO_ACCOUNT: &str = "accountDoesNotExist";

/// The end of a problem's type.
pub(super) fn kind(problem: &Problem) -> &str {
    let kind = problem.r#type.as_deref().unwrap_or_default();
    kind.strip_prefix(TYPES).unwrap_or(kind)
}

/// What is wrong with `names`, and what to do.
pub(super) fn in_words(names: &str, problem: &Problem) -> String {
    let first = problem.subproblems.first();
    let (kind, detail) = match first.and_then(|it| it.r#type.as_deref()) {
        Some(of_name) => (
            of_name.strip_prefix(TYPES).unwrap_or(of_name),
            first.and_then(|it| it.detail.as_deref()),
        ),
        None => (kind(problem), problem.detail.as_deref()),
    };
    let words = advice(kind, names);
    let detail = detail.unwrap_or("no reason is given");
    let is_shown = |c: &char| !c.is_control();
    let detail: String = detail
        .chars()
        .filter(is_shown)
        .take(DETAIL_CHARS_MAX)
        .collect();
    format!("{words} (the authority: {detail})")
}

fn advice(kind: &str, names: &str) -> String {
    match kind {
        "dns" => format!("{names} has no address, or DNS fails: set its A or AAAA record"),
        "connection" => format!(
            "port 443 of {names} cannot be reached: open it in the firewall and the router, and see whether the \
             name points to this machine"
        ),
        "tls" | "unauthorized" | "incorrectResponse" => format!(
            "something else answers at port 443 of {names}: the name points elsewhere, or is behind a CDN or a load \
             balancer, such as Cloudflare's proxy, where this cannot work"
        ),
        "caa" => format!("a CAA record of {names} forbids this authority: allow it there"),
        "rateLimited" => "the authority has a limit on orders, and it is used up: wait".to_owned(),
        "rejectedIdentifier" => format!("the authority gives no certificate for {names}"),
        "invalidContact" | "unsupportedContact" => {
            "the authority does not take the address of --acme-email".to_owned()
        }
        "externalAccountRequired" => {
            "the authority wants an account that is made elsewhere, which cannot be named here"
                .to_owned()
        }
        "userActionRequired" => "the authority's terms have changed".to_owned(),
        NO_ACCOUNT => {
            "the authority does not know the account: the next order makes another one".to_owned()
        }
        "serverInternal" => "the authority has a fault of its own".to_owned(),
        other => format!("the authority refuses an order for {names} ({other})"),
    }
}

/// What failed, in words.
pub(super) fn error_in_words(names: &str, error: &Error) -> String {
    match error {
        Error::Api(problem) => in_words(names, problem),
        Error::Json(_) => "the authority's answer is not of ACME: see --acme-directory".to_owned(),
        Error::Timeout(_) => "the authority did not finish the order in time".to_owned(),
        Error::Other(other) => format!("the authority cannot be asked: {}", root_cause(&**other)),
        Error::Crypto
        | Error::KeyRejected
        | Error::Http(_)
        | Error::InvalidUri(_)
        | Error::Unsupported(_)
        | Error::Str(_)
        | _ => format!("the order failed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_is_told_with_what_to_do() {
        for (kind, told) in [
            ("dns", "set its A or AAAA record"),
            ("connection", "port 443 of api.example cannot be reached"),
            ("tls", "behind a CDN"),
            ("unauthorized", "behind a CDN"),
            ("rateLimited", "used up: wait"),
            ("caa", "forbids this authority"),
            ("invalidContact", "--acme-email"),
            ("malformed", "refuses an order for api.example (malformed)"),
        ] {
            let problem = json!({"type": format!("{TYPES}{kind}"), "detail": "because\n\u{1b}[1m"});
            let error = Error::Api(serde_json::from_value(problem).unwrap());
            let words = error_in_words("api.example", &error);
            assert!(words.contains(told), "{kind}: {words}");
            assert!(words.ends_with("(the authority: because[1m)"), "{words}");
        }
        let problem = json!({"type": "malformed", "subproblems": [
            {"type": format!("{TYPES}caa"), "detail": "x".repeat(1000)},
        ]});
        let words = in_words("api.example", &serde_json::from_value(problem).unwrap());
        assert!(words.starts_with("a CAA record of api.example"), "{words}");
        assert!(words.len() < 600, "{words}");
    }
}
