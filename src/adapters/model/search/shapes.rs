//! Telephone numbers, hours, addresses, prices and years in a text, recognised by their form.

use std::iter::once;
use std::ops::RangeInclusive;

use crate::adapters::model::search::features::words;

/// A telephone number has at least this many digits.
const PHONE_DIGITS_MIN: usize = 7;
/// One that begins with another digit than zero has exactly this many, in at least three groups.
const PHONE_DIGITS: usize = 9;
/// Words after an hour.
const HOUR_UNITS: [&str; 5] = ["h", "Uhr", "am", "pm", "hs"];
/// Words between two hours.
const UNTIL: [&str; 9] = ["to", "till", "until", "bis", "à", "a", "al", "-", "–"];
/// A house number has at most this many bytes: `12a`.
const HOUSE_NUMBER_LEN_MAX: usize = 4;
/// Words beside a price, or in its place.
const MONEY: [&str; 11] = [
    "euro", "euros", "eur", "franken", "chf", "francs", "price", "preis", "prix", "precio",
    "gratis",
];
/// Words for what is free, without [`ENDINGS`].
const FREE: [&str; 3] = ["gratuit", "kostenl", "umsonst"];
/// The letters of endings such as those of `kostenlose` and `gratuitas`.
const ENDINGS: [char; 7] = ['a', 'e', 'm', 'n', 'o', 'r', 's'];
/// A number in this range is taken for a year.
const YEARS: RangeInclusive<u16> = 1700..=2099;

/// The marks of what `text` contains, as in the synonyms of `data/assistant/words.*.txt`.
pub(super) fn marks(text: &str) -> impl Iterator<Item = char> {
    let mut words: Vec<_> = text.split_whitespace().collect();
    words.retain(|word| !HOUR_UNITS.contains(&word.trim_end_matches(['.', ',', ';'])));
    let marks = [
        ('☎', has_phone(text)),
        ('⌚', has_hours(&words)),
        ('⌂', has_address(&words)),
        ('€', has_price(text)),
        ('⚑', words.iter().any(|word| is_year(word))),
    ];
    let found = marks.into_iter().filter(|(_, is_there)| *is_there);
    found.map(|(mark, _)| mark)
}

fn has_phone(text: &str) -> bool {
    let mut runs = text.split(|c| !"0123456789 +()/-".contains(c));
    runs.any(|run| {
        let digits = run.matches(char::is_numeric).count();
        let is_begun = run.trim_start().starts_with(['0', '+', '(']);
        let is_grouped = run.split_whitespace().count() > 2 && digits == PHONE_DIGITS;
        is_grouped || is_begun && digits >= PHONE_DIGITS_MIN
    })
}

/// `9 to 18` or `9am–5pm`, but neither `9-17` nor `2 to 4`, which may count anything.
fn has_hours(words: &[&str]) -> bool {
    let spaced = words.windows(3).filter_map(|words| match words {
        [from, until, to] if UNTIL.contains(until) => Some((*from, *to)),
        _ => None,
    });
    let joined = words.iter().filter(|word| word.contains([':', '.', 'm']));
    let joined = joined.filter_map(|word| word.split_once(['-', '–']));
    let spans = spaced.chain(joined);
    let mut hours = spans.filter_map(|(from, to)| hour(from).zip(hour(to)));
    hours.any(|(from, to)| from.abs_diff(to) > 2)
}

/// The hour that `word` begins with, 0 to 24.
fn hour(word: &str) -> Option<u8> {
    let number = word.split(|c: char| !c.is_ascii_digit()).next()?;
    let rest = word.strip_prefix(number)?;
    let is_hour = rest.is_empty() || rest.starts_with([':', '.', 'h', ',', ';', 'a', 'p']);
    let mut hour: u8 = number.parse().ok()?;
    if rest.contains("pm") {
        hour = hour % 12 + 12;
    }
    (is_hour && hour <= 24).then_some(hour)
}

