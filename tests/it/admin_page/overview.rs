//! What was counted.

use landing_api::domain::hourly_counts::{Counted, Counts, Hour};
use landing_api::metrics::LastError;

use super::{Desk, Login, Shown, Visit};
use crate::operator::{ask_with, rows};
use crate::prelude::*;

async fn count(desk: &Desk, hours_ago: u64, counted: Counted, number: u64) {
    let mut counts = Counts::default();
    counts.add(counted, number);
    let hour = Hour::of(NOW).minus(hours_ago);
    desk.app.app.counts.add(hour, &counts).await.unwrap();
}

async fn overview(desk: &Desk, login: &Login, by: &str) -> Shown {
    let shown = desk.get(login, &format!("/?by={by}")).await;
    shown.check(200, &[]);
    shown
}

fn plots(html: &str) -> Vec<(String, String)> {
    let mut plots = Vec::new();
    let mut rest = html;
    while let Some((_, from)) = rest.split_once("<svg ") {
        let (svg, after) = from.split_once("</svg>").unwrap();
        let svg = format!("<svg {svg}</svg>");
        let document = roxmltree::Document::parse(&svg).unwrap();
        let text = |name| {
            let element = document.root_element().children();
            let mut element = element.filter(|it| it.has_tag_name(name));
            element.next().unwrap().text().unwrap().to_owned()
        };
        plots.push((text("title"), text("desc")));
        rest = after;
    }
    plots
}

#[tokio::test]
async fn counts_are_drawn_by_hour_day_and_month() {
    let (desk, login) = Desk::signed_in().await;
    count(&desk, 0, Counted::SignUps, 3).await;
    count(&desk, 16, Counted::SignUps, 1500).await;
    count(&desk, 24 * 20, Counted::SignUps, 10).await;
    count(&desk, 24 * 300, Counted::SignUps, 20).await;
    count(&desk, 1, Counted::FailedChats, u64::MAX).await;
    let by_hour = "1,503 in total, peak 1,500 (2026-11-20 20:00).";
    for (by, unit, sign_ups) in [
        ("", "hour", by_hour),
        ("hour", "hour", by_hour),
        ("day", "day", "1,513 in total, peak 1,500 (2026-11-20)."),
        ("month", "month", "1,533 in total, peak 1,513 (2026-11)."),
        ("nonsense", "hour", by_hour),
    ] {
        let shown = overview(&desk, &login, by).await;
        let plots = plots(&shown.text);
        assert_eq!(plots.len(), 2, "{by}");
        assert_eq!(plots[0].0, format!("Sign-ups by {unit}"));
        assert!(plots[0].1.ends_with(sign_ups), "{by}: {}", plots[0].1);
        assert!(plots[1].1.contains("18,446,744,073,709,551,615 in total"));
        // The same as a table, for whoever does not see it.
        let table = "<summary>Sign-ups as a table</summary>";
        // The others have no count.
        let others = "None in this time: repeated sign-ups, imported contacts, answered questions, \
                      unanswered questions, requests, rate-limit refusals, refunded charges.";
        shown.check(200, &[table, others]);
    }
    let by_day = overview(&desk, &login, "day").await.text;
    assert!(by_day.contains("<th scope=\"row\">2026-11-20</th><td class=\"number\">1,500</td>"));
}

#[tokio::test]
async fn each_period_begins_at_its_first_hour() {
    let (desk, login) = Desk::signed_in().await;
    // NOW is noon of 21 November.
    let [hours, days] = [23, 30 * 24 + 12];
    for (hours_ago, number) in [(hours, 1), (hours + 1, 2), (days, 4), (days + 1, 8)] {
        count(&desk, hours_ago, Counted::SignUps, number).await;
    }
    for (by, first, sum) in [
        ("hour", "2026-11-20 13:00", "1"),
        ("day", "2026-10-22", "7"),
        ("month", "2025-11 to 2026-11", "15"),
    ] {
        let shown = overview(&desk, &login, by).await;
        let sign_ups = plots(&shown.text)[0].1.clone();
        assert!(sign_ups.starts_with(first), "{by}: {sign_ups}");
        assert!(
            sign_ups.contains(&format!(": {sum} in total")),
            "{by}: {sign_ups}"
        );
    }
}

