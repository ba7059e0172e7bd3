//! The operator's files in `--site-dir`: new pages, replaced files, and errors at the start.

mod assistant;
mod folder;
mod images;
mod shops;

use landing_api::adapters::model::openai::page_prompt;
use landing_api::domain::Language;
use landing_api::domain::chat::Passage;
use landing_api::http::answer::problem;
use landing_api::site::{Site, SiteImage};

use crate::assistant_pages::ask;
use crate::prelude::*;
use crate::site::{file, render_with, text_at};

const ABOUT: &str = "# About us\n\n\
    We sell cranes in {{ service_name_md }}.\n\n\
    ## Opening hours\n\n\
    <!-- when are you open, closed -->\n\n\
    The yard is open from 7 to 16, see [us]({{ base_url }}/about).\n\n\
    ## Opening hours\n\n\
    Not on Sundays.\n";

fn app(files: &[(&str, &str)]) -> TestApp {
    let files = files.iter().map(|(name, text)| file(name, text));
    let setup = Setup {
        site_files: files.collect(),
        site_images: images(),
        ..Setup::default()
    };
    setup.start()
}

fn render(files: &[(&str, &str)]) -> Result<Site, String> {
    let files: Vec<_> = files.iter().map(|(name, text)| file(name, text)).collect();
    let mut facts = facts();
    facts.settings.opt_in_ms = Some(DAY_MS);
    Site::render(&facts, &problem::PAGES, &files, &images()).map_err(|error| error.to_string())
}

/// 32 pixels wide and 16 high.
const CRANE: &[u8] = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x10\x00\x20\x01\x01\x11\x00";
const ICON: &[u8] = include_bytes!("../../../data/icon.png");

fn images() -> Vec<SiteImage> {
    let shapes = "<g/>".repeat(500);
    let logo = format!("<svg xmlns='http://www.w3.org/2000/svg'>{shapes}</svg>");
    let images = [
        ("crane.jpg", CRANE.to_vec()),
        ("icon.PNG", ICON.to_vec()),
        ("logo.svg", logo.into_bytes()),
    ];
    images.map(|(name, bytes)| (name.to_owned(), bytes)).into()
}

async fn get(app: &TestApp, path: &str) -> Reply {
    app.expect("200", Call::get(path)).await
}

async fn body(app: &TestApp, path: &str) -> String {
    get(app, path).await.text().to_owned()
}

#[tokio::test]
async fn a_page_of_the_operators_is_a_page_like_any_other() {
    let app = app(&[("about.md", ABOUT), ("c-2.md", "# C *2*\n")]);
    let html = body(&app, "/about").await;
    assert!(html.starts_with("<!DOCTYPE html>"));
    assert!(html.contains("<title>About us · Landing API</title>"));
    assert!(html.contains("<h2 id=\"opening-hours\">") && html.contains("id=\"opening-hours-2\""));
    assert!(html.contains("href=\"http://landing.example/about\""));
    assert!(!html.contains("when are you open"));

    let twin = body(&app, "/about.md").await;
    let beginning = "# About us\n\nWe sell cranes in Landing API.\n";
    assert!(twin.starts_with(beginning), "{twin}");
    assert!(!twin.contains("when are you open"));
    let call = Call::get("/about").header("accept", "text/markdown");
    let negotiated = app.send(call).await;
    assert_eq!(negotiated.body, twin);
    let vary = negotiated.header("vary").unwrap();
    assert!(vary.starts_with("Accept, Accept-Language"), "{vary}");

    let llms = body(&app, "/llms.txt").await;
    let list = "\n## Pages\n\n\
        - [Home page](http://landing.example/index.md): the page for visitors\n\
        - [About us](http://landing.example/about.md)\n\
        - [C 2](http://landing.example/c-2.md)\n\n\
        ## About the API\n";
    assert!(llms.contains(list), "{llms}");
    let sitemap = body(&app, "/sitemap.xml").await;
    assert!(sitemap.contains("<url><loc>http://landing.example/about</loc></url>\n"));
    let index = body(&app, "/index.md").await;
    assert_present(&index, &["\n- [About us](http://landing.example/about)\n"]);
}