/// `31 Chapel Road,`, `Chapel Road 31,` or a postcode: a British one such as `LK4 2PT`, or one
/// behind a street, `place du Puits, 31620 Villebois`.
fn has_address(words: &[&str]) -> bool {
    const POSTCODES: [&str; 4] = ["A0 0AA", "A00 0AA", "0A 0AA", ", 00000 A"];
    let is_name = |word: &str| word.chars().count() > 2 && word.starts_with(char::is_uppercase);
    let is_number =
        |word: &str| word.len() <= HOUSE_NUMBER_LEN_MAX && word.starts_with(char::is_numeric);
    // A number may be the last word.
    let padded = [words, &[""]].concat();
    let has_street = padded.windows(3).any(|words| {
        matches!(words, [one, two, three]
            if is_number(one) && is_name(two) && is_name(three) && three.ends_with(',')
                || is_name(one) && two.strip_suffix(',').is_some_and(is_number))
    });
    let kinds = words.join(" ").replace(|c: char| c.is_ascii_digit(), "0");
    let kinds = kinds.replace(|c: char| c.is_ascii_uppercase(), "A");
    has_street || POSTCODES.iter().any(|code| kinds.contains(code))
}

fn is_year(word: &str) -> bool {
    let year = word.trim_matches(['(', '.', ',', ';', ':', ')']).parse();
    year.is_ok_and(|year: u16| YEARS.contains(&year))
}

/// Cent and pounds need a number: `cent` is a hundred in French, and pounds are a weight. What is `payant` has a price
/// that is not told, whatever is free beside it.
fn has_price(text: &str) -> bool {
    let is_charged = text.contains("payant") || text.contains("pflichtig");
    let mut pairs = once(String::new()).chain(words(text)).zip(words(text));
    pairs.any(|(before, word)| match word.trim_end_matches(ENDINGS) {
        "cent" | "pound" => before.ends_with(char::is_numeric),
        stem => MONEY.contains(&&*word) || !is_charged && FREE.contains(&stem),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phone_numbers_hours_addresses_prices_and_years_are_recognised_by_their_form() {
        for (text, expected) in [
            ("Call 0555 014 220 or come by.", "☎"),
            ("+49 (0)551 12-34", "☎"),
            ("daily from 9 to 18", "⌚"),
            ("von 8.30 bis 14 Uhr", "⌚"),
            ("Mon-Fri 8am to 6pm", "⌚"),
            ("Lunch and dinner, 12pm–10pm", "⌚"),
            ("Saturdays 10:30–16:00.", "⌚"),
            ("The Old Mill, Larkhill LK4 2PT.", "⌂"),
            ("Our stall is at EC1A 1BB", "⌂"),
            ("We have baked here since 1978.", "⚑"),
            ("de 10h à 19h, sauf lundi", "⌚"),
            ("from 10 am to 5 pm, du mardi 14 h à 19 h.", "⌚"),
            ("Llame al 956 555 213.", "☎"),
            ("It costs 1,650 pounds, 2500000 in all.", "€"),
            ("Ab 500 Euro in zwölf Raten", "€"),
            ("Kinder kostenlos.", "€"),
            ("Kostenlose Plätze", "€"),
            ("Des places (gratuites)", "€"),
            ("Entrada *gratuita* hoy", "€"),
            ("Entrada: ¡gratis!", "€"),
            ("Nur 50 Cent.", "€"),
            ("opened (1978)", "⚑"),
            ("Chapel Road 31,", "⌂"),
            ("Yesterday's loaves are half price.", "€"),
            ("Chapel Road 31, Lower Harrow", "⌂"),
            ("at 4 Weir Lane, Oldbrook", "⌂"),
            ("Églantine, 8 place du Puits, 31620 Villebois.", "⌂"),
            (
                "Quay 9, in the rope store, 9:00 – 17:00, 0555 731 190",
                "☎⌚⌂",
            ),
        ] {
            assert_eq!(marks(text).collect::<String>(), expected, "{text}");
        }
        for text in [
            "",
            "04105 Lindenau",
            "two to 4 days, 2 to 4 people, 19 to 380 millilitres",
            "9 to",
            "for ages 5-16, 2.5-4 metres, 1978a, 3000 litres, 5 am",
            "LK42P lk4 2PT LK14 22PTS",
            "+++",
            "places gratuites, parking payant",
            "deux cent personnes, pounds of flour, no gratuity, gratin",
            "é 1, 2,",
        ] {
            assert_eq!(marks(text).collect::<String>(), "", "{text}");
        }
    }
}
