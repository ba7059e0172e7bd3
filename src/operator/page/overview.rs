//! What was counted.

use minijinja::context;
use minijinja::value::Value as Rendered;

use crate::app::App;
use crate::domain::{Counted, Timestamp};
use crate::operator::operation::Params;
use crate::operator::status;

use super::numbers::grouped;
use super::plot::{Bar, Plot};
use super::series::{Unit, UnitCounts};

/// What is drawn, with its name.
const PLOTS: [(Counted, &str); 6] = [
    (Counted::SignUps, "Sign-ups"),
    (Counted::Chats, "Chats answered"),
    (Counted::Requests, "Requests"),
    (Counted::Refusals, "Refusals"),
    (Counted::FailedChats, "Chats without an answer"),
    (Counted::Refunds, "Charges refunded"),
];

/// The counts by `by`, an hour, a day or a month.
pub(super) async fn values(app: &App, params: &Params, now: Timestamp) -> Rendered {
    let unit = params.text("by").and_then(Unit::from_name);
    let unit = unit.unwrap_or(Unit::Hour);
    let hours = status::hours(app, unit.since(now), now).await;
    // While the store is away, all else is worth knowing.
    let are_counts_unknown = hours.is_err();
    let columns = unit.columns(&hours.unwrap_or_default(), now);
    let plots = PLOTS.map(|(counted, name)| plot(counted, name, unit, &columns));
    context! {
        service_name => app.settings.service_name.as_str(),
        base_url => app.settings.base_url.as_str(),
        now => now.to_rfc3339(),
        by => unit.as_str(),
        shown => unit.shown(),
        units => Unit::ALL.map(Unit::as_str),
        plots => plots.to_vec(),
        are_counts_unknown,
    }
}

fn plot(counted: Counted, name: &str, unit: Unit, columns: &[UnitCounts]) -> Rendered {
    let bar = |column: &UnitCounts| Bar {
        name: column.name.clone(),
        tick: column.tick.clone(),
        value: column.counts.get(counted),
    };
    let bars: Vec<_> = columns.iter().map(bar).collect();
    let title = format!("{name} by {}", unit.as_str());
    let plot = Plot {
        id: &counted.as_str().replace('_', "-"),
        title: &title,
        bars: &bars,
    };
    let total = bars
        .iter()
        .fold(0, |sum: u64, bar| sum.saturating_add(bar.value));
    let rows = bars.iter().rev();
    let rows = rows.map(|bar| [bar.name.clone(), grouped(bar.value)]);
    context! {
        name,
        id => plot.id,
        total => grouped(total),
        svg => Rendered::from_safe_string(plot.svg()),
        rows => rows.collect::<Vec<_>>(),
    }
}
