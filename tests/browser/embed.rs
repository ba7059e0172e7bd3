//! The elements on pages of other sites: allowed or not, with a strict policy, in the markup and style of
//! others, without script.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::json;

use crate::browser::Browser;
use crate::parts::{ANSWERED, EMAIL, ENTER, ESCAPE, LEFT, QUESTION, SEND, SIGN_UP};
use crate::{Visit, visit, visit_at};

const LAUNCHER: &str = "landing-chat >>> .launcher";

/// A page with the markup and style of a block theme (Twenty Twenty-Four), and rules such as plugins add.
const WORDPRESS: &str = r#"<!DOCTYPE html><html lang="de-DE"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Blog</title>
<style>
html { font-size: 62.5%; }
:root { --wp--preset--color--base: #f9f9f9; --wp--preset--color--contrast: #111; --wp--style--global--content-size: 620px; }
body { margin: 0; background: var(--wp--preset--color--base); color: var(--wp--preset--color--contrast); font-family: Georgia, serif; font-size: 1.8rem; line-height: 1.55; }
.is-layout-constrained > :where(:not(.alignleft):not(.alignright):not(.alignfull)) { max-width: var(--wp--style--global--content-size); margin-left: auto !important; margin-right: auto !important; }
.wp-element-button, button, input[type=submit] { border-radius: .33rem; background: #111; color: #f9f9f9; text-transform: uppercase; padding: 3rem; float: right; }
input, textarea { width: 50px !important; border: 5px dotted red; box-sizing: content-box; }
p { margin-bottom: 4em; text-indent: 3em; } label { display: none; } form { opacity: .3; } h2 { font-size: 8rem; }
ul, ol { list-style: none; } a { text-decoration: none; color: inherit; } dialog { display: block !important; position: static; }
</style></head>
<body class="page-template-default page wp-custom-logo wp-embed-responsive">
<div class="wp-site-blocks"><header class="wp-block-template-part"><div class="wp-block-group alignwide is-layout-flow"><p class="wp-block-site-title"><a href="/">Blog</a></p></div></header>
<main class="wp-block-group is-layout-flow"><div class="wp-block-group has-global-padding is-layout-constrained">
<h1 class="wp-block-post-title">Hallo</h1>
<div class="entry-content wp-block-post-content is-layout-constrained"><p>Text.</p>ELEMENTS</div></div></main></div></body></html>"#;

/// A page that leaves no element alone.
const HOSTILE: &str = r#"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Hostile</title><style>
* { color: red !important; background: yellow !important; font: italic 40px cursive !important; letter-spacing: 1em !important;
    text-transform: uppercase !important; line-height: 0.5 !important; cursor: wait !important; text-align: right !important;
    white-space: pre !important; word-spacing: 2em !important; text-indent: 5em !important; user-select: none !important; }
:root { --accent: red; --text: red; --background: red; --line: red; --radius: 50px; }
input, button, textarea, label, form, p, h2, dialog, [hidden], .row, .field, .root, .log, .turn, .status { all: unset !important; display: none !important; }
</style></head><body>ELEMENTS</body></html>"#;

pub(crate) const PLAIN: &str = r#"<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Other</title></head><body>ELEMENTS</body></html>"#;

/// A site of another origin: the service is told of it before it has pages.
pub(crate) struct OtherSite {
    listener: TcpListener,
    pub(crate) origin: String,
}

impl OtherSite {
    pub(crate) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, origin }
    }

    /// Has `page` be one of it: `html` with the elements in it, sent with these headers and a cookie.
    pub(crate) async fn open(self, page: &Browser, html: &str, elements: &str, headers: &str) {
        let body = html.replace("ELEMENTS", elements);
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Set-Cookie: host=secret\r\nConnection: close\r\n{headers}\r\n{body}",
            body.len()
        );
        let url = format!("{}/", self.origin);
        thread::spawn(move || {
            for connection in self.listener.incoming() {
                let mut connection = connection.unwrap();
                // A request is less than that; a connection on which none comes is closed.
                if connection.read(&mut [0; 8192]).is_ok_and(|read| read > 0) {
                    let _ = connection.write_all(answer.as_bytes());
                }
            }
        });
        page.client.goto(&url).await;
    }
}

