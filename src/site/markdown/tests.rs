use super::*;

fn read(markdown: &str) -> Option<Article> {
    super::read(markdown, &Images::default())
}

#[test]
fn a_section_has_an_anchor_html_and_plain_text() {
    let source = "# Title\n\nIntro.\n\n## What `it` is: *this*\n\n<!-- hint -->\n\nOne\n[two](http://x/y) & <b>.\n\n\
        ```\ncurl \\\n  -d 1\n```\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n## Next\n\nEnd.\n";
    let article = read(source).unwrap();
    assert_eq!(article.lead.title, "Title");
    assert_eq!(article.lead.text, "Intro.");
    let html = "<h1 id=\"title\">Title</h1>\n<p>Intro.</p>\n";
    assert_eq!(article.lead.html, html);
    let [first, second] = article.sections.as_slice() else {
        panic!("{:?}", article.sections);
    };
    assert_eq!(first.title, "What it is: this");
    assert_eq!(first.anchor, "what-it-is-this");
    let text = "One two & <b>.\n\n    curl \\\n      -d 1\n\nA; B\n1; 2";
    assert_eq!(first.text, text);
    let heading = "<h2 id=\"what-it-is-this\">What <code>it</code> is: <em>this</em></h2>";
    assert!(first.html.starts_with(heading), "{}", first.html);
    assert!(first.html.contains("&amp; &lt;b&gt;."));
    assert_eq!(first.hints, ["hint"]);
    assert!(!first.html.contains("hint"));
    assert_eq!(second.text, "End.");
}

#[test]
fn comments_are_in_neither_form() {
    let source = "<!-- a -->\n\n# Title\n\n<!-- b -->\n\nText.\n\n```\n<!-- code -->\n```\n";
    let article = read(source).unwrap();
    assert_eq!(article.lead.hints, ["b"]);
    let markdown = "# Title\n\nText.\n\n```\n<!-- code -->\n```\n";
    assert_eq!(article.markdown, markdown);
    assert!(article.lead.html.contains("&lt;!-- code --&gt;"));
}

#[test]
fn comments_are_left_out_wherever_they_stand() {
    for (source, expected) in [
        ("<!--secret-->\n\nA.\n", "A.\n"),
        ("<!-- secret\n\nsecret\n-->\n\nA.\n", "A.\n"),
        ("A <!-- secret --> b.\n", "A  b.\n"),
        ("A <!-- secret\nsecret --> b.\n", "A  b.\n"),
        ("A. <!--secret-->\n\nB.\n", "A. \n\nB.\n"),
        ("A.\n\n<!-- secret\n\nsecret", "A.\n\n"),
    ] {
        let article = read(&format!("# T\n\n{source}")).unwrap();
        assert_eq!(article.markdown, format!("# T\n\n{expected}"));
        let lead = article.lead;
        assert!(!lead.html.contains("secret"), "{}", lead.html);
        assert!(!lead.text.contains("secret"), "{}", lead.text);
        assert_eq!(lead.hints, [""; 0], "{source:?}");
    }
}

#[test]
fn anchors_are_never_empty_and_never_the_same() {
    let article = read("# A\n## A\n## a!\n## ?!\n## Section\n## A-2\n").unwrap();
    let anchors: Vec<_> = article.sections.iter().map(|s| s.anchor.as_str()).collect();
    assert_eq!(anchors, ["a-2", "a-3", "section", "section-2", "a-2-2"]);
}

#[test]
fn an_anchor_keeps_the_letters_of_its_heading() {
    for (title, anchor) in [
        ("Was wird wo gespeichert?", "was-wird-wo-gespeichert"),
        ("Über ÖPNV & Straße", "über-öpnv-straße"),
        ("Qu’est-ce que c’était ?", "qu-est-ce-que-c-était"),
        ("¿Qué datos míos se guardan?", "qué-datos-míos-se-guardan"),
        ("U\u{308}ber uns", "u\u{308}ber-uns"),
        ("東京 2026", "東京-2026"),
        ("`GET /api/v1/health`", "get-api-v1-health"),
    ] {
        let article = read(&format!("# T\n## {title}\n")).unwrap();
        assert_eq!(article.sections[0].anchor, anchor);
        let html = &article.sections[0].html;
        assert!(html.contains(&format!("id=\"{anchor}\"")), "{html}");
    }
}

#[test]
fn a_document_begins_with_its_title() {
    for (markdown, title) in [
        ("# A *b*\n", Some("A b")),
        ("A\n===\n", Some("A")),
        ("\n\n# A", Some("A")),
        ("", None),
        ("A\n\n# B\n", None),
        ("## A\n# B\n", None),
        ("<b>\n\n# A\n", None),
    ] {
        let read = read(markdown).map(|article| article.lead.title);
        assert_eq!(read.as_deref(), title, "{markdown:?}");
    }
}

#[test]
fn html_in_markdown_is_text() {
    for markdown in ["<script>alert(1)</script>", "a <b onclick=x>c</b>"] {
        let page = read(&format!("# T\n\n{markdown}\n")).unwrap().lead.html;
        assert!(!page.contains("<script") && !page.contains("<b"), "{page}");
        let part = to_html(markdown);
        assert!(!part.contains("<script") && !part.contains("<b"), "{part}");
    }
}

#[test]
fn links_that_hold_a_script_are_text() {
    let urls = "javascript:alert(1)|JavaScript:alert(1)|vbscript:msgbox(1)|data:text/html,<b>|DATA:,|\
                javascript&colon;alert(1)|&#106;avascript:alert(1)|&#x6A;avascript&#58;alert(1)|\
                java&#10;script:alert(1)|java&Tab;script:alert(1)|&#1;javascript:alert(1)|\
                &#x20;javascript:alert(1)|javascript&#9;:alert(1)|javascript\\:alert(1)|<javascript:a b>|\
                < data:,a>";
    for url in urls.split('|') {
        let shown = to_html(&format!("[a *b*]({url} \"t\")"));
        assert_eq!(shown, "<p>a <em>b</em></p>\n", "{url}");
        let target = to_html(&format!("[c]\n\n[c]: {url}"));
        assert_eq!(target, "<p>c</p>\n", "{url}");
    }
    let url = "javascript:alert(1)";
    assert_eq!(to_html(&format!("<{url}>")), format!("<p>{url}</p>\n"));
    let page = read(&format!("# T\n\n[a]({url})\n")).unwrap().lead.html;
    assert!(!page.contains("href"), "{page}");
    for url in "/javascript:a ./data:a #javascript: mailto:a@b.example javascript".split(' ') {
        let link = format!("<p><a href=\"{url}\">a</a></p>\n");
        assert_eq!(to_html(&format!("[a]({url})")), link);
    }
}
