//! The colour of links and buttons, one for light pages and one for dark ones. Both are legible on the pages'
//! backgrounds: WCAG 2.2, success criterion 1.4.3, level AA.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};

/// A colour of sRGB: red, green, blue.
type Color = [u8; 3];

/// Colours of links and buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accent {
    light: Color,
    dark: Color,
}

/// Minimum contrast of text of any size.
const CONTRAST_MIN: f64 = 4.5;

/// The service's own colours, on light pages and on dark ones.
const OWN_LIGHT: &str = "#0b665e";
const OWN_DARK: &str = "#62cdbf";

/// The least contrasting background of light pages: that of code.
const LIGHT_BACKGROUND: Color = [0xf0, 0xf3, 0xf3];

impl Accent {
    /// Parses `#RRGGBB`, the colour on light pages. Dark pages get it with 60 % of white, which is always legible.
    ///
    /// # Errors
    /// The fault and its fix, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let light = color(text)?;
        let found = contrast(light, LIGHT_BACKGROUND);
        if found < CONTRAST_MIN {
            return Err(format!(
                "has a contrast of {found:.2} on light pages, where links need {CONTRAST_MIN} (WCAG AA): \
                 use a darker colour"
            ));
        }
        let dark = light.map(|channel| channel / 5 * 2 + 153);
        Ok(Self { light, dark })
    }

    /// `style` with these colours in place of the service's own.
    pub fn applied_to(&self, style: &str) -> String {
        let style = style.replace(OWN_LIGHT, &hex(self.light));
        style.replace(OWN_DARK, &hex(self.dark))
    }
}

fn color(text: &str) -> Result<Color, String> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
    let color = bytes.and_then(|bytes| bytes.try_into().ok());
    Ok(color.ok_or("must be a colour such as '#0b665e', in quotes for the shell")?)
}

fn hex(color: Color) -> String {
    format!("#{}", HEXLOWER.encode_display(&color))
}

/// Contrast ratio of the two, from 1 to 21.
fn contrast(one: Color, other: Color) -> f64 {
    let (one, two) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(two) / one.min(two)
}

/// Relative luminance, from 0 to 1.
fn luminance(color: Color) -> f64 {
    let [red, green, blue] = color.map(|channel| match f64::from(channel) / 255.0 {
        dim if dim <= 0.04045 => dim / 12.92,
        bright => ((bright + 0.055) / 1.055).powf(2.4),
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least contrasting background of dark pages: that of code.
    const DARK_BACKGROUND: Color = [0x1f, 0x26, 0x2a];

    #[test]
    fn a_colour_that_can_be_read_is_taken_and_its_shade_for_dark_pages_found() {
        for (given, light, dark) in [
            ("#9e5f00", "#9e5f00", "#d7bf99"),
            ("#7A1FA2", "#7a1fa2", "#c9a5d9"),
            ("000000", "#000000", "#999999"),
        ] {
            let accent = Accent::parse(given).unwrap();
            let styled = accent.applied_to("a #0b665e b #62cdbf");
            assert_eq!(styled, format!("a {light} b {dark}"));
            // Text on a button.
            assert!(contrast(accent.light, [0xff; 3]) >= CONTRAST_MIN);
            for background in [DARK_BACKGROUND, [0x11, 0x15, 0x18]] {
                assert!(contrast(accent.dark, background) >= CONTRAST_MIN);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_or_is_no_colour_is_refused_with_what_to_do() {
        let refused = |given| Accent::parse(given).unwrap_err();
        let pale = "has a contrast of 1.92 on light pages, where links need 4.5 (WCAG AA): use a darker \
                    colour";
        assert_eq!(refused("#ff9900"), pale);
        for given in [
            "",
            "#",
            "#fff",
            "#0b665e0",
            "#0b665e ",
            "##0b665e",
            "#+b665e",
            "#0b665g",
            "teal",
            "#äöüä",
        ] {
            let told = "must be a colour such as '#0b665e', in quotes for the shell";
            assert_eq!(refused(given), told, "{given}");
        }
    }

    #[test]
    fn the_contrast_is_that_of_the_guidelines() {
        let color = |text| color(text).unwrap();
        for (one, two, expected) in [
            ("#000000", "#ffffff", 21.0),
            ("#ffffff", "#ffffff", 1.0),
            ("#777777", "#ffffff", 4.48),
            ("#767676", "#ffffff", 4.54),
        ] {
            let contrast = contrast(color(one), color(two));
            assert!(
                (contrast - expected).abs() < 0.005,
                "{one} {two} {contrast}"
            );
        }
    }

    #[test]
    fn the_style_sheets_have_the_colours_that_are_counted_with() {
        let pages = include_str!("../../data/style.css");
        let elements = include_str!("../../data/embed/style.css");
        for color in [OWN_LIGHT, OWN_DARK] {
            assert!(pages.contains(color) && elements.contains(color));
        }
        for background in [LIGHT_BACKGROUND, DARK_BACKGROUND] {
            assert!(pages.contains(&format!("--code: {};", hex(background))));
        }
    }
}