pub(crate) fn snippet(visit: &Visit, elements: &str) -> String {
    let service = visit.url();
    let script = format!("<script type=\"module\" src=\"{service}/embed.js\"></script>");
    script + &elements.replace("SERVICE", &service)
}

/// What stands on the other site.
const BOTH: &str = r#"<landing-newsletter heading="News" privacy-url="https://www.example.com/privacy"><form method="post" action="SERVICE/newsletter"><input name="email"><button>Plain</button></form></landing-newsletter>
<landing-chat suggestions="What is this site?|What is stored about me?"><a href="SERVICE/">Ask there</a></landing-chat>"#;

/// A service, and another site, which the service allows or not.
async fn beside(is_allowed: bool) -> (Visit, OtherSite) {
    let site = OtherSite::new();
    let allowed = ["--allow-origin", &*site.origin.clone()];
    let flags = if is_allowed { &allowed[..] } else { &[] };
    (visit(flags).await, site)
}

/// A page of another site, which the service allows or not.
async fn embedded(html: &str, elements: &str, policy: &str, is_allowed: bool) -> Visit {
    let (visit, site) = beside(is_allowed).await;
    let policy = policy.replace("SERVICE", &visit.url());
    let page = &visit.browser;
    site.open(page, html, &snippet(&visit, elements), &policy)
        .await;
    page.until("find('landing-newsletter, landing-chat')?.shadowRoot")
        .await;
    visit
}

