//! Activity, compared with the preceding period.

use std::cmp::Ordering;

use minijinja::context;
use minijinja::value::Value as Rendered;

use crate::app::App;
use crate::domain::{Counted, Counts, Hour, KEPT_HOURS, Timestamp};
use crate::operator::operation::Params;
use crate::operator::status;

use super::series::{Unit, UnitCounts};

/// The plots and their titles.
const PLOTS: [(Counted, &str); 9] = [
    (Counted::SignUps, "Sign-ups"),
    (Counted::Renewals, "Repeated sign-ups"),
    (Counted::Imports, "Contacts imported"),
    (Counted::Chats, "Questions answered"),
    (Counted::UnansweredChats, "Unanswered questions"),
    (Counted::FailedChats, "Chats that failed"),
    (Counted::Requests, "Requests"),
    (Counted::Refusals, "Refusals by limits"),
    (Counted::Refunds, "Charges refunded"),
];

/// The counts per `by`, an hour, a day or a month.
pub(super) async fn values(app: &App, params: &Params, now: Timestamp) -> Rendered {
    let unit = params.text("by").and_then(Unit::from_name);
    let unit = unit.unwrap_or(Unit::Hour);
    let (since, this_hour) = (unit.since(now), Hour::of(now));
    // As many hours before the displayed period.
    let shown_hours = this_hour.next().hours_since(since);
    let before = since.minus(shown_hours);
    let are_kept = this_hour.hours_since(before) <= KEPT_HOURS;
    let hours = status::hours(app, before, now).await;
    // When the store is unavailable, everything else is still worth showing.
    let are_counts_unknown = hours.is_err();
    let hours = hours.unwrap_or_default();
    let columns = unit.columns(&hours, now);
    let mut sum_before = Counts::default();
    for hour in hours.iter().filter(|hour| hour.hour < since) {
        sum_before.add_all(&hour.counts);
    }
    let are_changes_known = are_kept && !are_counts_unknown;
    let sum_before = are_changes_known.then_some(sum_before);
    let plots = PLOTS.map(|(counted, name)| {
        let before = sum_before.map(|counts| counts.get(counted));
        plot(counted, name, &columns, before)
    });
    context! {
        service_name => app.settings.service_name.as_str(),
        base_url => app.settings.base_url.as_str(),
        now => now.to_rfc3339(),
        by => unit.as_str(),
        shown => unit.shown(),
        units => Unit::ALL.map(Unit::as_str),
        plots => plots.to_vec(),
        are_counts_unknown,
        are_changes_known,
    }
}

/// The chart of `counted` for `plot.html`. `before` is the total of the preceding period.
fn plot(counted: Counted, name: &str, columns: &[UnitCounts], before: Option<u64>) -> Rendered {
    let value = |column: &UnitCounts| column.counts.get(counted);
    let total = columns.iter().map(value).fold(0, u64::saturating_add);
    let peak = columns.iter().rev().max_by_key(|column| value(column));
    let bars = columns.iter().map(|column| {
        let (name, tick) = (column.name.as_str(), column.tick.as_str());
        context! { name, tick, value => value(column) }
    });
    context! {
        name,
        id => counted.as_str().replace('_', "-"),
        total,
        change => before.and_then(|before| change(total, before)),
        peak => peak.map(|column| column.name.as_str()),
        most => peak.map(value),
        top => axis_end(peak.map(value).unwrap_or_default()),
        bars => bars.collect::<Vec<_>>(),
    }
}

/// A round even number that is at least `most`.
fn axis_end(most: u64) -> u128 {
    let mut power = 1;
    loop {
        let fitting = [2, 4, 6, 8, 10].map(|digit| digit * power);
        if let Some(end) = fitting.into_iter().find(|end| u128::from(most) <= *end) {
            return end;
        }
        power *= 10;
    }
}

