//! What holds for whole pages: by keyboard alone, without scripts, on any screen.

use serde_json::json;

use crate::browser::Browser;
use crate::parts::{ANSWERED, EMAIL, ENTER, MINT, QUESTION, SEND, TAB};
use crate::{visit, visit_at};

const SPACE: &str = " ";
/// A script that gives the width that the page takes.
pub(crate) const WIDTH: &str = "return document.documentElement.scrollWidth";

/// Presses Tab until the focus is on what `selector` finds, and sees it all the way.
pub(crate) async fn tab_to(page: &Browser, selector: &str) {
    const STOPS_MAX: usize = 40;
    let selector = json!(selector);
    for _ in 0..STOPS_MAX {
        page.press(TAB).await;
        let outline = "return getComputedStyle(focused()).outlineStyle";
        assert_eq!(page.run(outline).await, "solid", "the focus is not seen");
        let is_there = format!("return focused() === find({selector})");
        if page.run(&is_there).await == true {
            return;
        }
    }
    panic!("{selector} is not reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_is_enough() {
    let visit = visit_at("/", &[]).await;
    let page = &visit.browser;
    // The first stop leads past the frame.
    tab_to(page, ".skip").await;
    assert!(page.is_seen(".skip").await);
    page.press(ENTER).await;
    page.until("document.activeElement.id === 'content'").await;

    tab_to(page, EMAIL).await;
    page.press("ada@example.com").await;
    page.press(ENTER).await;
    page.until_text(
        "landing-newsletter >>> form",
        "signing up with ada@example.com",
    )
    .await;

    tab_to(page, "landing-chat >>> .suggestion").await;
    page.press(SPACE).await;
    page.until(ANSWERED).await;
    assert_eq!(page.run("return focused().id").await, "question");
    page.press("What does a 429 mean?").await;
    page.press(ENTER).await;
    page.until("all('landing-chat >>> .answer:not(.growing)').length === 2")
        .await;
    assert_eq!(page.run("return focused().id").await, "question");
    tab_to(page, SEND).await;

    visit.goto("/developers").await;
    tab_to(page, ".copy").await;
    tab_to(page, "#label").await;
    tab_to(page, MINT).await;
    page.press(ENTER).await;
    page.until_text(".key code", "lak_").await;
    // The way on leads to the key.
    page.press(TAB).await;
    page.press(ENTER).await;
    page.until_text(".key button", "Copied").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_arrows_lead_from_the_search_through_its_results_and_back() {
    const ARROW_UP: &str = "\u{e013}";
    const ARROW_DOWN: &str = "\u{e015}";
    let visit = visit_at("/docs", &[]).await;
    let page = &visit.browser;
    page.click("#search").await;
    page.press("retry-after").await;
    page.until("all('.results a').length > 1").await;
    let marked = page.text(".results mark").await.to_lowercase();
    assert_eq!(marked, "retry");
    let focused = "return all('.results a').indexOf(focused())";
    for (key, result) in [
        (ARROW_UP, -1),
        (ARROW_DOWN, 0),
        (ARROW_DOWN, 1),
        (ARROW_UP, 0),
        (ARROW_UP, -1),
    ] {
        page.press(key).await;
        assert_eq!(page.run(focused).await, result);
    }
    page.press(ARROW_DOWN).await;
    page.press(ENTER).await;
    page.until("location.hash !== ''").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_every_part_says_what_to_do() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    page.stop_scripts().await;
    visit.goto("/").await;
    assert!(page.text("landing-chat").await.contains("help page"));
    // The newsletter's form needs no script. What people do not fill in, they do not see.
    assert!(page.is_seen("landing-newsletter [type=email]").await);
    page.fill("landing-newsletter [type=email]", "ada@example.com")
        .await;
    page.click("landing-newsletter [type=submit]").await;
    page.until("location.pathname.startsWith('/newsletter')")
        .await;
    visit.goto("/developers").await;
    let text = page.text("[aria-labelledby=try-key]").await;
    let instead = "When this page’s script runs, a form appears here";
    assert!(text.contains(instead), "{text}");
    let command = format!("curl -X POST http://{}/api/v1/", visit.service.address);
    assert!(text.contains(&command), "{text}");
    assert!(!page.is_seen("[data-form=key]").await);
    visit.goto("/docs/reference").await;
    assert!(!page.is_seen("[data-form=try-it]").await);
    let card = page.text(".operation .card").await;
    let instead = "use the command above in a terminal";
    assert!(card.contains(instead), "{card}");
    // The contents need no script either.
    page.click("nav [href='#operation/echo']").await;
    let url = page.client.current_url().await;
    assert_eq!(url.fragment(), Some("operation/echo"));
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_screen_needs_scrolling_sideways() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    for (width, height) in [(320, 640), (390, 844), (768, 1024), (1280, 900)] {
        page.resize(width, height).await;
        let longest = "/problems/assistant_quota_exhausted";
        for path in ["/", "/docs", "/embed", "/auth", longest] {
            visit.goto(path).await;
            let needed = page.run(WIDTH).await.as_u64().unwrap();
            assert!(needed <= width.into(), "{path} takes {needed} of {width}");
        }
    }
    // Nor does a long word that somebody sends.
    visit.goto("/").await;
    page.resize(390, 844).await;
    page.fill(QUESTION, &"key".repeat(100)).await;
    page.press(ENTER).await;
    page.until(ANSWERED).await;
    assert_eq!(page.run(WIDTH).await, 390);
    // On a phone the contents wait to be opened; beside the text they are there.
    page.resize(1280, 900).await;
    visit.goto("/docs").await;
    assert!(
        page.is_seen("nav [href='#stay-within-the-rate-limits']")
            .await
    );
    page.resize(390, 844).await;
    page.until("!document.querySelector('.contents').open")
        .await;
    assert!(
        !page
            .is_seen("nav [href='#stay-within-the-rate-limits']")
            .await
    );
    page.click("nav summary").await;
    page.click("nav [href='#stay-within-the-rate-limits']")
        .await;
    let place = "find('#stay-within-the-rate-limits').getBoundingClientRect().top";
    page.until(&format!("Math.abs({place}) < 100")).await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_reached_and_none_breaks_its_own_policy() {
    let visit = visit(&[]).await;
    let page = &visit.browser;
    for (path, title) in [
        ("/", "Be the first to hear what’s new · Landing API"),
        ("/developers", "Landing API for developers"),
        ("/docs", "Landing API: the guide"),
        ("/embed", "Put it on your site · Landing API"),
        ("/auth", "auth.md: agent registration for Landing API"),
        ("/problems/rate_limited", "Quota exceeded · Landing API"),
    ] {
        visit.goto(path).await;
        assert_eq!(page.client.title().await, title);
        let scripted = "return document.documentElement.className";
        assert_eq!(page.run(scripted).await, "scripted", "{path}");
        let unwired = "return document.querySelectorAll('.unwired').length";
        assert_eq!(page.run(unwired).await, 0, "{path}");
        assert_eq!(page.complaints().await, Vec::<String>::new(), "{path}");
    }
    // The policy holds: what is not the page's own does not run.
    let script = "const script = document.createElement('script');
        try { script.textContent = 'window.hasRun = true'; document.body.append(script) } catch {}
        return Boolean(window.hasRun)";
    assert_eq!(page.run(script).await, false);
    let complaints = page.complaints().await.concat();
    let is_told = ["Content Security Policy", "TrustedScript"].map(|it| complaints.contains(it));
    assert!(is_told.contains(&true), "{complaints}");
    visit.end().await;
}
