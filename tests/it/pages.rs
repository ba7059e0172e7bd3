//! The pages: sound HTML that brings in nothing from elsewhere, says the truth about the
//! configuration, and tells what to do where no script runs.

use std::collections::{BTreeSet, HashMap};

use landing_api::domain::policy::PolicyName;
use landing_api::domain::settings::SignUpsGo;
use landing_api::http::router::ENDPOINTS;
use landing_api::site::{Document, HTML, SiteFacts};

use crate::harness::{Call, Setup, TestApp, is_described};
use crate::site::{document, facts, file, render, text, variants};

/// A start tag: its name, and its attributes with their values.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        Some(&attributes.find(|(other, _)| other == name)?.1)
    }
}

/// The start tags of a page. Text has no `<` in it, and values are in double quotes.
fn tags(html: &str) -> Vec<Tag> {
    html.split('<')
        .skip(1)
        .filter(|tag| !tag.starts_with(['/', '!']))
        .map(|tag| {
            let (tag, _) = tag.split_once('>').unwrap();
            let (name, mut rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
            let mut attributes = Vec::new();
            while !rest.trim_start().is_empty() {
                rest = rest.trim_start();
                let end = rest.find([' ', '=', '\n']).unwrap_or(rest.len());
                let name = rest[..end].to_owned();
                rest = &rest[end..];
                let value = match rest.strip_prefix("=\"") {
                    Some(quoted) => {
                        let (value, after) = quoted.split_once('"').unwrap();
                        rest = after;
                        unescaped(value)
                    }
                    None => String::new(),
                };
                attributes.push((name, value));
            }
            Tag {
                name: name.to_owned(),
                attributes,
            }
        })
        .collect()
}

/// The value of an attribute as a browser reads it.
pub(crate) fn unescaped(value: &str) -> String {
    let entities = "&#x2f;/ &#x27;' &quot;\" &lt;< &gt;> &amp;&";
    entities.split(' ').fold(value.to_owned(), |text, entity| {
        let (entity, character) = entity.split_at(entity.len() - 1);
        text.replace(entity, character)
    })
}

fn pages(facts: &SiteFacts) -> Vec<(String, String)> {
    let site = render(facts);
    let pages = site.documents.iter().filter_map(|document: &Document| {
        let form = &document.representations[0];
        (form.media_type == HTML).then(|| (document.path.clone(), text(form).to_owned()))
    });
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() > 20, "{}", pages.len());
    pages
}

