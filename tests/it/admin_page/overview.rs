//! What was counted.

use landing_api::domain::hourly_counts::{Counted, Counts, Hour};
use landing_api::domain::time::Timestamp;
use landing_api::metrics::LastError;

use super::{Desk, Login, Shown};
use crate::harness::NOW;

/// Counts so many hours ago.
async fn count(desk: &Desk, hours_ago: u64, counted: Counted, number: u64) {
    let mut counts = Counts::default();
    counts.add(counted, number);
    let hour = Hour::of(NOW).minus(hours_ago);
    desk.app.app.counts.add(hour, &counts).await.unwrap();
}

async fn overview(desk: &Desk, login: &Login, by: &str) -> Shown {
    let shown = desk.get(login, &format!("/?by={by}")).await;
    assert_eq!(shown.status, 200);
    shown
}

/// Each plot's title and description.
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
    count(&desk, 40, Counted::SignUps, 1500).await;
    count(&desk, 24 * 20, Counted::SignUps, 10).await;
    count(&desk, 24 * 300, Counted::SignUps, 20).await;
    count(&desk, 1, Counted::FailedChats, u64::MAX).await;
    let by_hour = "1,503 in all, at most 1,500 (19 Nov 20:00).";
    for (by, unit, sign_ups) in [
        ("", "hour", by_hour),
        ("hour", "hour", by_hour),
        ("day", "day", "1,513 in all, at most 1,500 (19 Nov 2026)."),
        ("month", "month", "1,533 in all, at most 1,513 (Nov 2026)."),
        ("nonsense", "hour", by_hour),
    ] {
        let shown = overview(&desk, &login, by).await;
        let plots = plots(&shown.text);
        assert_eq!(plots.len(), 6, "{by}");
        assert_eq!(plots[0].0, format!("Sign-ups by {unit}"));
        assert!(plots[0].1.ends_with(sign_ups), "{by}: {}", plots[0].1);
        assert!(plots[1].1.ends_with("none."));
        assert!(plots[4].1.contains("18,446,744,073,709,551,615 in all"));
        // The same as a table, for whoever does not see it.
        let table = "<summary>Sign-ups as a table</summary>";
        assert!(shown.text.contains(table));
    }
    let by_day = overview(&desk, &login, "day").await.text;
    assert!(by_day.contains("<th scope=\"row\">19 Nov 2026</th><td class=\"number\">1,500</td>"));
}

#[tokio::test]
async fn the_last_warning_and_the_models_turns_are_shown() {
    let (desk, login) = Desk::signed_in().await;
    let shown = overview(&desk, &login, "").await;
    assert!(!shown.text.contains("The last warning"));
    desk.app.metrics.set_last_error(LastError {
        at: Timestamp::from_ms(NOW.as_ms()),
        text: "the <model> failed".to_owned(),
    });
    desk.app.metrics.model.unusable.increase();
    let shown = overview(&desk, &login, "").await.text;
    assert!(shown.contains("2026-11-21 12:00 UTC: the &lt;model&gt; failed"));
    assert!(shown.contains("<dt>Unusable</dt><dd>1</dd>"));
}
