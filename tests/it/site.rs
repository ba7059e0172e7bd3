//! The documents of the site: complete, linked, and true to the configuration.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock, Mutex};

use landing_api::config::Invocation;
use landing_api::domain::Accent;
use landing_api::domain::policy::{Policies, PolicyName};
use landing_api::domain::settings::{Settings, SignUpsGo};
use landing_api::http::answer::problem;
use landing_api::http::router::ENDPOINTS;
use landing_api::site::{
    Document, ProblemPage, Representation, Site, SiteFacts, SiteFile, SiteImage,
};

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

/// The site that a service publishes. Most tests have the same one: each is made once.
pub(crate) fn made(facts: &SiteFacts, files: &[SiteFile], images: &[SiteImage]) -> Arc<Site> {
    static MADE: Mutex<Vec<(String, Arc<Site>)>> = Mutex::new(Vec::new());
    let name = format!("{facts:?}{files:?}{images:?}");
    let mut made = MADE.lock().unwrap();
    if let Some((_, site)) = made.iter().find(|(known, _)| *known == name) {
        return Arc::clone(site);
    }
    let site = Arc::new(Site::render(facts, &problem::PAGES, files, images).unwrap());
    made.push((name, Arc::clone(&site)));
    site
}

/// The same without files of the operator's.
pub(crate) fn render(facts: &SiteFacts) -> Arc<Site> {
    made(facts, &[], &[])
}

/// The same with pages of the operator's.
pub(crate) fn render_with(facts: &SiteFacts, files: &[(&str, &str)]) -> Arc<Site> {
    let files: Vec<_> = files.iter().map(|(name, text)| file(name, text)).collect();
    made(facts, &files, &[])
}

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
        let site = render(&facts);
        let guide = text_at(&site, "/docs");
        let anchors = between(guide, "<h2 id=\"", "\"");
        assert_eq!(between(guide, "<li><a href=\"#", "\""), anchors);
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
    let site = render(&facts);
    for path in ["/", "/docs", "/auth"] {
        let page = text_at(&site, path);
        assert!(page.contains("href=\"https://erp.example.com\""), "{path}");
    }
    assert!(text_at(&site, "/auth.md").contains("\n\n## The ERP\n\n"));
    for path in ["/", "/docs", "/auth", "/auth.md", "/index.md", "/docs.md"] {
        assert!(names_the_erp(text_at(&site, path)), "{path}");
    }
}

#[test]
fn limits_are_the_configured_ones_and_vanish_when_off() {
    let mut facts = facts();
    assert!(document(&facts, "/docs").contains("8 in any 15 minutes"));
    let policies = || PolicyName::ALL.into_iter().enumerate();
    for remainder in [0, 1, 2] {
        let quota = |number| (number % 2 == remainder).then(|| "7/2h".parse().unwrap());
        for (number, policy) in policies() {
            facts.settings.policies.set(policy, quota(number));
        }
        let guide = document(&facts, "/docs");
        for (number, policy) in policies() {
            let name = format!("<td><code>{}</code></td>", policy.as_str());
            let row = guide
                .split_once(&name)
                .map(|(_, rest)| rest.split("</tr>").next());
            let is_set = row.map(|row| row.unwrap().contains("7 in any 2 hours"));
            assert_eq!(is_set, quota(number).map(|_| true), "{name}");
        }
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
