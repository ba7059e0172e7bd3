//! The operator's own look: logo, colour, introduction, and a site without developers.

use landing_api::domain::Accent;
use landing_api::domain::mail::LetterContent;
use landing_api::http::answer::problem;
use landing_api::site::{Image, SiteFacts, SiteFile};

use crate::prelude::*;
use crate::site::{at, document, render_with, text, text_at};

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
    const SVG_SHOWN: &str = "src=\"&#x2f;icon.svg\"";
    const PNG_SHOWN: &str = "src=\"&#x2f;icon.png\"";
    let other = [PNG, b"\0"].concat();
    let (of_svg, of_png) = (with_logo(SVG.as_bytes()), with_logo(&other));
    for (facts, has) in [
        (&facts(), &[SVG_LINK, SVG_SHOWN, TOUCH, PREVIEW][..]),
        (&of_svg, &[SVG_LINK, SVG_SHOWN]),
        (&of_png, &[PNG_LINK, PNG_SHOWN, PREVIEW]),
    ] {
        let page = document(facts, "/");
        for part in [SVG_LINK, PNG_LINK, TOUCH, PREVIEW, SVG_SHOWN, PNG_SHOWN] {
            assert_eq!(page.contains(part), has.contains(&part), "{part}: {page}");
        }
    }
    assert_eq!(document(&of_svg, "/icon.svg"), SVG);
    let site = render(&of_png);
    assert_eq!(at(&site, "/icon.png").representations[0].body, other);
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
        (
            PNG,
            "picture.png",
            "image/png",
            " width=\"180\" height=\"180\"",
        ),
        (svg.as_bytes(), "picture.svg", "image/svg+xml", ""),
    ] {
        let mut facts = facts();
        facts.settings.service_name = "Cranes & more".to_owned();
        facts.picture = Some(Image::picture(bytes.to_vec()).unwrap());
        let picture =
            format!("<img class=\"picture\" src=\"/{path}\" alt=\"Cranes &amp; more\"{size}>");
        assert!(document(&facts, "/").contains(&picture), "{picture}");
        assert!(!document(&facts, "/help").contains(&picture));
        let site = render(&facts);
        let served = &at(&site, &format!("/{path}")).representations[0];
        assert_eq!(served.media_type, media_type);
        assert_eq!(&*served.body, bytes);
    }
}

#[test]
fn a_colour_is_that_of_pages_elements_and_icon() {
    let mut purple = facts();
    purple.settings.accent = Some(Accent::parse("#7a1fa2").unwrap());
    for path in ["/style.css", "/embed.js", "/icon.svg"] {
        let (plain, styled) = (document(&facts(), path), document(&purple, path));
        for (page, color, other) in [
            (plain, "#0b665e", "#7a1fa2"),
            (styled, "#7a1fa2", "#0b665e"),
        ] {
            assert!(page.contains(color) && !page.contains(other), "{path}");
        }
    }
    let pages = [&facts(), &purple].map(|facts| document(facts, "/"));
    assert_ne!(pages[0], pages[1], "the style sheet has another version");
    // A style sheet of the operator's stays as it is.
    let own = "a { color: #0b665e }";
    let site = render_with(&purple, &[("style.css", own)]);
    assert_eq!(text_at(&site, "/style.css"), own);
}

#[test]
fn an_introduction_is_what_the_home_page_begins_with_and_the_assistant_knows_it() {
    let introduction = "# Cranes of {{ service_name_md }}\n\nWe build <b>cranes</b>.\n\n## Since 1899\n\nIn the harbour.";
    let site = render_with(&facts(), &[("index.md", introduction)]);
    for form in &at(&site, "/").representations {
        if form.media_type.starts_with("text/html") {
            let parts = ">Cranes of Landing API</h1>|We build &lt;b&gt;cranes|<h2 id=\"since-1899\">|\
                         <title>Cranes of Landing API</title>";
            for part in parts.split('|') {
                assert!(text(form).contains(part), "{part}: {}", text(form));
            }
        }
    }
    let own = site.passages.iter().filter(|passage| passage.is_own);
    let titles: Vec<_> = own.map(|passage| passage.title.as_str()).collect();
    for title in ["Cranes of Landing API", "Since 1899"] {
        assert!(titles.contains(&title), "{titles:?}");
    }
}

pub(crate) fn suggestions(page: &str) -> Vec<&str> {
    let (_, rest) = page.split_once(" suggestions=\"").unwrap();
    rest.split_once('"').unwrap().0.split('|').collect()
}

