//! What was counted.

use minijinja::context;
use minijinja::value::Value;

use crate::domain::hourly_counts::{Counted, Hour};

use super::page_request::{PageAnswer, PageRequest, minute};
use super::plot::{Bar, Plot, grouped};
use super::series::{Column, Unit};

const HOUR_MS: u64 = 60 * 60 * 1000;

/// What is drawn, with its name.
const PLOTS: [(Counted, &str); 6] = [
    (Counted::SignUps, "Sign-ups"),
    (Counted::Chats, "Chats answered"),
    (Counted::Requests, "Requests"),
    (Counted::Refusals, "Refusals"),
    (Counted::FailedChats, "Chats without an answer"),
    (Counted::Refunds, "Charges refunded"),
];

/// Shows the counts by `by`, an hour, a day or a month.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let app = &request.app;
    let by = request.params.get("by").unwrap_or_default();
    let unit = Unit::ALL.into_iter().find(|unit| unit.as_str() == by);
    let unit = unit.unwrap_or(Unit::Hour);
    let until = Hour::of(request.now.plus_ms(HOUR_MS));
    let hours = app.counts.list(unit.since(request.now), until).await?;
    let columns = unit.columns(&hours, request.now);
    let plots: Vec<_> = PLOTS
        .iter()
        .map(|&(counted, name)| plot(counted, name, unit, &columns))
        .collect();
    let model = app.metrics.model.by_outcome();
    let model: Vec<_> = model
        .map(|(outcome, count)| [outcome.replace('_', " "), grouped(count.get().into())])
        .collect();
    let last_error = app.metrics.last_error();
    let last_error = last_error.map(|it| context! { at => minute(it.at), text => it.text });
    request.page(
        "overview.html",
        context! {
            service_name => app.settings.service_name.as_str(),
            base_url => app.settings.base_url.as_str(),
            now => minute(request.now),
            by => unit.as_str(),
            shown => unit.shown(),
            units => Unit::ALL.map(Unit::as_str),
            plots,
            model,
            last_error,
        },
    )
}

fn plot(counted: Counted, name: &str, unit: Unit, columns: &[Column]) -> Value {
    let bar = |column: &Column| Bar {
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
    let total: u128 = bars.iter().map(|bar| u128::from(bar.value)).sum();
    let rows = bars.iter().rev();
    let rows = rows.map(|bar| [bar.name.clone(), grouped(bar.value.into())]);
    let rows: Vec<_> = rows.collect();
    context! {
        name,
        id => plot.id,
        total => grouped(total),
        svg => Value::from_safe_string(plot.svg()),
        rows,
    }
}
