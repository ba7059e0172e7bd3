//! An authority's refusals, in the operator's words.

use instant_acme::{Error, Problem};

use crate::adapters::outbound::root_cause;
use crate::domain::quoted;

/// Prefix of problem types (RFC 8555, section 6.7).
const TYPES: &str = "urn:ietf:params:acme:error:";

/// The type of the problem that the account is unknown, without the prefix.
const NO_ACCOUNT: &str = "accountDoesNotExist";

/// True if the authority does not know the account any more.
pub(super) fn is_of_account(error: &Error) -> bool {
    let Error::Api(problem) = error else {
        return false;
    };
    let kind = problem.r#type.as_deref().unwrap_or_default();
    kind.strip_prefix(TYPES) == Some(NO_ACCOUNT)
}

/// The problem with `names` in words, with the solution; or `cause` if there is one.
pub(super) fn in_words(names: &str, problem: &Problem, cause: Option<String>) -> String {
    let (kind, detail) = (problem.r#type.as_deref(), problem.detail.as_deref());
    told(kind, names, cause, detail)
}

fn told(kind: Option<&str>, names: &str, cause: Option<String>, detail: Option<&str>) -> String {
    let kind = kind.unwrap_or_default();
    let kind = kind.strip_prefix(TYPES).unwrap_or(kind);
    let is_of_network = ["connection", "tls", "unauthorized", "incorrectResponse"].contains(&kind);
    let words = cause.filter(|_| is_of_network);
    let words = words.unwrap_or_else(|| advice(kind, names));
    let detail = quoted(detail.unwrap_or("no reason is given").as_bytes(), None);
    format!("{words} (the authority: {detail})")
}

/// The failure of an order for `names` in words: for each name that it blames, or for all.
pub(super) fn by_name(names: &str, error: &Error) -> Vec<(String, String)> {
    let of_names = if let Error::Api(problem) = error {
        problem.subproblems.as_slice()
    } else {
        &[]
    };
    let blamed = of_names.iter().filter_map(|of_name| {
        let name = of_name.identifier.as_ref()?.authorized(false).to_string();
        let (kind, detail) = (of_name.r#type.as_deref(), of_name.detail.as_deref());
        let words = told(kind, &name, None, detail);
        Some((name, words))
    });
    let blamed: Vec<_> = blamed.collect();
    if blamed.is_empty() {
        return vec![(names.to_owned(), error_in_words(names, error))];
    }
    blamed
}

fn advice(kind: &str, names: &str) -> String {
    match kind {
        "dns" => format!("{names} has no address, or DNS fails: set its A or AAAA record"),
        "connection" => format!(
            "port 443 of {names} cannot be reached: open it in the firewall and the router, and check that the \
             name points to this machine"
        ),
        "tls" | "unauthorized" | "incorrectResponse" => format!(
            "something else responds on port 443 of {names}: the name points elsewhere, or is behind a CDN or a load \
             balancer, such as Cloudflare's proxy, where this cannot work"
        ),
        "caa" => format!("a CAA record of {names} forbids this authority: allow it there"),
        "rateLimited" => "the authority's limit on orders is used up: wait".to_owned(),
        "rejectedIdentifier" => format!("the authority issues no certificate for {names}"),
        "invalidContact" | "unsupportedContact" => {
            "the authority rejects the address of --acme-email".to_owned()
        }
        "externalAccountRequired" => {
            "the authority requires an external account, which is not supported here".to_owned()
        }
        "userActionRequired" => "the authority's terms have changed".to_owned(),
        NO_ACCOUNT => {
            "the authority does not know the account: the next order creates a new one".to_owned()
        }
        "serverInternal" => "the authority has an internal error".to_owned(),
        other => {
            let other = quoted(other.as_bytes(), None);
            format!("the authority refuses an order for {names} ({other})")
        }
    }
}

fn error_in_words(names: &str, error: &Error) -> String {
    match error {
        Error::Api(problem) => in_words(names, problem, None),
        Error::Json(_) => "the authority's response is not ACME: see --acme-directory".to_owned(),
        Error::Timeout(_) => "the authority did not finish the order in time".to_owned(),
        Error::Other(other) => format!("the authority cannot be reached: {}", root_cause(&**other)),
        Error::Crypto
        | Error::KeyRejected
        | Error::Http(_)
        | Error::InvalidUri(_)
        | Error::Unsupported(_)
        | Error::Str(_)
        | _ => format!(
            "the order failed: {}",
            quoted(error.to_string().as_bytes(), None)
        ),
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
            assert!(words.ends_with("(the authority: because [1m)"), "{words}");
        }
        let problem = json!({"type": format!("{TYPES}caa"), "detail": "x".repeat(1000)});
        let problem = serde_json::from_value(problem).unwrap();
        let words = in_words("api.example", &problem, None);
        assert!(words.starts_with("a CAA record of api.example"), "{words}");
        assert!(words.len() < 600, "{words}");
    }
}
