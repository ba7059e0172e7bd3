//! Bar charts as SVG. They need no script, and say in words what they show.

use std::fmt::{self, Write as _};

use minijinja::HtmlEscape;

use crate::operator::page::numbers::{grouped, short};

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

/// A bar chart.
pub(super) struct Plot<'a> {
    /// Distinguishes it from the other plots of the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) bars: &'a [Bar],
}

// In units of the drawing, which are CSS pixels on a phone.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 172.0;
const LEFT: f64 = 42.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// The part of its place that a bar fills.
const BAR_SHARE: f64 = 0.78;
/// The shortest bar of a number above 0.
const BAR_MIN: f64 = 1.5;
/// Most names on the axis.
const TICKS_MAX: usize = 6;

impl Plot<'_> {
    /// What it shows, in one sentence.
    pub(super) fn description(&self) -> String {
        let values = self.bars.iter().map(|bar| bar.value);
        let total = values.fold(0, u64::saturating_add);
        let most = self.bars.iter().rev().max_by_key(|bar| bar.value);
        let (Some(first), Some(last)) = (self.bars.first(), self.bars.last()) else {
            return "There is nothing to show.".to_owned();
        };
        let range = format!("{} to {}", first.name, last.name);
        match most.filter(|most| most.value > 0) {
            None => format!("{range}: none."),
            Some(most) => format!(
                "{range}: {} in all, at most {} ({}).",
                grouped(total),
                grouped(most.value),
                most.name
            ),
        }
    }

    /// The drawing.
    pub(super) fn svg(&self) -> String {
        let mut svg = String::with_capacity(8 * 1024);
        // Nothing fails to be written to a string.
        let _ = self.write(&mut svg);
        svg
    }

    fn write(&self, svg: &mut String) -> fmt::Result {
        let id = HtmlEscape(self.id);
        writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {WIDTH} \
             {HEIGHT}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">"
        )?;
        let (title, description) = (HtmlEscape(self.title), self.description());
        writeln!(svg, "<title id=\"{id}-title\">{title}</title>")?;
        let description = HtmlEscape(&description);
        writeln!(svg, "<desc id=\"{id}-desc\">{description}</desc>")?;
        let most = self.bars.iter().map(|bar| bar.value).max();
        let top = axis_end(most.unwrap_or_default());
        self.write_axis(svg, top)?;
        self.write_bars(svg, top)?;
        writeln!(svg, "</svg>")
    }

    /// Lines with their numbers at the bottom, in the middle and at the top.
    fn write_axis(&self, svg: &mut String, top: u128) -> fmt::Result {
        for value in [0, top / 2, top] {
            let y = y_of(value, top);
            let class = if value == 0 { "base" } else { "line" };
            let (end, label) = (WIDTH - RIGHT, short(value));
            writeln!(
                svg,
                "<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
            )?;
            let (x, y) = (LEFT - 6.0, y + 3.5);
            writeln!(
                svg,
                "<text class=\"number\" x=\"{x}\" y=\"{y:.1}\">{label}</text>"
            )?;
        }
        let every = self.bars.len().div_ceil(TICKS_MAX).max(1);
        // The newest one has a name.
        let offset = self.bars.len().saturating_sub(1) % every;
        for (index, bar) in self.bars.iter().enumerate() {
            if index % every == offset {
                let x = (index as f64 + 0.5).mul_add(self.step(), LEFT);
                let y = HEIGHT - 8.0;
                let tick = HtmlEscape(&bar.tick);
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\">{tick}</text>")?;
            }
        }
        Ok(())
    }

    fn write_bars(&self, svg: &mut String, top: u128) -> fmt::Result {
        let step = self.step();
        for (index, bar) in self
            .bars
            .iter()
            .enumerate()
            .filter(|(_, bar)| bar.value > 0)
        {
            let base = y_of(0, top);
            let y = y_of(u128::from(bar.value), top).min(base - BAR_MIN);
            let x = (index as f64).mul_add(step, LEFT) + step * (1.0 - BAR_SHARE) / 2.0;
            let (width, height) = (step * BAR_SHARE, base - y);
            let (name, value) = (HtmlEscape(&bar.name), grouped(bar.value));
            writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\">\
                 <title>{name}: {value}</title></rect>"
            )?;
        }
        Ok(())
    }

    /// The width of a bar's place.
    fn step(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.bars.len().max(1) as f64
    }
}

/// How far down `value` is on an axis from 0 to `top`.
fn y_of(value: u128, top: u128) -> f64 {
    let height = HEIGHT - TOP - BOTTOM;
    (1.0 - value as f64 / top as f64).mul_add(height, TOP)
}

/// A round even number that is not below `most`.
fn axis_end(most: u64) -> u128 {
    let most = u128::from(most);
    let mut power = 1;
    loop {
        let fitting = [2, 4, 6, 8, 10].map(|digit| digit * power);
        if let Some(end) = fitting.into_iter().find(|end| most <= *end) {
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
        let plot = Plot {
            id: "sign-ups",
            title: "Sign-ups <by> \"hour\" & day",
            bars: &bars,
        };
        let svg = plot.svg();
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        let labels = root.attribute("aria-labelledby").unwrap().split(' ');
        let named: Vec<_> = labels
            .map(|id| root.children().find(|it| it.attribute("id") == Some(id)))
            .map(|it| it.unwrap().text().unwrap().to_owned())
            .collect();
        assert_eq!(named[0], plot.title);
        assert_eq!(named[1], plot.description());
        let elements = |name| root.children().filter(move |it| it.has_tag_name(name));
        let texts = elements("text").map(|it| it.text().unwrap().to_owned());
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
        let zeros = bars(&[0, 0]);
        let plot = |bars| {
            Plot {
                id: "a",
                title: "A",
                bars,
            }
            .description()
        };
        assert_eq!(plot(&zeros), "hour 0 to hour 1: none.");
        assert_eq!(plot(&[]), "There is nothing to show.");
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
        let plot_bars = bars(&[1, 7000, 0, 7000]);
        let plot = Plot {
            id: "a",
            title: "A",
            bars: &plot_bars,
        };
        assert_eq!(
            plot.description(),
            "hour 0 to hour 3: 14,001 in all, at most 7,000 (hour 1)."
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
