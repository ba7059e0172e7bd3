//! The operator's own look: logo, colour, introduction, and a site without developers.

use landing_api::config::Invocation;
use landing_api::domain::Accent;
use landing_api::domain::mail::LetterContent;
use landing_api::domain::time::DAY_MS;
use landing_api::http::answer::problem;
use landing_api::site::{Image, Site, SiteFacts, SiteFile};

use crate::harness::{Call, Setup};
use crate::site::{document, facts, text};

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
const PNG: &[u8] = include_bytes!("../../data/icon.png");

fn with_logo(logo: &[u8]) -> SiteFacts {
    SiteFacts {
        logo: Some(Image::logo(logo.to_vec()).unwrap()),
        ..facts()
    }
}

/// What a page has, and has not, with each logo: none, SVG, PNG.
#[test]
fn a_logo_takes_the_place_of_the_icon() {
    const SVG_LINK: &str = "<link rel=\"icon\" type=\"image/svg+xml\" href=\"/icon.svg\">";
    const PNG_LINK: &str = "<link rel=\"icon\" href=\"/icon.png\">";
    const TOUCH: &str = "<link rel=\"apple-touch-icon\" href=\"/icon.png\">";
    const PREVIEW: &str = "<meta property=\"og:image\"";
    let other = [PNG, b"\0"].concat();
    for (facts, has, has_not) in [
        (
            facts(),
            &[SVG_LINK, TOUCH, PREVIEW, "src=\"&#x2f;icon.svg\""][..],
            &[PNG_LINK][..],
        ),
        (
            with_logo(SVG.as_bytes()),
            &[SVG_LINK, "src=\"&#x2f;icon.svg\""],
            &[PNG_LINK, TOUCH, PREVIEW],
        ),
        (
            with_logo(&other),
            &[PNG_LINK, PREVIEW, "src=\"&#x2f;icon.png\""],
            &[SVG_LINK, TOUCH],
        ),
    ] {
        let page = document(&facts, "/");
        for part in has {
            assert!(page.contains(part), "{part}: {page}");
        }
        for part in has_not {
            assert!(!page.contains(part), "{part}: {page}");
        }
    }
    assert_eq!(document(&with_logo(SVG.as_bytes()), "/icon.svg"), SVG);
    let site = Site::render(&with_logo(&other), problem::pages(), &[], &[]).unwrap();
    let icon = site
        .documents
        .iter()
        .find(|document| document.path == "/icon.png");
    assert_eq!(icon.unwrap().representations[0].body, other);
}

#[tokio::test]
async fn an_icon_runs_no_script() {
    let app = Setup::default().start();
    let reply = app.send(Call::get("/icon.svg")).await;
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; ") && policy.ends_with("; sandbox"));
}

#[test]
fn a_picture_is_shown_beside_the_lead_of_the_home_page_with_its_space_reserved() {
    let without = document(&facts(), "/");
    assert!(!without.contains("picture"), "{without}");
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 600\"/>";
    for (bytes, path, media_type, size) in [
        (PNG, "picture.png", "image/png", (180, 180)),
        (svg.as_bytes(), "picture.svg", "image/svg+xml", (800, 600)),
    ] {
        let mut facts = facts();
        facts.settings.service_name = "Cranes & more".to_owned();
        facts.picture = Some(Image::picture(bytes.to_vec()).unwrap());
        let (width, height) = size;
        let picture = format!(
            "<img class=\"picture\" src=\"/{path}\" alt=\"Cranes &amp; more\" width=\"{width}\" height=\"{height}\">"
        );
        assert!(document(&facts, "/").contains(&picture), "{picture}");
        assert!(!document(&facts, "/help").contains(&picture));
        let site = Site::render(&facts, problem::pages(), &[], &[]).unwrap();
        let path = format!("/{path}");
        let mut documents = site.documents.iter();
        let served = documents.find(|document| document.path == path).unwrap();
        assert_eq!(served.representations[0].media_type, media_type);
        assert_eq!(&*served.representations[0].body, bytes);
    }
}

#[test]
fn a_colour_is_that_of_pages_elements_and_icon() {
    let mut purple = facts();
    purple.settings.accent = Some(Accent::parse("#7a1fa2").unwrap());
    for path in ["/style.css", "/embed.js", "/icon.svg"] {
        let (plain, styled) = (document(&facts(), path), document(&purple, path));
        assert!(
            plain.contains("#0b665e") && !styled.contains("#0b665e"),
            "{path}"
        );
        assert!(styled.contains("#7a1fa2"), "{path}");
    }
    let [plain, styled] = [facts(), purple].map(|it| document(&it, "/"));
    assert_ne!(plain, styled, "the style sheet has another version");
    // A style sheet of the operator's stays as it is.
    let own = SiteFile {
        name: "style.css".to_owned(),
        text: "a { color: #0b665e }".to_owned(),
    };
    let mut purple = facts();
    purple.settings.accent = Some(Accent::parse("#7a1fa2").unwrap());
    let site = Site::render(&purple, problem::pages(), std::slice::from_ref(&own), &[]).unwrap();
    let style = site
        .documents
        .iter()
        .find(|document| document.path == "/style.css");
    assert_eq!(text(&style.unwrap().representations[0]), own.text);
}