#[test]
fn the_chat_offers_headings_of_the_operators_pages_in_their_language_or_the_questions_they_chose() {
    const IMPRINT: (&str, &str) = ("a-imprint.md", "# Imprint\n\nHarbour 1.\n");
    let about = "# About us\n\nCranes.\n\n## Since 1899\n\nIn the harbour.\n";
    let files = [
        ("about.md", about),
        ("about.de.md", "# Über uns\n\nKräne.\n"),
        ("b.md", "# Bars\n\n## This | that\n\nBoth.\n"),
        ("c.md", "# Prices\n\n## What it \"costs\"\n\n5 euros.\n"),
        ("empty.md", "# Nothing\n"),
        IMPRINT,
    ];
    let home = |facts: &SiteFacts, tag: &str| {
        let site = render_with(facts, &files);
        let mut forms = at(&site, "/").representations.iter().map(text);
        let lang = format!("<html lang=\"{tag}\"");
        forms.find(|form| form.contains(&lang)).unwrap().to_owned()
    };
    let mut facts_of_shop = facts();
    facts_of_shop.settings.imprint_url = Some("/a-imprint".to_owned());
    let of_pages = home(&facts_of_shop, "en");
    let headings = ["About us", "What it &quot;costs&quot;"];
    assert_eq!(suggestions(&of_pages), headings);
    assert_eq!(suggestions(&home(&facts_of_shop, "de"))[0], "Über uns");
    // An imprint alone says nothing about the site.
    let site = render_with(&facts_of_shop, &[IMPRINT]);
    let mut urls = site.passages.iter().map(|passage| &passage.url);
    assert!(urls.any(|url| url.contains("/docs#")));
    let mut facts = facts();
    let chosen = ["Do you deliver?", "Where are you?"];
    facts.settings.suggestions = chosen.map(str::to_owned).to_vec();
    for page in [home(&facts, "fr"), document(&facts, "/")] {
        assert_eq!(suggestions(&page), chosen);
    }
}

#[test]
fn a_site_with_pages_of_its_own_does_not_speak_of_the_service_in_their_place() {
    let site = render_with(&facts(), &[("about.md", "# About us\n\nCoffee.\n")]);
    let (own, help) = (document(&facts(), "/help.md"), text_at(&site, "/help.md"));
    for part in ["free", "no tracking", "API", "key", "log in"] {
        assert!(own.contains(part) && !help.contains(part), "{part}: {help}");
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
        for part in "/developers|/docs#|llms.txt|as Markdown|JSON API|erp.example".split('|') {
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
    for problem in &problem::PAGES {
        let (code, status) = (&problem.code, &problem.status);
        let link = format!("| {status} | [`{code}`](http://127.0.0.1:8080/problems/{code}) | ");
        assert!(page.contains(&link), "{link}");
    }
}

fn letters(facts: &SiteFacts, files: &[(&str, &str)]) -> [LetterContent; 4] {
    render_with(facts, files).letters.clone()
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
    let words = rows(
        "
Confirm subscription    | within 24 hours:     | Imprint
Anmeldung bestätigen    | von 24 Stunden:      | Impressum
Confirmer l’inscription | sous 24 heures:      | Mentions légales
Confirmar suscripción   | plazo de 24 horas:   | Aviso legal
",
    );
    for (letter, [button, days, imprint]) in letters(&facts, &[]).iter().zip(words) {
        let html = &letter.html;
        // French has a no-break space before a colon.
        let text = letter.text.replace("\u{a0}:", ":");
        assert!(letter.subject.contains("Café & <C>"), "{letter:?}");
        let signature = format!(
            "\n\nCafé & <C>\nhttps://api.example.com\n{imprint}: https://api.example.com/imprint?a&b\n"
        );
        assert!(text.ends_with(&signature), "{text}");
        let has_link = text.contains(&format!("\n\n{LINK}\n\n"));
        assert!(has_link && text.contains(days), "{text}");
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
    let own = "# Hi\n\nA & <b>: {{ confirm_url }}, now.\n\n  {{ confirm_url }}\n";
    let [english, ..] = letters(&facts(), &[(SiteFile::CONFIRMATION, own)]);
    let sentence = format!("<p>A &amp; &lt;b>: <a href=\"{LINK}\">{LINK}</a>, now.</p>");
    assert!(english.html.contains(&sentence), "{}", english.html);
    assert_eq!(english.html.matches("Confirm subscription").count(), 1);
    let text = format!("A & <b>: {LINK}, now.\n\n  {LINK}\n\nLanding API\n");
    assert!(english.text.starts_with(&text), "{}", english.text);
}
