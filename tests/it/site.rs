//! The documents of the site: complete, linked, and true to the configuration.

use std::collections::HashSet;
use std::sync::LazyLock;

use landing_api::config::Invocation;
use landing_api::domain::Accent;
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::settings::{Settings, SignUpsGo};
use landing_api::http::answer::problem;
use landing_api::http::endpoints::ENDPOINTS;
use landing_api::site::{Document, ProblemPage, Representation, Site, SiteFacts, SiteFile};

/// A service as it is without flags.
pub(crate) fn facts() -> SiteFacts {
    static SETTINGS: LazyLock<Settings> = LazyLock::new(|| {
        let invocation = Invocation::load(["landing-api", "--data-dir", "var"]).unwrap();
        let Invocation::Serve(args) = invocation else {
            panic!("{invocation:?}");
        };
        args.settings(args.listen)
    });
    facts_of(SETTINGS.clone())
}

/// A service with these settings, and without a logo and a picture.
pub(crate) fn facts_of(settings: Settings) -> SiteFacts {
    SiteFacts {
        settings,
        logo: None,
        picture: None,
    }
}

/// Facts that differ from the defaults wherever a document could.
pub(crate) fn variants() -> Vec<SiteFacts> {
    let mut all_off = facts();
    for policy in PolicyName::ALL {
        all_off.settings.policies.set(policy, None);
    }
    let settings = Settings {
        base_url: "https://api.example.com".to_owned(),
        service_name: "A \"B\" & <C> *d* \\".to_owned(),
        erp_url: Some("https://erp.example.com".to_owned()),
        imprint_url: Some("https://www.example.com/imprint".to_owned()),
        privacy_url: Some("/privacy".to_owned()),
        contact: None,
        suggestions: Vec::new(),
        accent: Some(Accent::parse("#9e5f00").unwrap()),
        hides_developers: true,
        policies: Policies::default(),
        keeps_consent_ip: false,
        is_base_url_given: true,
        has_model: true,
        falls_back: true,
        questions_kept_days: 0,
        opt_in_ms: None,
        sign_ups: SignUpsGo::PassedOn,
        allowed_origins: vec!["https://www.example.com".to_owned()],
        trusts_proxies: true,
    };
    vec![facts(), facts_of(settings), all_off]
}

/// The site that a service publishes.
pub(crate) fn render(facts: &SiteFacts) -> Site {
    Site::render(facts, &problem::PAGES, &[], &[]).unwrap()
}

/// The site with files of the operator's.
pub(crate) fn render_with(facts: &SiteFacts, files: &[(&str, &str)]) -> Site {
    let files: Vec<_> = files.iter().map(|(name, text)| file(name, text)).collect();
    Site::render(facts, &problem::PAGES, &files, &[]).unwrap()
}

/// A file of the operator's.
pub(crate) fn file(name: &str, text: &str) -> SiteFile {
    SiteFile {
        name: name.to_owned(),
        text: text.to_owned(),
    }
}

/// What is served at `path`.
pub(crate) fn at<'a>(site: &'a Site, path: &str) -> &'a Document {
    let found = site.documents.iter().find(|document| document.path == path);
    found.unwrap_or_else(|| panic!("there is no {path}"))
}

/// The text at `path`, in the form that who asks for none gets.
pub(crate) fn text_at<'a>(site: &'a Site, path: &str) -> &'a str {
    text(&at(site, path).representations[0])
}

pub(crate) fn document(facts: &SiteFacts, path: &str) -> String {
    text_at(&render(facts), path).to_owned()
}

pub(crate) fn text(representation: &Representation) -> &str {
    std::str::from_utf8(&representation.body).unwrap()
}

/// The path and text of each form of each document.
fn texts(site: &Site) -> impl Iterator<Item = (&str, &str)> {
    let forms = site.documents.iter().flat_map(|document| {
        let forms = document.representations.iter();
        forms.map(|form| (&*document.path, form))
    });
    let is_text = |(_, form): &(&str, &Representation)| form.media_type != "image/png";
    forms.filter(is_text).map(|(path, form)| (path, text(form)))
}

/// Whatever stands between `before` and `after` in `text`.
fn between<'a>(text: &'a str, before: &'a str, after: &'a str) -> Vec<&'a str> {
    text.split(before)
        .skip(1)
        .map(|rest| rest.split(after).next().unwrap())
        .collect()
}

#[test]
fn every_document_is_filled_whatever_is_configured() {
    for facts in variants() {
        let site = render(&facts);
        assert!(site.passages.len() >= 20);
        let paths = site.documents.iter().map(|document| &document.path);
        assert_eq!(paths.collect::<HashSet<_>>().len(), site.documents.len());
        for (path, text) in texts(&site) {
            assert!(text.len() > 10, "{path}");
            for mark in ["{{", "{%", "{#", "<!--", "undefined"] {
                assert!(!text.contains(mark), "{mark} in {path}");
            }
        }
    }
}