#[test]
fn the_list_of_pages_leaves_out_imprint_and_privacy() {
    let imprint = ("imprint.md", "# Imprint\n");
    let mut facts = facts();
    facts.settings.imprint_url = Some("/imprint".to_owned());
    let index =
        |files: &[(&str, &str)]| text_at(&render_with(&facts, files), "/index.md").to_owned();
    let alone = index(&[imprint]);
    assert!(!alone.contains("More pages"), "{alone}");
    let both = index(&[imprint, ("about.md", ABOUT)]);
    let list = "\n## More pages\n\n- [About us](http://127.0.0.1:8080/about)\n\n## For dev";
    assert!(both.contains(list), "{both}");
}

#[tokio::test]
async fn the_assistant_knows_the_operators_pages() {
    let site = render(&[("about.md", ABOUT)]).unwrap();
    let [first, second, ..] = &site.passages[..] else {
        panic!("no passages");
    };
    assert_eq!(first.title, "About us");
    assert_eq!(first.url, "http://127.0.0.1:8080/about");
    assert_eq!(second.url, "http://127.0.0.1:8080/about#opening-hours");

    let model = PassageModelClient::new(&site.passages, &site.assistant_texts);
    let reply = ask(&model, "when are you closed?").await;
    assert!(reply.contains("from 7 to 16"), "{reply}");
    let link = "More: [About us](http://127.0.0.1:8080/about#opening-hours)";
    assert!(reply.ends_with(link), "{reply}");
    assert!(page_prompt("Landing API", &site.passages).contains("We sell cranes"));
}