#[test]
fn pages_bring_in_nothing_from_elsewhere_and_nothing_inline() {
    for facts in variants() {
        let site = render(&facts);
        for (path, page) in pages(&facts) {
            for tag in tags(&page) {
                for (attribute, value) in &tag.attributes {
                    assert!(!attribute.starts_with("on"), "{attribute} in {path}");
                    assert_ne!(attribute, "style", "{path}");
                    let is_fetched = attribute == "src" || (tag.name == "link");
                    if is_fetched && matches!(&**attribute, "src" | "href") {
                        let own = value.strip_prefix(&facts.settings.base_url);
                        let own = own.unwrap_or(value).split('?').next().unwrap();
                        let is_there = |document: &Document| document.path == own;
                        assert!(site.documents.iter().any(is_there), "{value} in {path}");
                    }
                }
                assert_ne!(tag.name, "style", "{path}");
            }
            assert_eq!(page.matches("<script").count(), 1, "{path}");
            let script = "<script type=\"module\" blocking=\"render\" src=\"/site.js?v=";
            assert!(page.contains(script), "{path}");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    for facts in variants() {
        let mut ids: HashMap<String, Vec<String>> = HashMap::new();
        let pages = pages(&facts);
        for (path, page) in &pages {
            let tags = tags(page);
            let of_page = ids.entry(path.clone()).or_default();
            for id in tags.iter().filter_map(|tag| tag.attribute("id")) {
                assert!(!of_page.contains(&id.to_owned()), "{id} twice in {path}");
                of_page.push(id.to_owned());
            }
        }
        let site = render(&facts);
        for (path, page) in &pages {
            for tag in tags(page) {
                for name in ["for", "aria-describedby", "aria-labelledby"] {
                    for id in tag.attribute(name).unwrap_or_default().split(' ') {
                        assert!(id.is_empty() || ids[path].contains(&id.to_owned()), "{id}");
                    }
                }
                let Some(href) = tag.attribute("href") else {
                    continue;
                };
                let own = href.strip_prefix(&facts.settings.base_url).unwrap_or(href);
                if own.starts_with("http") {
                    let settings = &facts.settings;
                    let outside = [
                        &settings.erp_url,
                        &settings.imprint_url,
                        &settings.privacy_url,
                    ];
                    let mut known = outside.into_iter().flatten();
                    assert!(known.any(|url| url == own), "{own} in {path}");
                    continue;
                }
                let (target, anchor) = own.split_once('#').unwrap_or((own, ""));
                let target = target.split('?').next().unwrap();
                let target = if target.is_empty() { path } else { target };
                let is_there = |document: &Document| document.path == *target;
                let mut endpoints = ENDPOINTS.iter().filter(|it| !is_described(it));
                if endpoints.any(|it| it.paths.contains(&target))
                    || facts.settings.privacy_url.as_deref() == Some(target)
                {
                    continue;
                }
                assert!(site.documents.iter().any(is_there), "{href} in {path}");
                if !anchor.is_empty() {
                    assert!(ids[target].contains(&anchor.to_owned()), "{href} in {path}");
                }
            }
        }
    }
}

#[test]
fn every_page_can_be_found_named_and_skipped_through() {
    for facts in variants() {
        for (path, page) in pages(&facts) {
            let tags = tags(&page);
            let meta = |name| {
                let is_meant = |tag: &&Tag| tag.attribute("name") == Some(name);
                tags.iter().find(is_meant)?.attribute("content")
            };
            let description = meta("description").unwrap();
            assert!((4..=162).contains(&description.chars().count()), "{path}");
            assert_eq!(page.matches("<h1").count(), 1, "{path}");
            assert_eq!(page.matches("<main id=\"content\"").count(), 1, "{path}");
            assert!(page.contains("href=\"#content\""), "{path}");
            let is_canonical = |tag: &&Tag| tag.attribute("rel") == Some("canonical");
            let canonical = tags.iter().find(is_canonical).unwrap();
            let url = format!("{}{path}", facts.settings.base_url);
            assert_eq!(canonical.attribute("href"), Some(&*url));
            for control in tags.iter().filter(|tag| tag.name.ends_with("put")) {
                if let Some(id) = control.attribute("id") {
                    let mut labels = tags.iter().filter_map(|tag| tag.attribute("for"));
                    assert!(labels.any(|of| of == id), "{id} in {path}");
                }
            }
        }
    }
}

#[test]
fn where_no_script_runs_the_page_says_what_to_do() {
    for facts in variants() {
        let page = document(&facts, "/developers");
        let cards: Vec<_> = page.split("<section class=\"card").skip(1).collect();
        assert_eq!(cards.len(), 2);
        let card = cards[0].split("</section>").next().unwrap();
        // What a script works stands inside what is not shown without one.
        let (_, from_form) = card.split_once("scripted-only").unwrap();
        assert!(from_form.contains("<form") || card.contains("<form class=\"scripted-only"));
        let (_, instead) = card.split_once("class=\"unscripted\"").unwrap();
        assert!(instead.contains("from a terminal:</p>"));
        let (_, command) = instead.split_once("<pre><code>curl ").unwrap();
        assert!(command.contains(&facts.settings.base_url));
        // What stands in an element is seen as long as no script has taken it over.
        let home = document(&facts, "/");
        let (_, form) = home.split_once("<landing-newsletter ").unwrap();
        let form = form.split("</landing-newsletter>").next().unwrap();
        assert!(form.contains(" method=\"post\" action=\"/newsletter\">"));
        for field in ["email", "lang", "website"] {
            assert!(form.contains(&format!("name=\"{field}\"")), "{field}");
        }
        let (_, chat) = home.split_once("<landing-chat ").unwrap();
        let chat = chat.split("</landing-chat>").next().unwrap();
        assert!(chat.contains("<a href=\"/help\">"));
    }
    let style = document(&facts(), "/style.css");
    assert!(style.contains("html:not(.scripted) .scripted-only, "));
    assert!(style.contains(", .scripted .unscripted { display: none; }"));
    // As long as not all of it has run, nothing is scripted.
    let script = document(&facts(), "/site.js");
    let (_, end) = script.split_once("classList.add(\"scripted\")").unwrap();
    assert_eq!(end, ";\n");
    assert!(!document(&facts(), "/").contains("<html class"));
}

#[test]
fn the_pages_say_the_truth_about_the_configuration() {
    let told = |facts: &SiteFacts| document(facts, "/") + &document(facts, "/developers");
    let plain = told(&facts());
    assert!(plain.contains("searches our site for an answer"));
    assert!(plain.contains("We store your address ourselves"));
    assert!(plain.contains("You have 10 free messages in any 24 hours"));
    assert!(plain.contains("not together with everyone else behind your IP address"));
    assert!(plain.contains("A key is valid for 90 days."));
    assert!(!plain.contains("Imprint"));

    let mut other = facts();
    other.settings.has_model = true;
    other.settings.sign_ups = SignUpsGo::PassedOn;
    other.settings.imprint_url = Some("/imprint".to_owned());
    other.settings.privacy_url = Some("https://www.example.com/privacy".to_owned());
    for policy in PolicyName::ALL {
        other.settings.policies.set(policy, None);
    }
    let named = other;
    let other = told(&named);
    assert!(other.contains("Answers come from a language model"));
    assert!(other.contains("goes straight to our newsletter provider and isn’t stored here"));
    assert!(other.contains("A key is valid for 90 days."));
    assert!(other.contains("&#x2f;imprint\">Imprint</a>"));
    let help = document(&named, "/help");
    let link = "href=\"http://127.0.0.1:8080/imprint\"";
    assert!(help.contains(link), "{help}");
    assert!(other.contains(">Privacy</a>"));
    let lies = "searches our site|We store your address|free messages|counts your requests|in any";
    for lie in lies.split('|') {
        assert!(!other.contains(lie), "{lie}");
    }
}

#[tokio::test]
async fn pages_and_nothing_else_are_sent_with_a_policy() {
    const HEADERS: [&str; 4] = [
        "content-security-policy",
        "cross-origin-opener-policy",
        "permissions-policy",
        "referrer-policy",
    ];
    let app = TestApp::new();
    for path in "/ /developers /docs /docs/reference /auth /problems/rate_limited".split(' ') {
        let reply = app.send(Call::get(path)).await;
        for name in HEADERS {
            assert!(reply.header(name).is_some(), "{name}");
        }
        let policy = reply.header("content-security-policy").unwrap();
        let mut directives = policy.split("; ");
        assert_eq!(directives.next(), Some("default-src 'none'"));
        for directive in directives {
            let allowed = directive.split_once(' ').unwrap().1;
            let is_own = matches!(allowed, "'self'" | "'none'" | "'script'");
            assert!(is_own, "{directive}");
        }
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));

        let unchanged = Call::get(path).header("if-none-match", reply.header("etag").unwrap());
        let unchanged = app.send(unchanged).await;
        let markdown = Call::get(path).header("accept", "text/markdown");
        let markdown = app.send(markdown).await;
        assert_eq!(unchanged.status, 304, "{path}");
        assert_eq!(markdown.status, 200, "{path}");
        for name in HEADERS {
            // The page that a browser has may be from before a policy was changed.
            assert_eq!(unchanged.header(name), reply.header(name), "{name}");
            assert_eq!(markdown.header(name), None, "{name}");
        }
    }
    let others = "/style.css /site.js /script/forms.js /embed.js /icon.png /docs.md /openapi.json";
    for path in others.split(' ') {
        let reply = app.expect("200", Call::get(path)).await;
        for name in HEADERS {
            assert_eq!(reply.header(name), None, "{name} of {path}");
        }
    }
}

