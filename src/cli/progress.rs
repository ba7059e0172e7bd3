//! Progress on standard error, if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar. Dropping it removes it from the terminal.
#[derive(Clone, Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// A bar of `total` bytes; if that is unknown, it only counts.
    pub(super) fn of_bytes(what: &'static str, total: Option<u64>) -> Self {
        match total {
            Some(total) => Self::new(
                ProgressBar::new(total),
                what,
                "{msg} [{bar:30}] {bytes}/{total_bytes}, {eta} left",
            ),
            None => Self::new(ProgressBar::no_length(), what, "{msg} {spinner} {bytes}"),
        }
    }

    /// Counts things, of which nobody knows how many there are.
    pub(super) fn of_things(what: &'static str) -> Self {
        let template = "{msg} {spinner} {human_pos}, {per_sec}";
        Self::new(ProgressBar::no_length(), what, template)
    }

    fn new(bar: ProgressBar, what: &'static str, template: &str) -> Self {
        // The usual style is used if the template has an error.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self(bar)
    }

    /// Advances it.
    pub(super) fn advance(&self, number: usize) {
        self.0.inc(number as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