#[test]
fn a_colour_that_cannot_be_read_stops_the_start_with_what_to_do() {
    for (color, told) in [
        ("#ff9900", "use a darker colour"),
        ("teal", "must be a colour such as '#0b665e'"),
    ] {
        let line = ["landing-api", "--data-dir", "unused", "--accent", color];
        let error = Invocation::load(line).unwrap_err().to_string();
        assert!(
            error.contains("--accent") && error.contains(told),
            "{error}"
        );
    }
}

#[test]
fn an_introduction_is_what_the_home_page_begins_with_and_the_assistant_knows_it() {
    let introduction = SiteFile {
        name: "index.md".to_owned(),
        text: "# Cranes of {{ service_name_md }}\n\nWe build <b>cranes</b>.\n\n## Since 1899\n\nIn the harbour.".to_owned(),
    };
    let site = Site::render(&facts(), problem::pages(), &[introduction], &[]).unwrap();
    let home = site
        .documents
        .iter()
        .find(|document| document.path == "/")
        .unwrap();
    for form in home
        .representations
        .iter()
        .filter(|form| form.media_type.starts_with("text/html"))
    {
        let page = text(form);
        assert!(page.contains(">Cranes of Landing API</h1>"), "{page}");
        assert!(page.contains("We build &lt;b&gt;cranes"), "{page}");
        assert!(page.contains("<h2 id=\"since-1899\">"), "{page}");
        assert!(
            page.contains("<title>Cranes of Landing API</title>"),
            "{page}"
        );
    }
    let is_there = |title: &str| {
        site.passages
            .iter()
            .any(|passage| passage.is_own && passage.title == title)
    };
    assert!(is_there("Cranes of Landing API") && is_there("Since 1899"));
}

/// The questions that the chat of a home page offers.
fn suggestions(page: &str) -> Vec<&str> {
    let (_, rest) = page.split_once(" suggestions=\"").unwrap();
    rest.split_once('"').unwrap().0.split('|').collect()
}

