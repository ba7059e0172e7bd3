//! What a text has that is known by its looks: a telephone number, hours from one to another, an address.

/// Stand for them among the synonyms of `data/assistant/words.*.txt`.
const PHONE: char = '☎';
const HOURS: char = '⌚';
const ADDRESS: char = '⌂';

/// A telephone number has at least this many digits.
const PHONE_DIGITS_MIN: usize = 7;
/// A house number has at most this many letters: `12a`.
const HOUSE_NUMBER_LEN_MAX: usize = 4;
/// Between hours.
const UNTIL: [&str; 9] = ["to", "till", "until", "bis", "à", "a", "al", "-", "–"];

/// The signs of what `text` has.
pub(super) fn signs(text: &str) -> impl Iterator<Item = char> {
    let parts: Vec<_> = text.split_whitespace().collect();
    let found = [
        (PHONE, has_phone(text)),
        (HOURS, parts.windows(3).any(are_hours)),
        (ADDRESS, parts.windows(3).any(is_address)),
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

/// `9 to 18`, `7.30 bis 14`.
fn are_hours(parts: &[&str]) -> bool {
    let hour = |part: &str| {
        let hour = part.split([':', '.', 'h', ',', ';']).next();
        hour.and_then(|it| it.parse().ok())
            .filter(|it| *it <= 24_u8)
    };
    let [from, until, to] = parts else {
        return false;
    };
    let is_longer_than_a_few = |(from, to): (u8, u8)| to.abs_diff(from) > 2;
    UNTIL.contains(until) && hour(from).zip(hour(to)).is_some_and(is_longer_than_a_few)
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
            "04105 Lindenau, since 2014",
            "two to 4 days, 2 to 4 people, 19 to 380 millilitres",
            "Ab 500 Euro in zwölf Raten",
            "9 to",
            "+++",
            "é 1, 2,",
        ] {
            assert_eq!(signs(text).collect::<String>(), "", "{text}");
        }
    }
}
