//! Numbers for people.

use std::cmp::Ordering;

use indicatif::{HumanBytes, HumanCount};

/// `value` in at most four digits and a letter.
pub(super) fn short(value: u128) -> String {
    let power = value.max(1).ilog10() / 3;
    let unit = 1000_u128.pow(power);
    let letter = " kMGTPE".chars().nth(power as usize).unwrap_or(' ');
    let text = match (value / unit, value % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, tenth) => format!("{whole}.{tenth}{letter}"),
    };
    text.trim_end().to_owned()
}

/// `value` with a comma after every three digits.
pub(super) fn grouped(value: u64) -> String {
    HumanCount(value).to_string()
}

/// A size in bytes.
pub(super) fn bytes(number: u64) -> String {
    HumanBytes(number).to_string()
}

/// A duration, rounded up to its unit.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        7200..172_800 => format!("{} h", seconds.div_ceil(3600)),
        172_800.. => format!("{} days", seconds.div_ceil(86_400)),
    }
}

/// Change from `before` to `now`, in percent; `None` if both are 0.
pub(super) fn change(now: u64, before: u64) -> Option<String> {
    let (now, before) = (u128::from(now), u128::from(before));
    if before == 0 {
        return (now > 0).then(|| "up from 0".to_owned());
    }
    let percent = (now.abs_diff(before) * 100 + before / 2) / before;
    let text = match now.cmp(&before) {
        Ordering::Less => format!("\u{2212}{percent}%"),
        Ordering::Equal => "unchanged".to_owned(),
        Ordering::Greater => format!("+{percent}%"),
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_on_axes_and_grouped_elsewhere() {
        for (value, on_axis, elsewhere) in [
            (0, "0", "0"),
            (999, "999", "999"),
            (1000, "1k", "1,000"),
            (1500, "1.5k", "1,500"),
            (60_000, "60k", "60,000"),
            (1_234_567, "1.2M", "1,234,567"),
        ] {
            assert_eq!(short(value.into()), on_axis);
            assert_eq!(grouped(value), elsewhere);
        }
    }

    #[test]
    fn changes_are_in_percent() {
        for (now, before, text) in [
            (0, 0, None),
            (5, 0, Some("up from 0")),
            (0, 5, Some("\u{2212}100%")),
            (5, 5, Some("unchanged")),
            (6, 5, Some("+20%")),
            (1, 3, Some("\u{2212}67%")),
            (u64::MAX, 1, Some("+1844674407370955161400%")),
        ] {
            assert_eq!(change(now, before).as_deref(), text, "{now} {before}");
        }
    }

    #[test]
    fn lengths_of_time_are_short() {
        for (seconds, text) in [
            (1, "1 s"),
            (119, "119 s"),
            (121, "3 min"),
            (7200, "2 h"),
            (86_400, "24 h"),
            (172_801, "3 days"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }
}
