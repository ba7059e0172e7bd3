//! `Retry-After` of the upstream (RFC 9110, section 10.2.3).

use std::time::Duration;

use hyper::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// The pause for a date without a `Date` to measure it from.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(10);

/// The pause that `Retry-After` asks for, if any.
///
/// A date is measured from the response's own `Date`, as both are by the upstream's clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = text(headers, RETRY_AFTER)?;
    let pause = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only overflow is left to fail.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        match self::text(headers, DATE).map(httpdate::parse_http_date) {
            Some(Ok(now)) => until.duration_since(now).unwrap_or_default(),
            Some(Err(_)) | None => UNKNOWN_PAUSE,
        }
    };
    (!pause.is_zero()).then_some(pause)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().ok()?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_nonsense_is_not() {
        let date = Some("Sat, 21 Nov 2026 12:00:00 GMT");
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (value, date, expected) in [
            ("7", None, seconds(7)),
            (" 7 ", date, seconds(7)),
            ("0", None, None),
            ("99999999999999999999", None, seconds(u64::MAX)),
            ("Sat, 21 Nov 2026 12:00:30 GMT", date, seconds(30)),
            ("Saturday, 21-Nov-26 12:01:00 GMT", date, seconds(60)),
            ("Sat Nov 21 12:00:01 2026", date, seconds(1)),
            ("Sat, 21 Nov 2026 11:59:59 GMT", date, None),
            ("Sat, 21 Nov 2026 12:00:30 GMT", None, seconds(10)),
            (
                "Sat, 21 Nov 2026 12:00:30 GMT",
                Some("yesterday"),
                seconds(10),
            ),
            ("", date, None),
            ("-7", date, None),
            ("7.5", date, None),
            ("soon", date, None),
            ("\u{e9}", date, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            if let Some(date) = date {
                headers.insert(DATE, date.parse().unwrap());
            }
            assert_eq!(retry_after(&headers), expected, "{value:?} {date:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