#[tokio::test]
async fn contacts_and_imports_are_counted() {
    let (desk, login) = Desk::signed_in().await;
    desk.sign_up("ada@example.com").await;
    let rows = rows(&["ada", "bob"]);
    let import = ask_with(&desk.app, "contacts import", json!({}), &rows);
    import.await.unwrap();
    let shown = overview(&desk, &login, "").await;
    let two = [
        "<dt>Contacts</dt><dd>2</dd>",
        "<b>2</b> people get the next issue.",
    ];
    shown.check(200, &two);
    let is_imports = |plot: &(String, String)| plot.0.starts_with("Imported contacts");
    let imports = plots(&shown.text).into_iter().find(is_imports);
    assert!(imports.unwrap().1.contains("1 in total"));
    let failure = StoreError::Unavailable("the disk hums".to_owned());
    desk.app.contacts.fail_with(Some(failure));
    let shown = overview(&desk, &login, "").await.text;
    assert!(shown.contains("<dt>Contacts</dt><dd>unknown</dd>"));
    assert!(!shown.contains("the next issue"));
    assert!(shown.contains("<dt>Storage</dt><dd>not writable</dd>"));
}

#[tokio::test]
async fn confirmations_are_a_percentage_of_the_emails_only_as_far_as_they_can_be() {
    let mail = Arc::new(ScriptedMailSender::default());
    let desk = Desk::over(Setup::with_mail(mail));
    let login = desk.sign_in().await;
    let unused = overview(&desk, &login, "").await.text;
    assert!(!unused.contains("since start</dt>"), "{unused}");
    let metrics = &desk.app.metrics;
    metrics.deliveries(Channel::Mail).made.add(8);
    // Reloads, and scanners of emails.
    metrics.confirmations.shown.add(20);
    metrics.confirmations.given.add(6);
    for confirmed in ["6 <small>75%</small>", "9"] {
        let shown = overview(&desk, &login, "").await.text;
        for (name, value) in [
            ("Confirmation emails sent since start", "8"),
            ("Confirmation links opened", "20"),
            ("Subscriptions confirmed", confirmed),
        ] {
            assert_present(&shown, &[&format!("<dt>{name}</dt><dd>{value}</dd>")]);
        }
        // Of emails sent before the start.
        metrics.confirmations.given.add(3);
    }
}

#[tokio::test]
async fn the_last_warning_has_an_age_and_is_put_away_until_the_next() {
    let (desk, login) = Desk::signed_in().await;
    let shown = overview(&desk, &login, "").await;
    assert!(!shown.text.contains("Last warning"));
    let warn = |text: &str| LastError {
        at: desk.app.app.clock.now(),
        text: text.to_owned(),
    };
    *desk.app.metrics.last_error.lock() = Some(warn("the <model> failed"));
    desk.app.clock.advance_ms(600_000);
    let shown = overview(&desk, &login, "").await.text;
    assert!(shown.contains("Last warning, 10 minutes ago"));
    assert!(shown.contains("2026-11-21 12:00 UTC</span>: the &lt;model&gt; failed"));
    let (_, at) = shown.split_once("name=\"at\" value=\"").unwrap();
    let at = at.split('"').next().unwrap();
    let put_away = async |at: &str| {
        let form = Visit::post("/warning/put-away", &format!("at={at}"));
        desk.send(form.of(&login)).await
    };
    for bad in ["", "yesterday", "%3Cb%3E"] {
        put_away(bad).await.check(400, &["At must be a time"]);
    }
    // What has happened meanwhile was not seen.
    *desk.app.metrics.last_error.lock() = Some(warn("the disk is full"));
    let done = put_away(at).await;
    done.check(303, &[]);
    assert_eq!(done.header("location"), Some(&*format!("{}/", login.root)));
    let shown = overview(&desk, &login, "").await.text;
    assert!(shown.contains("just now") && shown.contains("the disk is full"));
    put_away(&desk.app.app.clock.now().to_rfc3339()).await;
    let shown = overview(&desk, &login, "").await.text;
    assert!(!shown.contains("Last warning"));
}

#[tokio::test]
async fn the_model_is_named_with_its_state_and_its_last_error() {
    let model = ScriptedModelClient::new([Err(ModelError::Unusable("status 502".to_owned()))]);
    let desk = Desk::over(Setup::with_model(Arc::new(model)));
    let login = desk.sign_in().await;
    let none = "<dt>Last error</dt><dd>none since start</dd>";
    let shown = overview(&desk, &login, "").await;
    shown.check(200, &["<dt>Name</dt><dd>a model</dd>", none]);
    desk.app.send(Call::chat()).await;
    desk.app.clock.advance_ms(5000);
    let shown = overview(&desk, &login, "").await;
    let error = "<dd>5 seconds ago: model gave no usable answer: status 502</dd>";
    shown.check(200, &[error, "<dt>No usable answer</dt><dd>1</dd>"]);
    assert!(!shown.text.contains("<dt>No answer found</dt>"));
}
