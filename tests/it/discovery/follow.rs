//! Whatever a document names is there.

use super::{HTML, SKILL, app, app_at, documents};
use crate::prelude::*;

const BASE_URL: &str = "http://landing.example";

/// Addresses of others that the documents name.
const ELSEWHERE: [&str; 6] = [
    // In an example of a flag.
    "https://www.example.com",
    "http://www.sitemaps.org/",
    "https://iana.org/",
    "https://schemas.agentskills.io/",
    "https://static.modelcontextprotocol.io/",
    "http://www.w3.org/2000/svg",
];

/// What looks like an address and stands for many.
const PATTERNS: [&str; 2] = ["/problems/CODE", "/api/v1/"];

/// Every document of the service, and each page of a problem.
fn paths() -> Vec<String> {
    let problems = Code::ALL.map(|code| format!("/problems/{}", code.as_str()));
    let twins = problems.clone().map(|path| format!("{path}.md"));
    let texts = documents().filter(|(_, media_type)| *media_type != "image/png");
    let paths = texts
        .map(|(path, _)| path)
        .chain([SKILL])
        .map(str::to_owned);
    paths.chain(problems).chain(twins).collect()
}

/// The absolute addresses in a text of any kind, and the paths that HTML links to.
fn addresses(text: &str) -> BTreeSet<String> {
    let ends = |c: char| c.is_whitespace() || "\"'`<>()[]{}|\\,".contains(c);
    let schemes = ["http://", "https://"].into_iter();
    let absolute = schemes.flat_map(|scheme| text.match_indices(scheme));
    let absolute = absolute.map(|(start, _)| text[start..].split(ends).next().unwrap());
    let relative = ["href=\"/", "src=\"/"].into_iter().flat_map(|attribute| {
        let links = text.split(attribute).skip(1);
        links.map(|link| format!("/{}", link.split('"').next().unwrap()))
    });
    let trimmed = |address: String| address.trim_end_matches(['.', ':', ';']).to_owned();
    let all = absolute.map(str::to_owned).chain(relative);
    all.map(trimmed).collect()
}

/// Fetches what one address names and checks that it is there.
async fn follow(app: &TestApp, address: &str, found_in: &str) {
    let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
    let path = if path.is_empty() { "/" } else { path };
    let reply = app.send(Call::get(path)).await;
    let context = format!("{address} in {found_in}");
    match reply.status.as_u16() {
        200 => {
            let (path, _language) = path.split_once('?').unwrap_or((path, ""));
            // Pages alone are HTML.
            let names = documents().filter(|(_, media_type)| *media_type == HTML);
            let mut names = names.map(|(page, _)| page).chain(["/newsletter"]);
            let is_problem = path.starts_with("/problems/") && !path.ends_with(".md");
            let is_page = is_problem || names.any(|page| page == path);
            let is_html = reply.header("content-type") == Some(HTML);
            assert_eq!(is_html, is_page, "{context}");
            if !anchor.is_empty() {
                let id = format!("id=\"{anchor}\"");
                assert!(reply.text().contains(&id), "{context}");
            }
        }
        // It takes only POST, and says so.
        405 => assert_eq!(reply.header("allow"), Some("POST"), "{context}"),
        // It is there to say no.
        400 => assert_eq!(path, "/oauth2/authorize", "{context}"),
        status => panic!("{status}: {context}"),
    }
}

#[tokio::test]
async fn every_address_in_every_document_leads_somewhere() {
    let app = app();
    let mut found = BTreeMap::new();
    for path in paths() {
        for accept in ["*/*", "text/markdown"] {
            let reply = app.send(Call::get(&path).header("accept", accept)).await;
            for address in addresses(reply.text()) {
                found.entry(address).or_insert_with(|| path.clone());
            }
        }
    }
    for other in ELSEWHERE {
        let is_named = found.keys().any(|address| address.starts_with(other));
        assert!(is_named, "{other}");
    }
    let (mut followed, mut unknown) = (0, Vec::new());
    for (address, found_in) in found {
        let is_elsewhere = ELSEWHERE.iter().any(|other| address.starts_with(other));
        let own = Some(address.as_str()).filter(|address| address.starts_with('/'));
        match own.or_else(|| address.strip_prefix(BASE_URL)) {
            Some(path) if PATTERNS.contains(&path) => {}
            Some(path) => {
                follow(&app, path, &found_in).await;
                followed += 1;
            }
            None if is_elsewhere => {}
            None => unknown.push(format!("{address} in {found_in}")),
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
    assert!(followed > 60, "{followed}");
}

#[tokio::test]
async fn every_document_follows_the_base_url() {
    const OTHER: &str = "https://other.test:8443";
    let (app, other) = (app(), app_at(OTHER));
    // What says nothing about where it is.
    const PLACELESS: &str =
        "/style.css /site.js /script/forms.js /embed.js /icon.svg /.well-known/jwks.json";
    for path in paths() {
        for accept in ["*/*", "text/markdown"] {
            let call = Call::get(&path).header("accept", accept);
            let here = app.expect("200", call.clone()).await;
            let there = other.expect("200", call).await;
            for stale in ["landing.example", "example.landing"] {
                assert!(!there.text().contains(stale), "{path}");
            }
            if PLACELESS.split(' ').any(|it| it == path) {
                assert_eq!(here.body, there.body, "{path}");
            } else {
                assert!(there.text().contains(OTHER), "{path}");
            }
        }
    }
}

#[test]
fn the_reader_of_addresses_reads_them() {
    let text =
        "See <http://a.b/c>, [d](https://e.f/g#h), `http://i`. \"https://j/k\": <a href=\"/l\">";
    let found: Vec<_> = addresses(text).into_iter().collect();
    let expected = "/l http://a.b/c http://i https://e.f/g#h https://j/k";
    assert_eq!(found.join(" "), expected);
}