#[test]
fn the_chat_offers_headings_of_the_operators_pages_in_their_language_or_the_questions_they_chose() {
    let file = |name: &str, text: &str| SiteFile {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let files = [
        file(
            "about.md",
            "# About us\n\nCranes.\n\n## Since 1899\n\nIn the harbour.\n",
        ),
        file("about.de.md", "# Über uns\n\nKräne.\n"),
        file("b.md", "# Bars\n\n## This | that\n\nBoth.\n"),
        file("c.md", "# Prices\n\n## What it \"costs\"\n\n5 euros.\n"),
        file("empty.md", "# Nothing\n"),
        file("a-imprint.md", "# Imprint\n\nHarbour 1.\n"),
    ];
    let home = |facts: &SiteFacts, tag: &str| {
        let site = Site::render(facts, problem::pages(), &files, &[]).unwrap();
        let page = site
            .documents
            .iter()
            .find(|document| document.path == "/")
            .unwrap();
        let mut forms = page.representations.iter();
        let lang = format!("<html lang=\"{tag}\"");
        let form = forms.find(|form| text(form).contains(&lang)).unwrap();
        text(form).to_owned()
    };
    let mut facts_of_shop = facts();
    facts_of_shop.settings.imprint_url = Some("/a-imprint".to_owned());
    let of_pages = home(&facts_of_shop, "en");
    assert_eq!(
        suggestions(&of_pages),
        ["About us", "What it &quot;costs&quot;"]
    );
    assert_eq!(suggestions(&home(&facts_of_shop, "de"))[0], "Über uns");
    // An imprint alone says nothing about the site.
    let imprint = &files[5..];
    let site = Site::render(&facts_of_shop, problem::pages(), imprint, &[]).unwrap();
    assert!(
        site.passages
            .iter()
            .any(|passage| passage.url.contains("/docs#"))
    );
    let mut chosen = facts();
    chosen.settings.suggestions = ["Do you deliver?", "Where are you?"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(
        suggestions(&home(&chosen, "fr")),
        ["Do you deliver?", "Where are you?"]
    );
    assert_eq!(
        suggestions(&document(&chosen, "/")),
        ["Do you deliver?", "Where are you?"]
    );
}

#[test]
fn a_site_with_pages_of_its_own_does_not_speak_of_the_service_in_their_place() {
    let file = SiteFile {
        name: "about.md".to_owned(),
        text: "# About us\n\nCoffee.\n".to_owned(),
    };
    let site = Site::render(&facts(), problem::pages(), &[file], &[]).unwrap();
    let page = |path: &str| {
        let mut all = site.documents.iter();
        text(
            &all.find(|document| document.path == path)
                .unwrap()
                .representations[0],
        )
        .to_owned()
    };
    let help = page("/help.md");
    for part in ["free", "no tracking", "API", "key", "log in"] {
        assert!(document(&facts(), "/help.md").contains(part), "{part}");
        assert!(!help.contains(part), "{part}: {help}");
    }
    assert!(help.contains("our newsletter form stores"), "{help}");
    let mut services = site.passages.iter().filter(|passage| !passage.is_own);
    assert!(services.all(|passage| passage.url.contains("/help")));
}

#[test]
fn without_developers_navigation_and_home_page_are_for_visitors_and_the_rest_is_served() {
    let mut hidden = facts();
    hidden.settings.hides_developers = true;
    hidden.settings.erp_url = Some("https://erp.example.com".to_owned());
    for path in ["/", "/index.md", "/help"] {
        let page = document(&hidden, path);
        for part in [
            "/developers",
            "llms.txt",
            "as Markdown",
            "JSON API",
            "erp.example",
        ] {
            assert!(!page.contains(part), "{part} in {path}: {page}");
        }
    }
    // Programs find all of it.
    assert!(document(&hidden, "/").contains("<link rel=\"alternate\" type=\"text/markdown\""));
    assert!(document(&hidden, "/sitemap.xml").contains("/developers<"));
    assert!(document(&hidden, "/llms.txt").contains("/developers.md"));
    assert!(document(&hidden, "/developers").contains("<h1"));
}

#[test]
fn the_page_of_errors_lists_every_code_with_its_page() {
    let page = document(&facts(), "/problems.md");
    for problem in problem::pages() {
        let (code, status) = (&problem.code, &problem.status);
        let link = format!("| {status} | [`{code}`](http://127.0.0.1:8080/problems/{code}) | ");
        assert!(page.contains(&link), "{link}");
    }
}

fn letters(facts: &SiteFacts, files: &[SiteFile]) -> [LetterContent; 4] {
    let site = Site::render(facts, problem::pages(), files, &[]);
    site.unwrap().letters.clone()
}

const LINK: &str = LetterContent::LINK;

/// In each language: the button, the signature, and the way to the imprint.
#[test]
fn the_mail_that_asks_to_confirm_has_a_button_and_is_signed() {
    let mut facts = with_logo(PNG);
    facts.settings.base_url = "https://api.example.com".to_owned();
    facts.settings.service_name = "Café & <C>".to_owned();
    facts.settings.imprint_url = Some("/imprint?a&b".to_owned());
    facts.settings.accent = Some(Accent::parse("#7a1fa2").unwrap());
    facts.settings.opt_in_ms = Some(DAY_MS);
    let words = [
        ("Confirm subscription", "within 1 day:", "Imprint"),
        ("Anmeldung bestätigen", "innerhalb von 1 Tag:", "Impressum"),
        (
            "Confirmer l’inscription",
            "sous 1 jour :",
            "Mentions légales",
        ),
        ("Confirmar suscripción", "plazo de 1 día:", "Aviso legal"),
    ];
    for (letter, (button, days, imprint)) in letters(&facts, &[]).iter().zip(words) {
        let LetterContent { text, html, .. } = letter;
        assert!(letter.subject.ends_with("Café & <C>"), "{letter:?}");
        let signature = format!(
            "\n\nCafé & <C>\nhttps://api.example.com\n{imprint}: https://api.example.com/imprint?a&b\n"
        );
        assert!(text.ends_with(&signature), "{text}");
        assert!(
            text.contains(days) && text.contains(&format!("\n\n{LINK}\n\n")),
            "{text}"
        );
        for part in [
            &format!("text-decoration:none\">{button}</a>"),
            &format!("<a href=\"{LINK}\" style=\"color:#7a1fa2;word-break:break-all\">{LINK}</a>"),
            "<img src=\"https://api.example.com/icon.png\" alt=\"Café &amp; &lt;C&gt;\"",
            "api.example.com&#x2f;imprint?a&amp;b\"",
            &format!(">{imprint}</a>"),
            "prefers-color-scheme: dark",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches(LINK).count(), 3, "{html}");
        assert!(!html.contains("<C>") && !html.contains("#0b665e"), "{html}");
        assert!(html.lines().all(|line| line.len() < 900), "{html}");
    }
    // Without double opt-in it may be of any length.
    let mut long = self::facts();
    long.settings.service_name = "😀".repeat(100);
    for facts in [with_logo(SVG.as_bytes()), self::facts(), long] {
        let [english, ..] = letters(&facts, &[]);
        assert!(!english.html.contains("<img"), "{}", english.html);
        assert!(!english.text.contains("Imprint"), "{}", english.text);
    }
}

#[test]
fn the_operators_own_mail_is_escaped_and_its_link_may_stand_within_a_sentence() {
    let own = SiteFile {
        name: SiteFile::CONFIRMATION.to_owned(),
        text: "# Hi\n\nA & <b>: {{ confirm_url }}, now.\n\n  {{ confirm_url }}\n".to_owned(),
    };
    let [english, ..] = letters(&facts(), &[own]);
    let sentence = format!("<p>A &amp; &lt;b>: <a href=\"{LINK}\">{LINK}</a>, now.</p>");
    assert!(english.html.contains(&sentence), "{}", english.html);
    assert_eq!(english.html.matches("Confirm subscription").count(), 1);
    let text = format!("A & <b>: {LINK}, now.\n\n  {LINK}\n\nLanding API\n");
    assert!(english.text.starts_with(&text), "{}", english.text);
}