/// Change from `before` to `now`, in percent; `None` if both are 0.
fn change(now: u64, before: u64) -> Option<String> {
    let (now, before) = (u128::from(now), u128::from(before));
    if before == 0 {
        return (now > 0).then(|| "up from 0".to_owned());
    }
    let percent = (now.abs_diff(before) * 100 + before / 2) / before;
    let text = match now.cmp(&before) {
        Ordering::Less => format!("\u{2212}{percent}%"),
        Ordering::Equal => "unchanged".to_owned(),
        Ordering::Greater => format!("+{percent}%"),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use crate::operator::page::views::Views;

    use super::*;

    /// The chart of these values, one an hour.
    fn chart(values: &[u64]) -> String {
        let column = |(index, &value)| {
            let mut counts = Counts::default();
            counts.add(Counted::SignUps, value);
            UnitCounts {
                name: format!("hour {index}"),
                tick: format!("{index}h"),
                counts,
            }
        };
        let columns: Vec<_> = values.iter().enumerate().map(column).collect();
        let plot = plot(Counted::SignUps, "Sign-ups <all> \"&\"", &columns, None);
        let values = context! { plot, by => "hour" };
        Views::new()
            .unwrap()
            .fill("plot.html", "", None, values)
            .unwrap()
    }

    /// The description, the names on the axes, and the bars.
    fn drawn(values: &[u64]) -> (String, Vec<String>, Vec<[f64; 4]>) {
        let chart = chart(values);
        let document = Document::parse(&chart).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        let labels = root.attribute("aria-labelledby").unwrap().split(' ');
        let named: Vec<_> = labels
            .map(|id| {
                root.children()
                    .find(|node| node.attribute("id") == Some(id))
            })
            .map(|node| node.unwrap().text().unwrap().to_owned())
            .collect();
        assert_eq!(named[0], "Sign-ups <all> \"&\" by hour");
        let elements = |name| root.children().filter(move |node| node.has_tag_name(name));
        let texts = elements("text").map(|node| node.text().unwrap().to_owned());
        let texts: Vec<String> = texts.collect();
        let rects = elements("rect").map(|rect| {
            let number = |name| rect.attribute(name).unwrap().parse().unwrap();
            ["x", "y", "width", "height"].map(number)
        });
        let rects: Vec<[f64; 4]> = rects.collect();
        for [x, y, width, height] in &rects {
            assert!(*x >= 42.0 && x + width <= 338.01, "{x} {width}");
            assert!(*y >= 9.94 && y + height <= 146.06);
            assert!(*height >= 1.0 && *width > 0.0);
        }
        (named[1].clone(), texts, rects)
    }

    #[test]
    fn a_plot_without_data_is_empty_and_well_formed() {
        let (description, texts, rects) = drawn(&[0; 48]);
        assert_eq!(texts[..3], ["0", "1", "2"]);
        assert_eq!(texts[3..], ["7h", "15h", "23h", "31h", "39h", "47h"]);
        assert_eq!(rects, Vec::<[f64; 4]>::new());
        assert_eq!(description, "hour 0 to hour 47: none.");
    }

    #[test]
    fn one_point_is_one_bar() {
        let (_, texts, rects) = drawn(&[5]);
        assert_eq!(texts, ["0", "3", "6", "0h"]);
        assert_eq!(rects.len(), 1);
    }

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        let (_, _, rects) = drawn(&[1, 10, 0, 5]);
        let heights: Vec<_> = rects.iter().map(|[_, _, _, height]| *height).collect();
        assert_eq!(heights, [13.6, 136.0, 68.0]);
        let (description, _, _) = drawn(&[1, 7000, 0, 7000]);
        assert_eq!(
            description,
            "hour 0 to hour 3: 14,001 in total, peak 7,000 (hour 1)."
        );
    }

    #[test]
    fn huge_numbers_fit() {
        let (_, texts, rects) = drawn(&[u64::MAX, 1, u64::MAX]);
        assert_eq!(texts[..3], ["0", "10E", "20E"]);
        assert_eq!(rects.len(), 3);
        assert_eq!(drawn(&vec![u64::MAX; 1000]).2.len(), 1000);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (most, end) in [
            (0, 2),
            (1, 2),
            (2, 2),
            (3, 4),
            (9, 10),
            (11, 20),
            (61, 80),
            (1_000_001, 2_000_000),
        ] {
            assert_eq!(axis_end(most), end, "{most}");
        }
    }

    #[test]
    fn changes_are_in_percent() {
        for (now, before, text) in [
            (0, 0, None),
            (5, 0, Some("up from 0")),
            (0, 5, Some("\u{2212}100%")),
            (5, 5, Some("unchanged")),
            (6, 5, Some("+20%")),
            (1, 3, Some("\u{2212}67%")),
            (u64::MAX, 1, Some("+1844674407370955161400%")),
        ] {
            assert_eq!(change(now, before).as_deref(), text, "{now} {before}");
        }
    }
}
