//! What was counted.

use minijinja::context;
use minijinja::value::Value;

use crate::app::App;
use crate::domain::hourly_counts::Counted;
use crate::domain::time::Timestamp;
use crate::metrics::process::process_usage;
use crate::usecases::hourly_counts;

use super::numbers::{bytes, grouped, span};
use super::page_request::{PageAnswer, PageRequest, minute};
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

/// Shows the counts by `by`, an hour, a day or a month.
pub(super) async fn show(request: PageRequest) -> PageAnswer {
    let app = &request.app;
    let by = request.params.get("by").unwrap_or_default();
    let unit = Unit::ALL.into_iter().find(|unit| unit.as_str() == by);
    let unit = unit.unwrap_or(Unit::Hour);
    let since = unit.since(request.now);
    let hours = hourly_counts::list(&*app.counts, &app.metrics, since, request.now).await;
    // While the store is away, all else is worth knowing.
    let are_counts_unknown = hours.is_err();
    let hours = hours.unwrap_or_default();
    let columns = unit.columns(&hours, request.now);
    let plots: Vec<_> = PLOTS
        .iter()
        .map(|&(counted, name)| plot(counted, name, unit, &columns))
        .collect();
    let model = app.metrics.model.by_outcome();
    let model: Vec<_> = model
        .map(|(outcome, count)| [outcome.replace('_', " "), grouped(count.get())])
        .collect();
    let last_error = app.metrics.last_error();
    let last_error = last_error.map(|it| context! { at => minute(it.at), text => it.text });
    request.page(
        "overview.html",
        context! {
            is_model_paused => app.model.is_paused(),
            service_name => app.settings.service_name.as_str(),
            base_url => app.settings.base_url.as_str(),
            now => minute(request.now),
            by => unit.as_str(),
            shown => unit.shown(),
            units => Unit::ALL.map(Unit::as_str),
            plots,
            model,
            machine => machine(app, request.now),
            last_error,
            are_counts_unknown,
        },
    )
}

/// What the service takes of its machine: names and values.
fn machine(app: &App, now: Timestamp) -> Vec<[String; 2]> {
    let mut machine = Vec::new();
    let mut add = |name: &str, value: String| machine.push([name.to_owned(), value]);
    for (name, engine) in app.metrics.engines() {
        let state = if engine.is_away() { "away" } else { "answers" };
        let losses = grouped(engine.losses.get());
        let state = format!("{state}; lost {losses} times since the start");
        add(&format!("Engine of the {name}"), state);
    }
    if let Some(process) = process_usage() {
        add("Running for", span(now.ms_since(process.started_at) / 1000));
        add("Memory", bytes(process.resident_bytes));
        let of = match process.open_files_max {
            Some(most) => format!(" of {}", grouped(most)),
            None => String::new(),
        };
        add("Open files", grouped(process.open_files) + &of);
    }
    if let Some(disk) = app.metrics.disk_space() {
        let (free, size) = (bytes(disk.free_bytes), bytes(disk.size_bytes));
        add("Disk free", format!("{free} of {size}"));
    }
    // A node whose record is elsewhere has none.
    if let ledger @ 1.. = app.metrics.ledger.bytes() {
        add("Ledger", bytes(ledger));
    }
    if let Some(limiter) = app.limiter.stats() {
        let most = grouped(limiter.windows_max as u64);
        let windows = grouped(limiter.windows as u64);
        add("Rate-limit windows", format!("{windows} of {most}"));
        add("Rate-limit files", bytes(limiter.disk_bytes));
    }
    machine
}

fn plot(counted: Counted, name: &str, unit: Unit, columns: &[UnitCounts]) -> Value {
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
    let values = bars.iter().map(|bar| bar.value);
    let total = values.fold(0, u64::saturating_add);
    let rows = bars.iter().rev();
    let rows = rows.map(|bar| [bar.name.clone(), grouped(bar.value)]);
    let rows: Vec<_> = rows.collect();
    context! {
        name,
        id => plot.id,
        total => grouped(total),
        svg => Value::from_safe_string(plot.svg()),
        rows,
    }
}
