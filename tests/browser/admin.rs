//! The admin page: by keyboard and on a phone; and its picture for the handbook.

use std::path::Path;

use landing_api::adapters::files::counts::FileCountStore;
use landing_api::adapters::system::SystemClock;
use landing_api::domain::hourly_counts::{Counted, Counts, Hour};
use landing_api::ports::{Clock as _, CountStore as _};
use serde_json::json;

use crate::Visit;
use crate::browser::Browser;
use crate::handbook::keep_picture;
use crate::pages::{WIDTH, tab_to};
use crate::parts::ENTER;
use crate::program::{Ran, command, landing_api, private_dir};

const PAGES: [&str; 14] = [
    "/",
    "/?by=day",
    "/?by=month",
    "/contacts",
    "/keys",
    "/policies",
    "/agents",
    "/blocks",
    "/blocks/add?network=203.0.113.0%2F24",
    "/questions",
    "/queue",
    "/contacts/show?email=ada%40example.com",
    "/contacts/erase?email=ada%40example.com",
    "/nowhere",
];

/// The admin page of a service that has served for a year, and a link to it.
async fn visit_admin() -> (Visit, String) {
    let dir = private_dir();
    count_a_year(dir.path()).await;
    let mut command = command(dir.path());
    command.args([
        "--admin-listen=127.0.0.1:0",
        "--base-url=https://landing.example",
        "--limit=newsletter-ip=off",
        "--limit=keys=off",
    ]);
    let visit = Visit::of(dir, &mut command).await;
    let names = "ada grace katherine annie mary joan radia barbara";
    for name in names.split(' ').chain([&*"l".repeat(64)]) {
        visit.service.sign_up(&format!("{name}@example.com"));
    }
    for label in ["Web shop", "<script>alert(1)</script>", &"w".repeat(64)] {
        let body = json!({ "label": label }).to_string();
        assert_eq!(visit.service.post("/api/v1/keys", &body).0, 201);
    }
    let mut link = landing_api(&["admin", "link", "--data-dir"]);
    let link = Ran::of(link.arg(visit.data_dir())).done().out;
    (visit, link.trim_end().to_owned())
}

/// Counts of a launch and the year before it, the same in every run but for the date.
async fn count_a_year(data_dir: &Path) {
    const NUMBERS: [(Counted, u64); 8] = [
        (Counted::SignUps, 4),
        (Counted::Chats, 11),
        (Counted::Requests, 420),
        (Counted::Refusals, 7),
        (Counted::FailedChats, 1),
        (Counted::Refunds, 1),
        (Counted::Renewals, 1),
        (Counted::UnansweredChats, 2),
    ];
    let counts = FileCountStore::open(&data_dir.join("counts.jsonl"));
    let now = Hour::of(SystemClock.now());
    let of_the_last_days = (0..72).chain((72..24 * 390).step_by(31));
    for hours_ago in of_the_last_days {
        // People sleep.
        let by_day = [1, 1, 2, 4, 6, 8, 9, 8, 7, 6, 4, 2];
        let by_day = by_day[usize::try_from(hours_ago % 24 / 2).unwrap()];
        let mut hour = Counts::default();
        for (index, (counted, number)) in (1_u64..).zip(NUMBERS) {
            let noise = (hours_ago * 7919 + index * 104_729) % 5;
            hour.add(counted, number * by_day * noise / (4 + hours_ago / 500));
        }
        counts.add(now.minus(hours_ago), &hour).await.unwrap();
    }
}

/// Opens the link and clicks its button. Returns what the addresses of the session's pages begin with.
async fn sign_in(page: &Browser, link: &str) -> String {
    page.client.goto(link).await;
    page.click("main button").await;
    page.until_text("#counts", "Last 24 hours").await;
    let overview = page.client.current_url().await;
    overview.as_str().trim_end_matches('/').to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contact_is_erased_by_keyboard_alone() {
    let (visit, link) = visit_admin().await;
    let page = &visit.browser;
    page.client.goto(&link).await;
    tab_to(page, "main button").await;
    page.press(ENTER).await;
    page.until_text("#counts", "Last 24 hours").await;
    tab_to(page, "[href$='/contacts']").await;
    page.press(ENTER).await;
    page.until_text("h1", "Contacts").await;
    tab_to(page, "#q").await;
    page.press("ADA@").await;
    page.press(ENTER).await;
    page.until_text(".position", "Contacts 1 to 1 of 1.").await;
    tab_to(page, ".list a.danger").await;
    page.press(ENTER).await;
    page.until_text("h1", "Erase this contact?").await;
    assert!(page.text(".facts").await.contains("ada@example.com"));
    tab_to(page, "main button").await;
    page.press(ENTER).await;
    page.until_text("h1", "Erased").await;
    tab_to(page, "main [href$='/contacts']").await;
    page.press(ENTER).await;
    page.until_text(".position", "Contacts 1 to 8 of 8.").await;
    assert!(!page.text(".list").await.contains("ada@example.com"));
    // It is gone for the public page, too: a sign-up is new.
    assert_eq!(visit.service.sign_up("ada@example.com"), false);

    tab_to(page, "footer button").await;
    page.press(ENTER).await;
    page.until_text("h1", "Sign in with a link").await;
    page.client.goto(&link).await;
    page.until_text("h1", "This link no longer works").await;
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_admin_page_needs_scrolling_sideways() {
    let (visit, link) = visit_admin().await;
    let page = &visit.browser;
    let root = sign_in(page, &link).await;
    for (width, height) in [(320, 640), (768, 1024)] {
        page.resize(width, height).await;
        for path in PAGES {
            page.client.goto(&format!("{root}{path}")).await;
            // What is closed counts when it is opened.
            page.run("document.querySelectorAll('details').forEach((it) => it.open = true)")
                .await;
            let needed = page.run(WIDTH).await.as_u64().unwrap();
            assert!(needed <= width.into(), "{path} takes {needed} of {width}");
        }
    }
    visit.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plots_say_what_they_show() {
    let (visit, link) = visit_admin().await;
    let page = &visit.browser;
    let root = sign_in(page, &link).await;
    let plots = "return all('svg.plot').length";
    assert_eq!(page.run(plots).await, 8);
    let without = page.text(".plots + .position").await;
    assert_eq!(without, "None in this time: imported contacts.");
    // As a screen reader gets it.
    let names = "return [...document.querySelectorAll('svg.plot')].map((plot) =>
         plot.getAttribute('aria-labelledby').split(' ')
             .map((id) => document.getElementById(id).textContent).join(': '))";
    let names = page.run(names).await;
    let first = names[0].as_str().unwrap();
    assert!(first.starts_with("Sign-ups by hour: ") && first.contains(" in total, peak "));
    // Bars are painted: the policy lets the stylesheet in.
    let fill = "return getComputedStyle(document.querySelector('.plot rect')).fill";
    assert_eq!(page.run(fill).await, "rgb(11, 102, 94)");
    page.click(".plots summary").await;
    assert!(page.is_seen(".plots table").await);
    page.click(".bar [href$='/?by=month']").await;
    page.until_text("#counts", "Last 13 months").await;
    let bars = "return document.querySelector('.plot').querySelectorAll('rect').length";
    assert!(page.run(bars).await.as_u64().unwrap() >= 12);

    // The plots, and nothing beneath them.
    page.resize(1280, 840).await;
    page.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true }))
        .await;
    page.client.goto(&format!("{root}/")).await;
    keep_picture(page, "admin.png").await;
    visit.end().await;
}
