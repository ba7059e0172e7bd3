//! Catalogs, cards, skills, llms.txt, robots.txt and the sitemap, each by the rules of its format.

use std::collections::HashSet;

use ring::digest::{SHA256, digest};

use super::{SKILL, app, app_at, get, text};
use crate::prelude::*;

const BASE_URL: &str = "http://landing.example";

fn is_name(text: &str, more: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    !text.is_empty() && text.chars().all(is_allowed)
}

/// RFC 9727 and RFC 9264.
#[tokio::test]
async fn the_api_catalog_is_a_linkset_of_absolute_links() {
    let app = app();
    let path = "/.well-known/api-catalog";
    for method in [Method::GET, Method::HEAD] {
        let reply = app.send(Call::new(method, path)).await;
        let link = reply.header("link").unwrap();
        assert_eq!(link, format!("<{path}>; rel=\"api-catalog\""));
    }
    let catalog = get(&app, path).await.json();
    let contexts = catalog["linkset"].as_array().unwrap();
    assert_eq!(catalog.as_object().unwrap().len(), 1);
    let mut relations = HashSet::new();
    for context in contexts {
        for (relation, targets) in context.as_object().unwrap() {
            if relation == "anchor" {
                assert!(targets.as_str().unwrap().starts_with(BASE_URL));
                continue;
            }
            relations.insert(relation.as_str());
            for target in targets.as_array().unwrap() {
                let href = target["href"].as_str().unwrap();
                let path = href.strip_prefix(BASE_URL).unwrap();
                // The hint is what is really served.
                let served = get(&app, path).await;
                let media_type = served.header("content-type").unwrap();
                let hint = target["type"].as_str().unwrap();
                assert_eq!(media_type.split(';').next(), Some(hint), "{href}");
            }
        }
    }
    let expected = ["service-desc", "service-doc", "status", "item"];
    assert_eq!(relations, HashSet::from(expected));
}

/// `ServerCard` of SEP-2127; SEP-1649's members beside it.
#[tokio::test]
async fn the_card_names_the_server_and_where_it_is() {
    let app = app();
    let card = get(&app, "/.well-known/mcp/server-card.json").await;
    assert_eq!(card.body, get(&app, "/mcp/server-card").await.body);
    let card = card.json();
    let schema = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
    assert_eq!(card["$schema"], schema);
    assert_eq!(card["name"], "example.landing/public-api");
    assert_eq!(card["version"], env!("CARGO_PKG_VERSION"));
    let expected =
        json!({ "name": card["name"], "title": card["title"], "version": card["version"] });
    assert_eq!(card["serverInfo"], expected);
    for (member, length_max) in [("description", 100), ("title", 100), ("version", 255)] {
        let length = card[member].as_str().unwrap().chars().count();
        assert!((1..=length_max).contains(&length), "{member}");
    }
    let endpoint = format!("{}/mcp", app.base_url);
    assert_eq!(card["endpoint"], endpoint);
    assert_eq!(card["transport"]["endpoint"], endpoint);
    assert_eq!(card["remotes"][0]["url"], endpoint);
    let mut manifest = get(&app, "/.well-known/mcp.json").await.json();
    let tools = manifest.as_object_mut().unwrap().remove("tools").unwrap();
    assert!(!tools.as_array().unwrap().is_empty());
    assert_eq!(manifest, card);
}

#[tokio::test]
async fn names_are_made_of_the_host_alone() {
    for (base_url, publisher, namespace) in [
        ("https://api.a.com", "api.a.com", "com.a.api"),
        ("http://localhost:8080", "localhost", "localhost"),
        ("http://127.0.0.1:8080", "127.0.0.1", "127.0.0.1"),
        ("http://[::1]:8080", "--1", "--1"),
    ] {
        let app = app_at(base_url);
        let card = get(&app, "/mcp/server-card").await.json();
        let name = card["name"].as_str().unwrap().to_owned();
        assert_eq!(name, format!("{namespace}/public-api"));
        let (namespace, server) = name.split_once('/').unwrap();
        assert!(is_name(namespace, ".-") && is_name(server, "._-"), "{name}");
        let catalog = get(&app, "/.well-known/ai-catalog.json").await.json();
        assert_eq!(catalog["host"]["identifier"], publisher);
        for entry in catalog["entries"].as_array().unwrap() {
            let urn = entry["identifier"].as_str().unwrap();
            let mut parts = urn.strip_prefix("urn:air:").unwrap().split(':');
            assert_eq!(parts.next(), Some(publisher));
            assert!(parts.all(|part| is_name(part, "._-")), "{urn}");
        }
    }
}