#[tokio::test]
async fn a_page_asks_for_the_script_and_the_style_it_was_made_with() {
    let asked = async |files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| file(name, text));
        let setup = Setup {
            site_files: files.collect(),
            ..Setup::default()
        };
        let app = setup.start();
        let page = app.send(Call::get("/docs")).await;
        let mut asked = Vec::new();
        for tag in tags(page.text()) {
            for path in ["src", "href"].map(|name| tag.attribute(name).unwrap_or_default()) {
                if path.contains("?v=") {
                    let reply = app.expect("200", Call::get(path)).await;
                    asked.push((path.to_owned(), reply.body));
                }
            }
        }
        asked
    };
    let (plain, restyled) = (asked(&[]).await, asked(&[("style.css", "a{}")]).await);
    let [(style, _), (script, code)] = plain.as_slice() else {
        panic!("{plain:?}");
    };
    assert!(style.starts_with("/style.css?v=") && script.starts_with("/site.js?v="));
    assert!(code.starts_with(b"// The script of the pages: "));
    assert_ne!(restyled[0].0, *style);
    assert_eq!(restyled[0].1, "a{}");
    assert_eq!(restyled[1].0, *script);
}

/// The version under which `page` loads what is at `path`.
fn version_of<'a>(path: &str, page: &'a str) -> &'a str {
    let (_, version) = page.split_once(&format!("{path}?v=")).unwrap();
    version.split('"').next().unwrap()
}

