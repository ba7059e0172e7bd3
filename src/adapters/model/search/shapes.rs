//! What a text has that is known by its looks: a telephone number, hours from one to another, an address, a year.

use std::ops::RangeInclusive;

/// Stand for them among the synonyms of `data/assistant/words.*.txt`.
const PHONE: char = '☎';
const HOURS: char = '⌚';
const ADDRESS: char = '⌂';
const YEAR: char = '⚑';

/// A telephone number has at least this many digits.
const PHONE_DIGITS_MIN: usize = 7;
/// A house number has at most this many letters: `12a`.
const HOUSE_NUMBER_LEN_MAX: usize = 4;
/// A number among these is taken for a year.
const YEARS: RangeInclusive<u16> = 1700..=2099;
/// Between hours.
const UNTIL: [&str; 9] = ["to", "till", "until", "bis", "à", "a", "al", "-", "–"];

/// The signs of what `text` has.
pub(super) fn signs(text: &str) -> impl Iterator<Item = char> {
    let parts: Vec<_> = text.split_whitespace().collect();
    let found = [
        (PHONE, has_phone(text)),
        (
            HOURS,
            parts.windows(3).any(are_hours) || parts.iter().any(|it| are_joined_hours(it)),
        ),
        (
            ADDRESS,
            parts.windows(3).any(is_address) || parts.windows(2).any(is_postcode),
        ),
        (YEAR, parts.iter().any(|it| is_year(it))),
    ];
    let found = found.into_iter().filter(|(_, is_there)| *is_there);
    found.map(|(sign, _)| sign)
}

fn has_phone(text: &str) -> bool {
    let mut runs = text.split(|c: char| !c.is_ascii_digit() && !" +()/-".contains(c));
    runs.any(|run| {
        let is_begun = run.trim_start().starts_with(['0', '+', '(']);
        is_begun && run.matches(|c: char| c.is_ascii_digit()).count() >= PHONE_DIGITS_MIN
    })
}

/// `9 to 18`, `7.30 bis 14`, `9am to 5pm`.
fn are_hours(parts: &[&str]) -> bool {
    let [from, until, to] = parts else {
        return false;
    };
    UNTIL.contains(until) && is_span(from, to)
}

/// `9:00-17:00`, `9am–5pm`, but not `9-17`, which may count anything.
fn are_joined_hours(part: &str) -> bool {
    let is_clear = part.contains([':', '.', 'm']);
    let ends = part.split_once(['-', '–']);
    is_clear && ends.is_some_and(|(from, to)| is_span(from, to))
}

/// Whether it is longer than a few hours.
fn is_span(from: &str, to: &str) -> bool {
    let hours = hour(from).zip(hour(to));
    hours.is_some_and(|(from, to)| to.abs_diff(from) > 2)
}

/// Of 24, as far as the part tells.
fn hour(part: &str) -> Option<u8> {
    let number = part.split(|c: char| !c.is_ascii_digit()).next()?;
    let rest = part.get(number.len()..)?;
    let is_hour = rest.is_empty() || rest.starts_with([':', '.', 'h', ',', ';', 'a', 'p']);
    let hour: u8 = number.parse().ok().filter(|it| is_hour && *it <= 24)?;
    let is_afternoon = rest.contains("pm") && hour < 12;
    Some(if is_afternoon { hour + 12 } else { hour })
}

/// `Chapel Road 31,` or `31 Chapel Road`.
fn is_address(parts: &[&str]) -> bool {
    let is_name = |part: &str| part.chars().count() > 2 && part.starts_with(char::is_uppercase);
    let is_number = |part: &str| {
        part.len() <= HOUSE_NUMBER_LEN_MAX && part.starts_with(|c: char| c.is_ascii_digit())
    };
    match parts {
        [number, name, last] if is_number(number) && is_name(name) => {
            is_name(last) && last.ends_with(',')
        }
        [name, number, _] => is_name(name) && number.strip_suffix(',').is_some_and(is_number),
        _ => false,
    }
}

/// `LK4 2PT,`
fn is_postcode(parts: &[&str]) -> bool {
    let code = parts.concat();
    let code: Vec<_> = code.trim_end_matches(['.', ',', ';']).bytes().collect();
    let [first, .., digit, inward, last] = code[..] else {
        return false;
    };
    (5..=7).contains(&code.len())
        && code
            .iter()
            .all(|it| it.is_ascii_uppercase() || it.is_ascii_digit())
        && [first, inward, last].iter().all(u8::is_ascii_uppercase)
        && digit.is_ascii_digit()
}

/// `1978`, `2009,`
fn is_year(part: &str) -> bool {
    let year = part.trim_end_matches(['.', ',', ';', ':', ')']);
    let year = year.parse().ok();
    year.is_some_and(|it: u16| YEARS.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phone_numbers_hours_and_addresses_are_known_by_their_looks() {
        for (text, expected) in [
            ("Call 0555 014 220 or come by.", "☎"),
            ("+49 (0)551 12-34", "☎"),
            ("daily from 9 to 18", "⌚"),
            ("von 8.30 bis 14 Uhr", "⌚"),
            ("Mon-Fri 8am to 6pm", "⌚"),
            ("Saturdays 10:30–16:00.", "⌚"),
            ("The Old Mill, Larkhill LK4 2PT.", "⌂"),
            ("We have baked here since 1978.", "⚑"),
            ("de 10h à 19h, sauf lundi", "⌚"),
            ("Chapel Road 31, Lower Harrow", "⌂"),
            ("at 4 Weir Lane, Oldbrook", "⌂"),
            (
                "Quay 9, in the rope store, 9:00 – 17:00, 0555 731 190",
                "☎⌚⌂",
            ),
        ] {
            assert_eq!(signs(text).collect::<String>(), expected, "{text}");
        }
        for text in [
            "",
            "It costs 1,650 pounds, 2500000 in all.",
            "04105 Lindenau",
            "two to 4 days, 2 to 4 people, 19 to 380 millilitres",
            "Ab 500 Euro in zwölf Raten",
            "9 to",
            "for ages 5-16, 2.5-4 metres, 1978a, 3000 litres, 5 am",
            "LK42P lk4 2PT LK14 22PTS",
            "+++",
            "é 1, 2,",
        ] {
            assert_eq!(signs(text).collect::<String>(), "", "{text}");
        }
    }
}