/// The schema of ARD v0.9, which is the strictest of the three that share the file.
#[tokio::test]
async fn the_ai_catalog_suits_its_strictest_reader() {
    let app = app();
    let reply = get(&app, "/.well-known/ai-catalog.json").await;
    assert_eq!(reply.body, get(&app, "/.well-known/ard.json").await.body);
    let catalog = reply.json();
    let check_members = |value: &Value, expected: &str| {
        let members: BTreeSet<_> = value.as_object().unwrap().keys().collect();
        let members: Vec<_> = members.into_iter().map(String::as_str).collect();
        assert_eq!(members.join(" "), expected);
    };
    check_members(&catalog, "entries host specVersion");
    assert_eq!(catalog["specVersion"], "1.0");
    check_members(&catalog["host"], "displayName documentationUrl identifier");
    let entries = catalog["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 3, "the tools, the skill, the description");
    for entry in entries {
        let expected = "description displayName identifier representativeQueries type url";
        check_members(entry, expected);
        let queries = entry["representativeQueries"].as_array().unwrap();
        assert!((2..=5).contains(&queries.len()));
        assert!(queries.iter().all(Value::is_string));
    }
    // It is served with that type.
    let is_card = |entry: &&Value| entry["type"] == "application/mcp-server-card+json";
    let card = entries.iter().find(is_card).unwrap();
    assert_eq!(card["url"], format!("{BASE_URL}/mcp/server-card"));
}

/// Discovery RFC v0.2.0 and agentskills.io.
#[tokio::test]
async fn a_skill_is_what_the_index_says() {
    let app = app();
    let index = get(&app, "/.well-known/agent-skills/index.json").await;
    let index = index.json();
    let schema = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
    assert_eq!(index["$schema"], schema);
    let [skill] = index["skills"].as_array().unwrap().as_slice() else {
        panic!("{index}");
    };
    assert_eq!(skill["type"], "skill-md");
    let path = skill["url"].as_str().unwrap().strip_prefix(BASE_URL);
    assert_eq!(path, Some(SKILL));
    let served = get(&app, SKILL).await;
    let digest = digest(&SHA256, &served.body);
    let digest = digest.as_ref().iter().map(|byte| format!("{byte:02x}"));
    let digest: String = digest.collect();
    assert_eq!(skill["digest"], format!("sha256:{digest}"));

    let front_matter = served.text().strip_prefix("---\n").unwrap();
    let (front_matter, body) = front_matter.split_once("\n---\n").unwrap();
    let keys = front_matter.lines().map(|line| line.split_once(": "));
    let keys: Vec<_> = keys.map(Option::unwrap).collect();
    let [("name", name), ("description", description)] = keys[..] else {
        panic!("any other key is an error: {keys:?}");
    };
    assert_eq!(skill["name"], name);
    assert!(SKILL.contains(&format!("/{name}/SKILL.md")));
    assert!(is_name(name, "-") && name.len() <= 64);
    // A JSON string is a double-quoted scalar of YAML.
    let description: String = serde_json::from_str(description).unwrap();
    assert_eq!(skill["description"], description);
    assert!((1..=1024).contains(&description.chars().count()));
    assert!(body.lines().count() < 500 && body.contains("\n# "));
}

/// llmstxt.org: a title, a summary, text without headings, then sections of links.
#[tokio::test]
async fn llms_txt_has_the_order_of_its_format() {
    let app = app();
    let text = text(&app, "/llms.txt").await;
    assert!(text.len() < 50_000);
    let mut sections = text.split("\n## ");
    let head = sections.next().unwrap();
    let blocks: Vec<_> = head.trim_end().split("\n\n").collect();
    assert_eq!(blocks[0], "# Landing API");
    assert!(blocks[1].starts_with("> ") && !blocks[1].contains('\n'));
    assert!(blocks[2..].iter().all(|block| !block.starts_with('#')));
    let mut names = Vec::new();
    for section in sections {
        let (name, list) = section.split_once("\n\n").unwrap();
        names.push(name);
        for line in list.trim_end().lines() {
            let (_, link) = line.strip_prefix("- [").unwrap().split_once("](").unwrap();
            let (url, note) = link.split_once(')').unwrap();
            assert!(url.starts_with(BASE_URL), "{line}");
            assert!(note.starts_with(": "), "{line}");
        }
    }
    assert_eq!(names, ["Documentation", "Agents", "API", "Optional"]);
}

/// RFC 9309; Content Signals stand inside a group.
#[tokio::test]
async fn robots_txt_is_one_group_with_its_signals_and_the_sitemap() {
    let app = app();
    let text = text(&app, "/robots.txt").await;
    let (group, rest) = text.split_once("\n\n").unwrap();
    let lines = group.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<_> = lines.collect();
    let signals = "Content-Signal: search=yes, ai-input=yes, ai-train=no";
    assert_eq!(lines, ["User-agent: *", signals, "Allow: /"]);
    assert_eq!(rest, format!("Sitemap: {BASE_URL}/sitemap.xml\n"));
}

#[tokio::test]
async fn the_sitemap_lists_the_pages_for_people() {
    let app = app();
    let text = text(&app, "/sitemap.xml").await;
    let sitemap = roxmltree::Document::parse(&text).unwrap();
    let root = sitemap.root_element();
    let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
    assert!(root.has_tag_name((namespace, "urlset")));
    let mut paths = Vec::new();
    for url in root.children().filter(roxmltree::Node::is_element) {
        assert!(url.has_tag_name((namespace, "url")));
        let location = url.first_element_child().unwrap();
        assert!(location.has_tag_name((namespace, "loc")));
        let path = location.text().unwrap().strip_prefix(BASE_URL).unwrap();
        let reply = get(&app, path).await;
        assert_eq!(reply.header("content-type"), Some(super::HTML), "{path}");
        paths.push(path);
    }
    let expected = "/ /help /developers /docs /docs/reference /problems /embed /auth";
    assert_eq!(paths.join(" "), expected);
}

#[tokio::test]
async fn the_home_page_links_to_what_describes_the_service() {
    let app = app();
    for accept in ["text/html", "text/markdown"] {
        let reply = app.send(Call::get("/").header("accept", accept)).await;
        let link = reply.header("link").unwrap();
        let mut relations = Vec::new();
        for value in link.split(", ") {
            let (target, parameters) = value.split_once(">; rel=\"").unwrap();
            let path = target.strip_prefix('<').unwrap();
            let (relation, media_type) = parameters.split_once("\"; type=\"").unwrap();
            relations.push(relation);
            let served = get(&app, path).await;
            let served = served.header("content-type").unwrap().split(';').next();
            assert_eq!(served, media_type.strip_suffix('"'), "{path}");
        }
        let expected = "api-catalog service-desc service-doc ai-catalog alternate";
        assert_eq!(relations.join(" "), expected);
    }
}
