//! The OAuth metadata: what RFC 9728, RFC 8414 and `OpenID` Connect Discovery demand of it, and that
//! the documents agree.

use super::{app_at, get};
use crate::prelude::*;

const BASE_URL: &str = "https://api.landing.example";

async fn document(app: &TestApp, name: &str) -> Value {
    get(app, &format!("/.well-known/{name}")).await.json()
}

#[tokio::test]
async fn the_resource_is_this_origin_and_so_is_its_authorization_server() {
    let app = app_at(BASE_URL);
    let resource = document(&app, "oauth-protected-resource").await;
    let expected = json!({
        "resource": BASE_URL,
        "resource_name": "Landing API",
        "authorization_servers": [BASE_URL],
        "scopes_supported": ["public"],
        "bearer_methods_supported": ["header"],
        "resource_documentation": format!("{BASE_URL}/auth.md"),
    });
    assert_eq!(resource, expected);
    // The only member of any of the documents that is empty (RFC 8414, section 3.2; RFC 9728, section 3.2).
    assert_eq!(document(&app, "jwks.json").await, json!({ "keys": [] }));
}

#[tokio::test]
async fn the_authorization_server_promises_what_it_does_and_no_more() {
    let app = app_at(BASE_URL);
    let server = document(&app, "oauth-authorization-server").await;
    let url = |path: &str| Value::from(format!("{BASE_URL}{path}"));
    let expected = json!({
        "issuer": BASE_URL,
        "authorization_endpoint": url("/oauth2/authorize"),
        "token_endpoint": url("/oauth2/token"),
        "jwks_uri": url("/.well-known/jwks.json"),
        "revocation_endpoint": url("/agent/auth/revoke"),
        "revocation_endpoint_auth_methods_supported": ["none"],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": ["none"],
        "scopes_supported": ["public"],
        "service_documentation": url("/auth.md"),
        "protected_resources": [BASE_URL],
        "agent_auth": {
            "skill": url("/auth.md"),
            "register_uri": url("/agent/auth"),
            "claim_uri": url("/agent/auth/claim"),
            "revocation_uri": url("/agent/auth/revoke"),
            "identity_types_supported": ["anonymous"],
            "anonymous": { "credential_types_supported": ["access_token"] },
        },
    });
    assert_eq!(server, expected);
}

#[tokio::test]
async fn openid_configuration_is_the_same_and_what_that_format_demands() {
    let app = app_at(BASE_URL);
    let mut openid = document(&app, "openid-configuration").await;
    let members = openid.as_object_mut().unwrap();
    for (name, expected) in [
        ("subject_types_supported", json!(["public"])),
        ("id_token_signing_alg_values_supported", json!(["RS256"])),
    ] {
        assert_eq!(members.remove(name), Some(expected));
    }
    let server = document(&app, "oauth-authorization-server").await;
    assert_eq!(openid, server);
}

/// Of auth.md.
const SECTIONS: &str =
    "Discover|Register|Use the credential|Token endpoint|Errors|Revocation|Claim|ID tokens";

#[tokio::test]
async fn auth_md_says_what_the_metadata_says() {
    let app = app_at(BASE_URL);
    let auth = super::text(&app, "/auth.md").await;
    let heading = auth.lines().next().unwrap();
    assert!(heading.starts_with("# ") && heading.contains("auth.md"));
    for section in SECTIONS.split('|') {
        assert!(auth.contains(&format!("\n## {section}\n")), "{section}");
    }
    let openid = document(&app, "openid-configuration").await;
    let block = &openid["agent_auth"];
    for url in [
        &openid["token_endpoint"],
        &openid["jwks_uri"],
        &openid["authorization_endpoint"],
        &openid["revocation_endpoint"],
        &block["register_uri"],
        &block["claim_uri"],
        &block["revocation_uri"],
    ] {
        assert!(auth.contains(url.as_str().unwrap()), "{url}");
    }
}

#[tokio::test]
async fn auth_md_lists_errors_that_there_are() {
    let auth = super::text(&app_at(BASE_URL), "/auth.md").await;
    let (_, errors) = auth.split_once("\n## Errors\n").unwrap();
    let (errors, _) = errors.split_once("\n## ").unwrap();
    let mut listed = Vec::new();
    let rows = errors.lines().filter(|line| line.starts_with("| `"));
    for row in rows.skip(1) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        let name = cells[0].trim_matches([' ', '`']);
        let status = match Code::from_name(name) {
            Some(code) => &code.status().as_u16().to_string(),
            // OAuth's words for what we tell apart.
            None => match name {
                "invalid_request" => "4xx",
                "temporarily_unavailable" => "503",
                "server_error" => "500",
                other => panic!("{other}"),
            },
        };
        listed.push(name);
        assert_eq!(cells[1], status, "{name}");
    }
    for name in Code::ALL.map(Code::as_str) {
        let is_ours = name.ends_with("_not_enabled");
        assert!(!is_ours || listed.contains(&name), "{name}");
    }
    assert!(listed.len() >= 10, "{listed:?}");
}