#[test]
fn every_link_into_the_guide_has_its_section() {
    for facts in variants() {
        let guide = document(&facts, "/docs");
        let anchors = between(&guide, "<h2 id=\"", "\"");
        let listed = between(&guide, "<li><a href=\"#", "\"");
        assert_eq!(listed, anchors);
        let site = render(&facts);
        let urls = site.passages.iter().map(|p| p.url.as_str());
        let urls: Vec<&str> = urls.filter(|url| url.contains("/docs#")).collect();
        let base_url = &facts.settings.base_url;
        let expected = anchors
            .iter()
            .map(|anchor| format!("{base_url}/docs#{anchor}"));
        let is_shown = !facts.settings.hides_developers;
        let expected: Vec<_> = expected.filter(|_| is_shown).collect();
        assert_eq!(urls, expected);
    }
}

#[test]
fn every_path_in_the_guide_is_a_real_one() {
    // Areas, a pattern, and a version to come.
    const AREAS: &str = "/agent /oauth2 /api /api/v1 /api/v2 /problems/CODE";
    // A slash that begins no path of the service: JSON Pointers and prefix lengths.
    const OTHERS: [&str; 4] = ["/email", "/messages/0/content", "/64", "/56"];
    let site = render(&facts());
    let documents = site.documents.iter().map(|document| &*document.path);
    let endpoints = ENDPOINTS.iter().flat_map(|endpoint| endpoint.paths);
    let areas = AREAS.split(' ');
    let paths: HashSet<_> = documents.chain(endpoints.copied()).chain(areas).collect();
    let guide = include_str!("../../data/guide.md").replace("{{ base_url }}", " ");
    let mut paths_seen = 0;
    for word in guide.split(|c: char| c.is_whitespace() || "`()[]'\"|,;".contains(c)) {
        let path = word.trim_end_matches(['.', ':', '/']);
        if path.starts_with('/') && !OTHERS.contains(&path) {
            assert!(paths.contains(path), "{word}");
            paths_seen += 1;
        }
    }
    assert!(paths_seen > 25, "{paths_seen}");
}

/// Whether `text` names the ERP: the word, not part of another.
fn names_the_erp(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| word.eq_ignore_ascii_case("erp"))
}

#[test]
fn the_erp_is_named_only_if_it_is_configured() {
    let mut facts = facts();
    for (path, text) in texts(&render(&facts)) {
        assert!(!names_the_erp(text), "{path}");
    }
    facts.settings.erp_url = Some("https://erp.example.com".to_owned());
    for path in ["/", "/docs", "/auth"] {
        let page = document(&facts, path);
        assert!(page.contains("href=\"https://erp.example.com\""), "{path}");
    }
    assert!(document(&facts, "/auth.md").contains("\n\n## The ERP\n\n"));
    for path in ["/", "/docs", "/auth", "/auth.md", "/index.md", "/docs.md"] {
        assert!(names_the_erp(&document(&facts, path)), "{path}");
    }
}

#[test]
fn limits_are_the_configured_ones_and_vanish_when_off() {
    let mut facts = facts();
    assert!(document(&facts, "/docs").contains("8 in any 15 minutes"));
    for policy in PolicyName::ALL {
        let row = format!("<td><code>{}</code></td>", policy.as_str());
        let quota = "7/2h".parse().unwrap();
        facts.settings.policies.set(policy, Some(quota));
        let guide = document(&facts, "/docs");
        assert!(guide.contains(&row), "{row}");
        assert!(guide.contains("7 in any 2 hours"), "{row}");
        facts.settings.policies.set(policy, None);
        assert!(!document(&facts, "/docs").contains(&row), "{row}");
    }
    let guide = document(&facts, "/docs");
    assert!(guide.contains("This site currently sets no limits"));
    assert!(!guide.contains(" in any "));
}

#[test]
fn a_page_shows_html_as_text() {
    let mut facts = facts();
    facts.settings.service_name = "<i>Name</i>".to_owned();
    let odd = ProblemPage {
        code: "odd",
        status: "400 Bad Request",
        oauth: "invalid_request",
        title: "<b>& \"title\"",
        meaning: "See **this** <script>alert(1)</script>\n\n<hr>",
        resolution: "None.",
    };
    let mut problems = problem::PAGES.to_vec();
    problems.push(odd);
    let site = Site::render(&facts, &problems, &[], &[]).unwrap();
    let page = text_at(&site, "/problems/odd");
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains(">&lt;b&gt;&amp; \"title\"</h1>"), "{page}");
    assert!(page.contains("<title>&lt;b&gt;&amp; &quot;title&quot; · "));
    assert!(page.contains("<strong>this</strong> &lt;script&gt;"));
    for raw in ["<script>", "<hr", "<b>", "<i>"] {
        assert!(!page.contains(raw), "{raw}");
    }
}
