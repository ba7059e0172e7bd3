//! The templates of the admin page, and the filters of their charts.

use minijinja::value::Value;
use minijinja::{Environment, Error, context};

use crate::operator::sessions::Session;
use crate::operator::words::templates;

/// Each file of `data/admin/` with its text.
macro_rules! sources {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../../../data/admin/", $name)))),+]
    };
}

/// The templates, by name.
const SOURCES: &[(&str, &str)] = sources! {
    "frame.html" "parts.html" "login.html" "overview.html" "plot.html" "contacts.html" "contacts-show.html"
    "keys.html" "agents.html" "agents-revoke.html" "blocks.html" "blocks-add.html" "blocks-remove.html"
    "policies.html" "change.html" "contacts-erase.html" "keys-revoke.html" "policies-reset.html"
    "questions.html" "queue.html" "queue-drop.html" "queue-hold.html" "queue-release.html" "queue-retry.html"
    "message.html"
};

/// The public pages' stylesheet and the admin page's own.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../data/style.css"),
    include_str!("../../../data/admin/style.css")
);
pub(super) const ICON: &str = include_str!("../../../data/icon.svg");

/// The templates, parsed.
#[derive(Debug)]
pub(super) struct Views(Environment<'static>);

impl Views {
    /// Parses the templates.
    ///
    /// # Errors
    /// When one of them does not parse, which is a bug.
    pub(super) fn new() -> Result<Self, Error> {
        // All names end in `.html`, so that every value is escaped.
        let mut environment = templates(SOURCES)?;
        environment.add_filter("axis_end", axis_end);
        environment.add_filter("short", short);
        Ok(Self(environment))
    }

    /// The page at `here`, for a session or for nobody in particular.
    ///
    /// # Errors
    /// When the template can't be filled in, which is a bug.
    pub(super) fn fill(
        &self,
        name: &str,
        here: &str,
        session: Option<&Session>,
        values: Value,
    ) -> Result<String, Error> {
        let frame = context! {
            here,
            root => Value::from_safe_string(session.map(Session::root).unwrap_or_default()),
            version => env!("CARGO_PKG_VERSION"),
            is_signed_in => session.is_some(),
        };
        let template = self.0.get_template(name)?;
        template.render(context! { ..values, ..frame })
    }
}

/// A round even number that is at least `most`.
fn axis_end(most: u128) -> u128 {
    let digits = most.saturating_sub(1).max(1).ilog10();
    let step = 2 * 10_u128.pow(digits);
    most.max(1).next_multiple_of(step)
}

/// `value` in at most four digits and a letter.
fn short(value: u128) -> String {
    let power = value.max(1).ilog10() / 3;
    let unit = 1000_u128.pow(power);
    let letter = " kMGTPE".chars().nth(power as usize).unwrap_or(' ');
    let text = match (value / unit, value % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, tenth) => format!("{whole}.{tenth}{letter}"),
    };
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;
    use serde_json::json;

    use super::*;

    /// The chart of these values, one an hour.
    fn chart(values: &[u64]) -> String {
        let rows = values.iter().enumerate();
        let rows =
            rows.map(|(hour, value)| json!({"hour": format!("2026-11-21T{hour:02}"), "n": value}));
        let rows = minijinja::value::Serde(rows.collect::<Vec<_>>());
        let values =
            context! { rows, by => "hour", counted => "n", name => "Sign-ups <all> \"&\"" };
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
        let (description, texts, rects) = drawn(&[0; 24]);
        assert_eq!(texts[..3], ["0", "1", "2"]);
        let hours = ["03:00", "07:00", "11:00", "15:00", "19:00", "23:00"];
        assert_eq!(texts[3..], hours);
        assert_eq!(rects, Vec::<[f64; 4]>::new());
        assert_eq!(description, "2026-11-21 00:00 to 2026-11-21 23:00: none.");
    }

    #[test]
    fn one_point_is_one_bar() {
        let (_, texts, rects) = drawn(&[5]);
        assert_eq!(texts, ["0", "3", "6", "00:00"]);
        assert_eq!(rects.len(), 1);
    }

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        let (_, _, rects) = drawn(&[1, 10, 0, 5]);
        let heights: Vec<_> = rects.iter().map(|[_, _, _, height]| *height).collect();
        assert_eq!(heights, [13.6, 136.0, 68.0]);
        let (description, _, _) = drawn(&[1, 7000, 0, 7000]);
        assert!(
            description.ends_with(": 14,001 in total, peak 7,000 (2026-11-21 03:00)."),
            "{description}"
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
    fn numbers_on_axes_are_short() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1k"),
            (1500, "1.5k"),
            (60_000, "60k"),
            (1_234_567, "1.2M"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
