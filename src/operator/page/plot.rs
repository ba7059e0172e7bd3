//! Bar charts as SVG. They need no script, and describe their content in words.

use minijinja::HtmlEscape;

use super::numbers::{grouped, short};

/// A bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    /// Its full name.
    pub(super) name: String,
    /// A short one, for the axis.
    pub(super) tick: String,
    /// Its length.
    pub(super) value: u64,
}

// In units of the drawing, which are CSS pixels on a phone.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 172.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// Width of a bar, as a part of its slot.
const BAR_SHARE: f64 = 0.78;
/// Minimum height of the bar of a number above 0.
const BAR_MIN: f64 = 1.5;
/// Maximum number of names on the axis.
const TICKS_MAX: usize = 6;

/// Description of a chart, in one sentence.
pub(super) fn description(bars: &[Bar]) -> String {
    let total = bars
        .iter()
        .fold(0, |sum: u64, bar| sum.saturating_add(bar.value));
    let most = bars.iter().rev().max_by_key(|bar| bar.value);
    let (Some(first), Some(last), Some(most)) = (bars.first(), bars.last(), most) else {
        return "There is nothing to show.".to_owned();
    };
    let (first, last, name) = (&first.name, &last.name, &most.name);
    match most.value {
        0 => format!("{first} to {last}: none."),
        value => {
            let (total, value) = (grouped(total), grouped(value));
            format!("{first} to {last}: {total} in total, peak {value} ({name}).")
        }
    }
}

/// The chart of `bars`. `id` distinguishes it from others on the page.
pub(super) fn svg(id: &str, title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.value).max();
    let top = axis_end(most.unwrap_or_default());
    // Distance of a value from the top.
    let y_of = |value: u128| {
        let height = HEIGHT - TOP - BOTTOM;
        (1.0 - value as f64 / top as f64).mul_add(height, TOP)
    };
    let (end, base) = (WIDTH - RIGHT, y_of(0));
    let mut marks = String::with_capacity(8 * 1024);
    for value in [0, top / 2, top] {
        let class = if value == 0 { "base" } else { "line" };
        let (x, y, label) = (LEFT - 6.0, y_of(value), short(value));
        marks += &format!(
            "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n\
             <text class=\"number\" x=\"{x}\" y=\"{:.1}\">{label}</text>\n",
            y + 3.5
        );
    }
    let step = (end - LEFT) / bars.len().max(1) as f64;
    let every = bars.len().div_ceil(TICKS_MAX).max(1);
    for (index, bar) in bars.iter().enumerate() {
        let left = (index as f64).mul_add(step, LEFT);
        // The newest bar has a name on the axis.
        if (bars.len() - 1 - index).is_multiple_of(every) {
            let (x, y, tick) = (left + step / 2.0, HEIGHT - 8.0, &bar.tick);
            marks += &format!("<text x=\"{x:.1}\" y=\"{y}\">{tick}</text>\n");
        }
        if bar.value > 0 {
            let y = y_of(bar.value.into()).min(base - BAR_MIN);
            let x = left + step * (1.0 - BAR_SHARE) / 2.0;
            let (width, height) = (step * BAR_SHARE, base - y);
            let (name, value) = (&bar.name, grouped(bar.value));
            marks += &format!(
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\">\
                 <title>{name}: {value}</title></rect>\n"
            );
        }
    }
    let (title, description) = (HtmlEscape(title), description(bars));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\n\
         <desc id=\"{id}-desc\">{description}</desc>\n{marks}</svg>\n"
    )
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

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;

    fn bars(values: &[u64]) -> Vec<Bar> {
        let bar = |(index, &value)| Bar {
            name: format!("hour {index}"),
            tick: format!("{index}h"),
            value,
        };
        values.iter().enumerate().map(bar).collect()
    }

    /// The text of `title` and `desc`, the names on the axes, and the bars.
    fn drawn(values: &[u64]) -> (Vec<String>, Vec<[f64; 4]>) {
        let bars = bars(values);
        let title = "Sign-ups <by> \"hour\" & day";
        let svg = svg("sign-ups", title, &bars);
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        let labels = root.attribute("aria-labelledby").unwrap().split(' ');
        let named: Vec<_> = labels
            .map(|id| root.children().find(|it| it.attribute("id") == Some(id)))
            .map(|node| node.unwrap().text().unwrap().to_owned())
            .collect();
        assert_eq!(named[0], title);
        assert_eq!(named[1], description(&bars));
        let elements = |name| root.children().filter(move |node| node.has_tag_name(name));
        let texts = elements("text").map(|node| node.text().unwrap().to_owned());
        let texts: Vec<String> = texts.collect();
        let rects = elements("rect").map(|rect| {
            let number = |name| rect.attribute(name).unwrap().parse().unwrap();
            ["x", "y", "width", "height"].map(number)
        });
        let rects: Vec<[f64; 4]> = rects.collect();
        for [x, y, width, height] in &rects {
            assert!(
                *x >= LEFT && x + width <= WIDTH - RIGHT + 0.01,
                "{x} {width}"
            );
            assert!(*y >= TOP - 0.06 && y + height <= HEIGHT - BOTTOM + 0.06);
            assert!(*height >= 1.0 && *width > 0.0);
        }
        (texts, rects)
    }

    #[test]
    fn a_plot_without_data_is_empty_and_well_formed() {
        assert_eq!(
            drawn(&[]),
            (vec!["0".into(), "1".into(), "2".into()], vec![])
        );
        let (texts, rects) = drawn(&[0; 48]);
        assert_eq!(texts[3..], ["7h", "15h", "23h", "31h", "39h", "47h"]);
        assert_eq!(rects, Vec::<[f64; 4]>::new());
        assert_eq!(description(&bars(&[0, 0])), "hour 0 to hour 1: none.");
        assert_eq!(description(&[]), "There is nothing to show.");
    }

    #[test]
    fn one_point_is_one_bar() {
        let (texts, rects) = drawn(&[5]);
        assert_eq!(texts, ["0", "3", "6", "0h"]);
        assert_eq!(rects.len(), 1);
    }

    #[test]
    fn bars_are_as_high_as_their_numbers() {
        let (_, rects) = drawn(&[1, 10, 0, 5]);
        let heights: Vec<_> = rects.iter().map(|[_, _, _, height]| *height).collect();
        assert_eq!(heights, [13.6, 136.0, 68.0]);
        assert_eq!(
            description(&bars(&[1, 7000, 0, 7000])),
            "hour 0 to hour 3: 14,001 in total, peak 7,000 (hour 1)."
        );
    }

    #[test]
    fn huge_numbers_fit() {
        let (texts, rects) = drawn(&[u64::MAX, 1, u64::MAX]);
        assert_eq!(texts[..3], ["0", "10E", "20E"]);
        assert_eq!(rects.len(), 3);
        assert_eq!(drawn(&vec![u64::MAX; 1000]).1.len(), 1000);
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
}