/// A file's name and text, and where what of it is read.
const REPLACED: &str = r#"
index.md   | # Cranes | / | <h1 id="cranes">Cranes</h1>
index.md   | # Cranes | /index.md | # Cranes
guide.md   | # How\n## To call | /docs | <h2 id="to-call">
index.md   | # Cranes\n## Big | / | <landing-newsletter
home.html  | {{ lead }}<p>No forms</p> | / | <h1 id="be-the-first-to-hear-what-s-new">
home.html  | <p>No forms</p> | / | <p>No forms</p>
auth.md    | # Our auth.md | /auth.md | # Our auth.md
auth.md    | # Our auth.md | /auth | Our auth.md</h1>
problem.md | # {{ status }}: {{ title }} | /problems/not_found.md | # 404 Not Found: Not found
llms.txt   | # L\n{% for page in own_pages %}{{ page.path }}{% endfor %} | /llms.txt | # L\n/mine
robots.txt | Sitemap: {{ base_url }}/a.xml | /robots.txt | Sitemap: http://landing.example/a.xml
style.css  | @media print{#top{color:{{ red }}}} | /style.css | @media print{#top{color:{{ red }}}}
page.html  | <title>{{ title }}</title>{{ body }} | /mine | <title>A &lt;b&gt;</title>
page.html  | <body data-md={{ markdown_path }}>{{ body }} | /mine | <body data-md=/mine.md>
"#;

#[tokio::test]
async fn a_file_of_the_same_name_replaces_one_of_the_service() {
    for [name, text, path, expected] in rows(REPLACED) {
        let text = text.replace(r"\n", "\n");
        let expected = expected.replace(r"\n", "\n");
        let app = app(&[("mine.md", "# A `<b>`"), (name, &text)]);
        let body = body(&app, path).await;
        assert!(body.contains(&expected), "{name}: {body}");
    }
}

#[tokio::test]
async fn what_the_assistant_is_told_follows_a_replaced_page() {
    let passages = |files: &[(&str, &str)]| render(files).unwrap().passages.clone();
    let cranes = passages(&[("index.md", "# Cranes\n\nBig ones.")]);
    assert_eq!(cranes[0].text, "Big ones.");
    let is_of_developers = |it: &Passage| it.url.contains("/docs");
    assert!(!cranes.iter().any(is_of_developers));
    assert!(passages(&[]).iter().any(is_of_developers));
    let no_help = ("help.md", "# Nothing at all");
    let short = ("guide.md", "# Guide\n\n## Only this\n\nText.");
    let short = passages(&[short, no_help]);
    let urls: Vec<_> = short.iter().map(|passage| &*passage.url).collect();
    let guide = "http://127.0.0.1:8080/docs";
    assert_eq!(urls, [guide, &format!("{guide}#only-this")]);
    assert_eq!(passages(&[("guide.md", "# Nothing at all"), no_help]), []);
}

#[tokio::test]
async fn a_page_has_a_file_for_each_language() {
    let files = [
        ("help.md", "# Help\n\n## When?\n\nAt nine."),
        ("help.de.md", "# Hilfe\n\n## Wann?\n\nUm neun."),
        ("about.md", "# About\n\nCranes."),
        ("about.fr.md", "# À propos\n\nDes grues."),
        ("index.es.md", "# Portada"),
    ];
    let app = app(&files);
    for (path, expected) in [
        ("/help?lang=en", "At nine."),
        ("/help?lang=de", "Um neun."),
        // The service's own translation says what its own page said.
        ("/help?lang=fr", "At nine."),
        ("/about?lang=fr", "Des grues."),
        ("/about?lang=es", "Cranes."),
        ("/index.md?lang=es", "# Portada"),
    ] {
        let body = body(&app, path).await;
        assert!(body.contains(expected), "{path}: {body}");
    }
    let untranslated = body(&app, "/index.md?lang=de").await;
    assert!(!untranslated.contains("Portada"));
}

/// What a bakery writes, whose language only the words tell.
const BAKERY: [(&str, &str); 2] = [
    (
        "index.md",
        "# Brot\n\nWir backen jeden Tag mit Mehl aus der Region.\n",
    ),
    (
        "zeiten.md",
        "# Zeiten\n\n## Wann?\n\nVon 6 bis 18 Uhr, am Sonntag nicht.\n",
    ),
];

#[tokio::test]
async fn a_site_in_one_language_is_in_that_language_for_every_visitor() {
    let named = [
        ("zeiten.de.md", "# Zeiten\n"),
        ("preise.de.md", "# Preise\n"),
    ];
    for files in [BAKERY, named] {
        let app = app(&files);
        let visit = |path: &str| Call::get(path).header("accept", "text/html");
        for (path, status) in [
            ("/", 200),
            ("/zeiten", 200),
            ("/help", 200),
            ("/newsletter", 200),
            ("/newsletter/thanks", 200),
            ("/nowhere", 404),
        ] {
            for accepted in ["en", "fr, en;q=0.5"] {
                let call = visit(path).header("accept-language", accepted);
                let page = app.send(call).await;
                assert_eq!(page.status, status, "{path}");
                let html = page.text();
                for part in ["<html lang=\"de\">", ">Startseite</a>"] {
                    assert!(html.contains(part), "{path}: {html}");
                }
                assert!(!html.contains("class=\"languages\""), "{path}: {html}");
            }
        }
        // Whoever chooses another language by its link gets it.
        let english = app.send(visit("/?lang=en")).await;
        assert!(english.text().contains("<html lang=\"en\">"));
        let subscribed = Call::form("/newsletter", "email=eve@example.com");
        let reply = app.send(subscribed.header("accept-language", "en")).await;
        assert_eq!(reply.header("location"), Some("/newsletter/thanks?lang=de"));
    }
}

#[test]
fn the_imprint_alone_adds_no_language() {
    let mut facts = facts();
    facts.settings.imprint_url = Some("/imprint".to_owned());
    let imprint = ("imprint.en.md", "# Imprint\n\nThis is the imprint.\n");
    let site = render_with(&facts, &[BAKERY[0], imprint]);
    assert_eq!(site.templates.languages, [Language::German]);
}

#[tokio::test]
async fn a_site_in_two_languages_is_in_that_of_its_plain_names_for_all_others() {
    let app = app(&[BAKERY[0], BAKERY[1], ("zeiten.fr.md", "# Horaires\n")]);
    for (accepted, tag, title) in [
        ("en", "de", "Zeiten</h1>"),
        ("de", "de", "Zeiten</h1>"),
        ("fr", "fr", "Horaires</h1>"),
    ] {
        let html = app.send(Call::get("/zeiten").header("accept-language", accepted));
        let html = html.await.text().to_owned();
        assert_present(&html, &[&format!("<html lang=\"{tag}\">"), title]);
        let url = "http://landing.example/zeiten";
        let canonical = match tag {
            "de" => format!("<link rel=\"canonical\" href=\"{url}\">"),
            _ => format!("<link rel=\"canonical\" href=\"{url}?lang=fr\">"),
        };
        assert!(html.contains(&canonical), "{html}");
        assert!(html.contains(&format!("hreflang=\"x-default\" href=\"{url}\"")));
    }
}

#[tokio::test]
async fn pages_link_to_the_languages_that_own_pages_have() {
    let german = [("about.md", ABOUT), ("about.de.md", "# Über uns\n")];
    for (files, languages) in [
        (&[][..], &["en", "de", "fr", "es"][..]),
        (&[("about.md", ABOUT)], &[]),
        (&german, &["en", "de"]),
    ] {
        let app = app(files);
        for path in ["/", "/help", "/newsletter"] {
            let html = body(&app, path).await;
            for tag in ["en", "de", "fr", "es"] {
                let link = format!("<a href=\"{path}?lang={tag}\"");
                let is_linked = languages.contains(&tag);
                assert_eq!(html.contains(&link), is_linked, "{path} {tag} {files:?}");
            }
        }
    }
}

#[tokio::test]
async fn html_and_braces_can_be_shown() {
    let text = "# T\n\n<script>x</script> {% raw %}{{ not filled }}{% endraw %}";
    let html = body(&app(&[("a.md", text)]), "/a").await;
    assert!(html.contains("&lt;script&gt;") && !html.contains("<script>"));
    assert!(html.contains("{{ not filled }}"));
}

#[tokio::test]
async fn a_page_may_hold_a_button_and_the_form() {
    let text = "# T\n\n[Sign *up*](/newsletter?a=1&b=2 \"button\")\n\n[newsletter](form:newsletter)\n\n\
        [newsletter](form:newsletter)\n\nSee [this](/docs \"button\") and that.\n\n\
        <!-- the newsletter's form -->\n\n[x](javascript:alert(1) \"button\")\n";
    let german = ("join.de.md", "# T\n\n[n](form:newsletter)\n");
    let app = app(&[("join.md", text), german]);
    let html = body(&app, "/join").await;
    let button = "<p><a href=\"/newsletter?a=1&amp;b=2\" class=\"button\">Sign <em>up</em></a></p>";
    assert!(html.contains(button), "{html}");
    assert!(html.contains("See <a href=\"/docs\" class=\"button\">this</a> and that."));
    assert_eq!(html.matches("class=\"button\"").count(), 2);
    assert_eq!(html.matches("action=\"/newsletter\"").count(), 1);
    assert!(html.contains("name=\"website\""));
    assert!(!html.contains("javascript:") && !html.contains("<!-- the"));
    assert!(html.contains(">Sign up</button>"));
    let german = body(&app, "/join?lang=de").await;
    assert!(german.contains(">Anmelden</button>"));
    // The Markdown keeps the links.
    assert!(body(&app, "/join.md").await.contains("(form:newsletter)"));
}

#[tokio::test]
async fn a_page_may_stand_in_the_navigation() {
    let about = "# About\n\n<!-- navigation: About <us> -->\n\nCranes.\n";
    let german = "# Über uns\n\n<!-- navigation: Über uns -->\n\nKräne.\n";
    let files = [
        ("about.md", about),
        ("about.de.md", german),
        ("b.md", "# B\n"),
    ];
    let app = app(&files);
    let entry = "<a href=\"/about\">About &lt;us&gt;</a>";
    for path in ["/", "/docs", "/b", "/newsletter"] {
        let html = body(&app, path).await;
        assert!(html.contains(entry), "{path}");
        let (frame, _) = html.split_once("<main").unwrap();
        assert!(!frame.contains("href=\"/b\""), "{path}");
    }
    let own = body(&app, "/about").await;
    assert!(own.contains("<a href=\"/about\" aria-current=\"page\">"));
    let german = body(&app, "/?lang=de").await;
    assert!(german.contains("<a href=\"/about\">Über uns</a>"));
    let english_pages = "<a href=\"/developers\" hreflang=\"en\">Entwickler (auf Englisch)</a>";
    assert!(german.contains(english_pages), "{german}");
    // It is no hint for the assistant, and stands in no Markdown.
    assert!(!body(&app, "/about.md").await.contains("navigation"));
    let site = render(&files).unwrap();
    let mut examples = site.passages.iter().flat_map(|passage| &passage.examples);
    assert!(examples.clone().count() > 0);
    assert!(examples.all(|example| !example.contains("navigation:")));
}

#[tokio::test]
async fn the_navigation_begins_at_home_and_ends_with_the_services_pages() {
    let page = |title: &str| format!("# {title}\n\n<!-- navigation: {title} -->\n");
    let titles = [
        ("a.md", "Zimmer"),
        ("b.md", "Über uns"),
        ("c.md", "Anreise"),
        ("10-d.md", "Last"),
        ("9-e.md", "Second"),
        ("1-f.md", "First"),
    ];
    let pages = titles.map(|(name, title)| (name, page(title)));
    let files: Vec<_> = pages.iter().map(|(name, text)| (*name, &**text)).collect();
    let html = body(&app(&files), "/").await;
    let (_, navigation) = html.split_once("<nav").unwrap();
    let (navigation, _) = navigation.split_once("</nav>").unwrap();
    let links = navigation
        .split("</a>")
        .filter_map(|link| link.rsplit('>').next());
    let labels: Vec<_> = links.filter(|label| !label.trim().is_empty()).collect();
    let numbered = ["Startseite", "First", "Second", "Last"];
    let others = ["Anreise", "Über uns", "Zimmer", "Hilfe"];
    let last = ["Entwickler (auf Englisch)"];
    assert_eq!(labels, [&numbered[..], &others, &last].concat());
}

#[tokio::test]
async fn no_page_is_mistaken_for_a_part_of_the_others() {
    let names = "reference.md article.md members.md operation.md site.md style.md";
    let files: Vec<_> = names.split(' ').map(|name| (name, "# Mine")).collect();
    let (plain, app) = (app(&[("mine.md", "# Mine")]), app(&files));
    for (name, _) in files {
        let path = format!("/{}", name.trim_end_matches(".md"));
        assert!(body(&app, &path).await.contains("Mine</h1>"), "{path}");
    }
    for path in ["/docs", "/docs.md", "/auth", "/site.js", "/style.css"] {
        assert_eq!(body(&app, path).await, body(&plain, path).await, "{path}");
    }
}

#[tokio::test]
async fn a_frame_without_the_script_has_no_form_that_a_page_claims() {
    let app = app(&[("page.html", "<title>{{ title }}</title>{{ body }}")]);
    for path in ["/developers", "/docs/reference"] {
        let html = body(&app, path).await;
        for instead in html.split("class=\"unscripted\">").skip(1) {
            let begins = ["When this page’s script runs, a form", "You have "];
            let is_conditional = begins.iter().any(|begin| instead.starts_with(begin));
            assert!(is_conditional, "{instead:.60}");
        }
    }
}

#[tokio::test]
async fn no_page_takes_the_place_of_anything_else() {
    let app = TestApp::new();
    let openapi = get(&app, "/openapi.json").await.json();
    let operations = openapi["paths"].as_object().unwrap().keys().cloned();
    let site = render(&[]).unwrap();
    let documents = site.documents.iter().map(|document| document.path.clone());
    let mut checked = 0;
    for path in operations.chain(documents) {
        let first = path.split('/').nth(1).unwrap();
        let name = first.strip_suffix(".md").unwrap_or(first);
        if name.is_empty() || name.contains('.') {
            continue;
        }
        // Either refused or taken for the file it replaces.
        let refused = render(&[(&format!("{name}.md"), "no title")]).unwrap_err();
        let is_replaced = ["auth", "developers", "help", "index"].contains(&name);
        assert_eq!(refused.contains("line 1"), is_replaced, "{path}: {refused}");
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}
