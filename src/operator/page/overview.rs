//! Activity, compared with the preceding period.

use minijinja::context;
use minijinja::value::Value as Rendered;

use crate::app::App;
use crate::domain::{Counted, Counts, Hour, KEPT_HOURS, Timestamp};
use crate::operator::operation::Params;
use crate::operator::status;

use super::numbers::{change, grouped};
use super::plot::{Bar, svg};
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
        plot(counted, name, unit, &columns, before)
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

fn plot(
    counted: Counted,
    name: &str,
    unit: Unit,
    columns: &[UnitCounts],
    before: Option<u64>,
) -> Rendered {
    let bar = |column: &UnitCounts| Bar {
        name: column.name.clone(),
        tick: column.tick.clone(),
        value: column.counts.get(counted),
    };
    let bars: Vec<_> = columns.iter().map(bar).collect();
    let (id, title) = (
        counted.as_str().replace('_', "-"),
        format!("{name} by {}", unit.as_str()),
    );
    let total = bars
        .iter()
        .fold(0, |sum: u64, bar| sum.saturating_add(bar.value));
    let rows = bars
        .iter()
        .rev()
        .map(|bar| [bar.name.clone(), grouped(bar.value)]);
    context! {
        name,
        id => id.as_str(),
        is_empty => total == 0,
        total => grouped(total),
        change => before.and_then(|before| change(total, before)),
        svg => Rendered::from_safe_string(svg(&id, &title, &bars)),
        rows => rows.collect::<Vec<_>>(),
    }
}