#[test]
fn every_module_imports_those_of_its_own_version() {
    let facts = facts();
    let site = render(&facts);
    let page = document(&facts, "/");
    let version = version_of("/site.js", &page);
    let is_script = |document: &&Document| document.path.ends_with(".js");
    let mut imported = BTreeSet::from(["/site.js".to_owned()]);
    for module in site.documents.iter().filter(is_script) {
        let text = text(&module.representations[0]);
        for line in text.lines().filter(|line| line.starts_with("import ")) {
            let (_, specifier) = line.split_once(" \"").unwrap();
            let (name, query) = specifier.split_once('?').unwrap();
            assert_eq!(query, format!("v={version}\";"), "{}", module.path);
            let (folder, _) = module.path.rsplit_once('/').unwrap();
            // A module imports from its own folder or from the one above.
            let path = name
                .strip_prefix("./")
                .map(|name| format!("{folder}/{name}"));
            imported.insert(path.unwrap_or_else(|| name.replacen("../", "/", 1)));
        }
    }
    let modules = site.documents.iter().filter(is_script);
    let modules: BTreeSet<_> = modules.map(|module| module.path.clone()).collect();
    assert_eq!(imported, modules);
}

#[test]
fn the_developers_pages_are_in_their_menu_and_every_operation_has_three_examples() {
    let paths = ["/docs", "/docs/reference", "/embed"];
    for here in paths {
        let page = document(&facts(), here);
        for path in paths {
            let mark = if path == here {
                " aria-current=\"page\""
            } else {
                ""
            };
            let link = format!("<a href=\"{path}\"{mark}>");
            assert!(page.contains(&link), "{link} in {here}");
        }
    }
    let reference = document(&facts(), "/docs/reference");
    let count = |name: &str| {
        reference
            .matches(&format!("<summary>{name}</summary>"))
            .count()
    };
    assert!(count("curl") > 20, "{reference}");
    for name in ["JavaScript", "Python"] {
        assert_eq!(count(name), count("curl"), "{name}");
    }
}

#[test]
fn the_script_waits_a_little_longer_than_the_service_takes() {
    let script = document(&facts(), "/embed.js");
    let seconds = |name: &str| -> u64 {
        let (_, value) = script.split_once(&format!("const {name}=")).unwrap();
        value.split(';').next().unwrap().parse().unwrap()
    };
    // The body may take as long to arrive as the reader of bodies gives it.
    const BODY_S: u64 = 10;
    for (name, endpoint) in [
        ("ANSWER_SECONDS", "newsletter.subscribe"),
        ("ANSWER_SECONDS", "keys.issue"),
        ("ANSWER_SECONDS", "sandbox.echo"),
        ("ANSWER_SECONDS", "assistant.quota"),
        ("CHAT_ANSWER_SECONDS", "assistant.chat"),
    ] {
        let row = ENDPOINTS.iter().find(|it| it.name == endpoint).unwrap();
        let least = row.deadline.as_secs() + BODY_S + 1;
        assert!((least..least + 19).contains(&seconds(name)), "{name}");
    }
}