/// Signs up, asks, and has the answer there after a reload.
async fn both_work(page: &Browser) {
    page.sign_up("ada@example.com", "ada@example.com").await;
    page.click("landing-chat >>> .suggestion").await;
    page.until(ANSWERED).await;
    let log = "return find('landing-chat >>> .log').textContent";
    let said = page.run(log).await;
    page.client.refresh().await;
    page.until(ANSWERED).await;
    assert_eq!(page.run(log).await, said);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_origin_has_both_and_nothing_else_is_loaded_or_told() {
    let visit = embedded(PLAIN, BOTH, "", true).await;
    let page = &visit.browser;
    both_work(page).await;
    let service = visit.url();
    let loaded = page
        .run(
            "return performance.getEntriesByType('resource').map(({ name }) => name)
            .filter((name) => !name.endsWith('/favicon.ico')).sort()",
        )
        .await;
    let chat = format!("{service}/api/v1/assistant/chat");
    assert_eq!(loaded, json!([chat, format!("{service}/embed.js")]));
    // The site's cookie is still there, and the one of the quota is none of its own.
    assert_eq!(page.run("return document.cookie").await, "host=secret");
    page.ask("And what is stored?").await;
    page.until("all('landing-chat >>> .answer:not(.growing)').length === 2")
        .await;
    page.until_text(LEFT, "of 10 messages left").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_not_allowed_signs_up_by_a_form_and_shows_what_it_has_instead_of_the_chat()
 {
    let (visit, site) = beside(false).await;
    let page = &visit.browser;
    site.open(page, PLAIN, &snippet(&visit, BOTH), "").await;
    // The operator is told what is missing.
    page.until("find('landing-chat >>> slot')").await;
    assert!(page.is_seen("landing-chat a").await);
    page.fill(EMAIL, "ada@example.com").await;
    page.press(ENTER).await;
    page.until("location.pathname.startsWith('/newsletter')")
        .await;
    let complaints = page.complaints().await.concat();
    assert!(complaints.contains("--allow-origin"), "{complaints}");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_is_not_allowed_sees_what_stands_in_the_element_instead_of_a_button() {
    const BUTTONS: &str = r#"<landing-chat mode="button"></landing-chat>
        <landing-chat id="bare" heading="Questions?"></landing-chat>
        <landing-chat mode="button" id="linked"><a href="SERVICE/">Ask there</a></landing-chat>"#;
    let (visit, site) = beside(false).await;
    let page = &visit.browser;
    site.open(page, PLAIN, &snippet(&visit, BUTTONS), "").await;
    page.until("all('landing-chat >>> slot').length === 3")
        .await;
    assert_eq!(
        page.run("return all('landing-chat >>> button').length")
            .await,
        0
    );
    assert!(page.is_seen("#linked a").await);
    assert!(!page.is_seen("#bare").await, "an empty box");
    let complaints = page.complaints().await.concat();
    assert!(complaints.contains("--allow-origin"), "{complaints}");
    visit.end().await;
}

/// What a blog's editor (wpautop) makes of the snippets: paragraphs around whatever is no block, which the form
/// is.
const WITH_PARAGRAPHS: &str = r#"<p><landing-newsletter></p>
<form method="post" action="SERVICE/newsletter">
<label>E-mail address <input name="email" type="email" required></label><br />
<button>Sign up</button><br />
  </form>
<p></landing-newsletter></p>
<p><landing-chat suggestions="What is this site?"><br />
  <a href="SERVICE/">Ask us</a><br />
</landing-chat></p>
<form id="own" method="post" action="SERVICE/newsletter"><input name="email"><button>Sign up</button></form>"#;

#[tokio::test(flavor = "multi_thread")]
async fn where_wordpress_adds_paragraphs_there_is_one_form() {
    let visit = embedded(WORDPRESS, WITH_PARAGRAPHS, "", true).await;
    let page = &visit.browser;
    // The one in the element, and the one that stands by itself.
    let forms = "return all('form').length + all('landing-newsletter >>> form').length";
    assert_eq!(page.run(forms).await, 2);
    assert_eq!(page.run("return all('#own').length").await, 1);
    both_work(page).await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_keep_a_distance_from_each_other_and_a_page_sets_another() {
    const THREE: &str = r#"<style>#close { margin: 0 }</style><landing-newsletter></landing-newsletter><landing-newsletter></landing-newsletter><landing-newsletter id="close"></landing-newsletter>"#;
    let visit = embedded(PLAIN, THREE, "", false).await;
    let gaps = "const boxes = all('landing-newsletter').map((one) => one.getBoundingClientRect());
        return [boxes[1].top - boxes[0].bottom, boxes[2].top - boxes[1].bottom].map(Math.round)";
    assert_eq!(visit.browser.run(gaps).await, json!([16, 16]));
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_policy_of_the_page_is_enough() {
    // Neither styles nor strings as HTML.
    const POLICY: &str = "Content-Security-Policy: default-src 'none'; script-src SERVICE; \
        connect-src SERVICE; form-action SERVICE; style-src 'none'; base-uri 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'\r\n";
    let visit = embedded(PLAIN, BOTH, POLICY, true).await;
    both_work(&visit.browser).await;
    let radius =
        "return getComputedStyle(find('landing-newsletter >>> [type=submit]')).borderRadius";
    assert_eq!(visit.browser.run(radius).await, "8px");
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_markup_of_wordpress_it_looks_like_itself() {
    let visit = embedded(WORDPRESS, BOTH, "", true).await;
    let page = &visit.browser;
    for (width, height) in [(390, 844), (1280, 900)] {
        page.resize(width, height).await;
        // In the language of the page.
        page.until_text("landing-newsletter >>> label", "E-Mail-Adresse")
            .await;
        let style = |selector: &str, property: &str| {
            format!("return getComputedStyle(find('{selector}')).{property}")
        };
        for (selector, property, value) in [
            (SIGN_UP, "textTransform", "none"),
            (SIGN_UP, "float", "none"),
            (SIGN_UP, "fontSize", "16px"),
            (EMAIL, "borderTopStyle", "solid"),
            ("landing-newsletter >>> label", "display", "block"),
            ("landing-newsletter >>> form", "opacity", "1"),
            // The font is the page's.
            (QUESTION, "fontFamily", "Georgia, serif"),
        ] {
            assert_eq!(
                page.run(&style(selector, property)).await,
                value,
                "{selector}"
            );
        }
        let needed = page
            .run("return document.documentElement.scrollWidth")
            .await;
        assert_eq!(needed, width);
        // Neither is wider than the column, and the field is as wide as it can be.
        let widths = "return [...all('landing-newsletter, landing-chat'), find('landing-chat >>> #question')]
            .map((one) => Math.round(one.getBoundingClientRect().width))";
        let widths = page.run(widths).await;
        let column = width.min(620);
        assert_eq!((&widths[0], &widths[1]), (&json!(column), &json!(column)));
        assert!(
            widths[2].as_u64().unwrap() + 60 > u64::from(column),
            "{widths}"
        );
    }
    both_work(page).await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_rules_stay_outside() {
    let visit = embedded(HOSTILE, BOTH, "", true).await;
    let page = &visit.browser;
    let properties = "return ['landing-newsletter >>> label', 'landing-newsletter >>> [type=submit]', 'landing-chat >>> #question']
        .map((selector) => getComputedStyle(find(selector)))
        .map((it) => [it.letterSpacing, it.textTransform, it.fontSize, it.fontStyle, it.lineHeight, it.textIndent, it.color].join(' '))";
    let [text, on_accent] = ["rgb(26, 32, 36)", "rgb(255, 255, 255)"];
    let expected = [text, on_accent, text].map(|color| {
        // The family alone is the page's.
        format!("normal none 16px normal 24px 0px {color}")
    });
    assert_eq!(page.run(properties).await, json!(expected));
    for part in [
        EMAIL,
        SIGN_UP,
        QUESTION,
        SEND,
        "landing-newsletter >>> label",
    ] {
        assert!(page.is_seen(part).await, "{part}");
    }
    both_work(page).await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_opens_a_panel_and_the_focus_comes_back() {
    const BUTTON: &str =
        r#"<landing-chat mode="button" button="Ask &lt;us&gt;" heading="Help"></landing-chat>"#;
    let visit = embedded(PLAIN, BUTTON, "", true).await;
    let page = &visit.browser;
    page.click(LAUNCHER).await;
    // As on the home page.
    let first = page.text("landing-chat >>> .suggestion").await;
    assert_eq!(first, "What is this site?");
    let greeting = page.text("landing-chat >>> .introduction").await;
    assert_eq!(greeting, "Hello! What would you like to know?");
    page.click("landing-chat >>> .close").await;
    for (answers, width, height) in [(1, 390, 844), (2, 1280, 900)] {
        page.resize(width, height).await;
        assert_eq!(page.text(LAUNCHER).await, "Ask <us>");
        assert!(!page.is_seen("landing-chat >>> .panel").await);
        page.click(LAUNCHER).await;
        assert!(page.is_seen("landing-chat >>> .panel").await);
        page.until("focused().id === 'question'").await;
        let is_inside = "const { left, top, right, bottom } = find('landing-chat >>> .panel').getBoundingClientRect();
            return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight";
        assert_eq!(page.run(is_inside).await, true);
        page.press("Hello?").await;
        page.press(ENTER).await;
        // As long as one grows, Escape stops that.
        let answered = "all('landing-chat >>> .answer:not(.growing)').length";
        page.until(&format!("{answered} === {answers}")).await;
        assert_eq!(page.run(is_inside).await, true);
        page.press(ESCAPE).await;
        assert!(!page.is_seen("landing-chat >>> .panel").await);
        assert_eq!(page.run("return focused().className").await, "launcher");
        let state = "return find('landing-chat >>> .launcher').ariaExpanded";
        assert_eq!(page.run(state).await, "false");
    }
    // By keyboard alone.
    page.press(ENTER).await;
    page.until("focused().id === 'question'").await;
    page.click("landing-chat >>> .close").await;
    assert!(!page.is_seen("landing-chat >>> .panel").await);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dark_is_what_the_page_or_its_author_says() {
    const THEMES: &str = r#"<landing-newsletter></landing-newsletter><landing-newsletter theme="auto"></landing-newsletter>
        <landing-newsletter theme="dark"></landing-newsletter><landing-newsletter theme="light"></landing-newsletter>
        <div><style>div { color-scheme: light dark }</style><landing-newsletter></landing-newsletter></div>
        <landing-newsletter id="own"><style>#own { --landing-background: rgb(1, 2, 3); --landing-text: rgb(4, 5, 6) }
        #own::part(button) { text-transform: uppercase }</style></landing-newsletter>"#;
    let visit = embedded(PLAIN, THEMES, "", false).await;
    let page = &visit.browser;
    let (light, dark) = ("rgb(255, 255, 255)", "rgb(24, 29, 33)");
    for (scheme, expected) in [
        ("light", [light, light, dark, light, light]),
        ("dark", [light, dark, dark, light, dark]),
    ] {
        page.set_scheme(scheme).await;
        let found = "return all('landing-newsletter >>> .root').slice(0, 5)
            .map((one) => getComputedStyle(one).backgroundColor)";
        assert_eq!(page.run(found).await, json!(expected), "{scheme}");
    }
    let own = "const [root, button] = ['.root', 'button'].map((it) => getComputedStyle(find(`#own >>> ${it}`)));
        return [root.backgroundColor, root.color, button.textTransform]";
    assert_eq!(
        page.run(own).await,
        json!(["rgb(1, 2, 3)", "rgb(4, 5, 6)", "uppercase"])
    );
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_give_the_words_and_none_becomes_html() {
    const WORDS: &str = r#"<landing-newsletter lang="fr" heading="<b>H</b>" text="T" label="L" placeholder="P" button="B" thanks="Danke!" privacy-url="javascript:alert(1)"></landing-newsletter>
        <landing-newsletter lang="it" src="javascript:alert(1)"></landing-newsletter><landing-newsletter lang="es-MX"></landing-newsletter>"#;
    let visit = embedded(PLAIN, WORDS, "", true).await;
    let page = &visit.browser;
    let text = page.text("landing-newsletter >>> .root").await;
    assert_eq!(text, "<b>H</b>\nT\nL\nB");
    let made = "return all('landing-newsletter >>> b, landing-newsletter >>> a').length";
    assert_eq!(page.run(made).await, 0);
    let languages = "return all('landing-newsletter >>> .root').map((one) => one.lang)";
    assert_eq!(page.run(languages).await, json!(["fr", "en", "es"]));
    let actions =
        "return new Set(all('landing-newsletter >>> form').map((one) => one.action)).size";
    assert_eq!(page.run(actions).await, 1);
    page.fill(EMAIL, "nobody").await;
    page.press(ENTER).await;
    let error = "landing-newsletter >>> #email-error";
    page.until_text(error, "Veuillez saisir une adresse e-mail valide")
        .await;
    page.sign_up("ada@example.com", "Danke!").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_script_the_children_are_the_form() {
    let (visit, site) = beside(false).await;
    let page = &visit.browser;
    page.stop_scripts().await;
    site.open(page, PLAIN, &snippet(&visit, BOTH), "").await;
    assert!(page.is_seen("landing-chat a").await);
    page.fill("landing-newsletter [name=email]", "ada@example.com")
        .await;
    page.click("landing-newsletter button").await;
    page.until("location.pathname.startsWith('/newsletter')")
        .await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snippets_are_shown_tried_and_copied() {
    let visit = visit_at("/embed?lang=de", &[]).await;
    let page = &visit.browser;
    page.until("all('landing-newsletter, landing-chat').every((one) => one.shadowRoot)")
        .await;
    assert_eq!(page.run("return all('.preview').length").await, 4);
    let copies = "return all('main pre').map((one) => one.querySelector('.copy').textContent)";
    let copies = page.run(copies).await;
    let copies = copies.as_array().unwrap();
    assert!(copies.len() >= 5);
    assert!(copies.iter().all(|it| it == "Kopieren"), "{copies:?}");
    page.click("main pre .copy").await;
    page.until_text("main pre .copy", "Kopiert").await;
    let copied = page.clipboard().await;
    let script = format!("src=\"http://{}/embed.js\">", visit.service.address);
    let script = format!("<script type=\"module\" {script}");
    assert!(copied.starts_with(&script), "{copied}");
    page.sign_up("ada@example.com", "Vielen Dank für Ihre Anmeldung")
        .await;
    page.click("landing-chat:not([mode]) >>> .suggestion").await;
    page.until("find('landing-chat:not([mode]) >>> .answer:not(.growing)')")
        .await;
    // A phone with its keyboard open.
    page.resize(390, 430).await;
    page.click(LAUNCHER).await;
    page.until("focused().id === 'question'").await;
    assert!(!page.is_seen(LAUNCHER).await);
    let parts = "return ['.close', '#question', '[type=submit]'].every((part) => {
        const { left, top, right, bottom } = find(`[mode] >>> .panel ${part}`).getBoundingClientRect();
        return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
    })";
    assert_eq!(page.run(parts).await, true);
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snippet_in_readme_works_on_another_site() {
    let readme = include_str!("../../README.md");
    let (_, snippet) = readme.split_once("```html\n").unwrap();
    let (snippet, _) = snippet.split_once("\n```").unwrap();
    let (visit, site) = beside(true).await;
    let page = &visit.browser;
    let service = visit.url();
    let snippet = snippet.replace("https://api.example.com", &service);
    site.open(page, PLAIN, &snippet, "").await;
    page.until("find('landing-newsletter').shadowRoot").await;
    page.sign_up("ada@example.com", "Thank you for signing up")
        .await;
    page.click(LAUNCHER).await;
    page.until("focused().id === 'question'").await;
    page.press("Hello?").await;
    page.press(ENTER).await;
    page.until(ANSWERED).await;
    visit.end().await;
}

/// What page builders do with an element, and how it is found then.
const BUILDERS: [&str; 6] = [
    // Moved into the document of a frame, and back out of it.
    "frame.body.append(element)",
    "frame.body.append(element); document.body.append(element)",
    "const box = document.createElement('div'); box.append(element); frame.body.append(box); box.remove(); frame.body.append(box)",
    // Made here, and put in there.
    "element.remove(); element = document.createElement('landing-newsletter'); frame.body.append(element)",
    "element.remove(); document.body.innerHTML += '<landing-newsletter></landing-newsletter>'; element = document.querySelector('landing-newsletter')",
    // In the shadow of another element, by a template.
    "const template = document.createElement('template'); template.innerHTML = '<div><landing-newsletter></landing-newsletter></div>'; \
     element.remove(); const shadow = frame.body.attachShadow({ mode: 'open' }); \
     shadow.append(document.importNode(template.content, true)); element = shadow.querySelector('landing-newsletter')",
];

#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_page_builder_puts_an_element_it_has_its_look_and_hides_its_trap() {
    const POLICY: &str = "Content-Security-Policy: default-src 'none'; script-src SERVICE; connect-src SERVICE; frame-src 'self'\r\n";
    const FRAMED: &str = "<landing-newsletter></landing-newsletter><iframe></iframe>";
    let visit = embedded(PLAIN, FRAMED, POLICY, true).await;
    let page = &visit.browser;
    for builder in BUILDERS {
        page.client.refresh().await;
        page.until("find('landing-newsletter')?.shadowRoot").await;
        let script = format!(
            "const frame = document.querySelector('iframe').contentDocument;
             let element = document.querySelector('landing-newsletter');
             {builder};
             const {{ shadowRoot: root }} = element;
             const view = element.ownerDocument.defaultView;
             const trap = root.querySelector('[name=website]');
             return [view.getComputedStyle(root.querySelector('[type=submit]')).fontWeight, root.querySelectorAll('form').length,
                     trap.checkVisibility(), (root.adoptedStyleSheets = [], trap.checkVisibility())]"
        );
        let found = page.run(&script).await;
        assert_eq!(found, json!(["600", 1, false, false]), "{builder}");
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_loaded_again_changes_nothing() {
    let visit = embedded(PLAIN, BOTH, "", true).await;
    let page = &visit.browser;
    let again = format!(
        "import('http://{}/embed.js?again').then(() => (window.isLoaded = true))",
        visit.service.address
    );
    page.run(&again).await;
    page.until("window.isLoaded").await;
    let forms = "return all('landing-newsletter >>> form').length";
    assert_eq!(page.run(forms).await, 1);
    both_work(page).await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_sandbox_the_form_opens_a_page_and_what_cannot_work_leads_to_one() {
    let (visit, site) = beside(false).await;
    let page = &visit.browser;
    let elements = "<landing-newsletter></landing-newsletter><landing-chat></landing-chat>";
    let framed = snippet(&visit, elements).replace('"', "&quot;");
    let frame = format!(
        "<iframe sandbox=\"allow-scripts allow-forms allow-popups\" srcdoc=\"{framed}\"></iframe>"
    );
    site.open(page, PLAIN, &frame, "").await;
    page.client.enter_frame(0).await;
    page.until("find('landing-newsletter')?.shadowRoot").await;
    page.until_text("landing-chat >>> a", "Ask us").await;
    page.sign_up("ada@example.com", "Sign up").await;
    let href = page
        .run("return find('landing-newsletter >>> .status a').href")
        .await;
    assert_eq!(
        href,
        format!("http://{}/newsletter?lang=en", visit.service.address)
    );
    // The form was sent, and its page is another window.
    loop {
        let windows = page.client.windows().await;
        if let [_, opened] = windows.as_slice() {
            page.client.switch_to_window(opened).await;
            break;
        }
    }
    page.until("location.pathname === '/newsletter/thanks'")
        .await;
    page.complaints().await;
    visit.end().await;
}
