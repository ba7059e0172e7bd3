//! Instants and fields as text: what tracing-subscriber writes, without going through `core::fmt`
//! for what the line of each request has.

use std::error::Error;
use std::fmt;
use std::time::SystemTime;

use jiff::Timestamp;
use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};
use tracing_subscriber::fmt::time::FormatTime;

/// Instants in RFC 3339, to the microsecond, in UTC, of a clock.
pub(super) struct Instants(pub(super) fn() -> SystemTime);

impl FormatTime for Instants {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(6));
        // Fails after the year 9999.
        let now = Timestamp::try_from((self.0)()).unwrap_or(Timestamp::MAX);
        PRINTER
            .print_timestamp(&now, StdFmtWrite(writer))
            .map_err(|_full| fmt::Error)
    }
}

/// Fields as `name=value`, words in quotes, the message first and bare.
pub(super) struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = TextVisitor {
            writer,
            is_empty: true,
            written: Ok(()),
        };
        fields.record(&mut visitor);
        visitor.written
    }
}

struct TextVisitor<'w> {
    writer: Writer<'w>,
    is_empty: bool,
    written: fmt::Result,
}

impl TextVisitor<'_> {
    /// Writes a field whose value is written as `value`, between two of `quote`.
    fn write(&mut self, field: &Field, quote: &str, value: &str) {
        let name = field.name();
        if name == "message" || name.starts_with("r#") {
            let value = format_args!("{quote}{value}{quote}");
            return self.leave(|visitor| visitor.record_debug(field, &value));
        }
        let space = if self.is_empty { "" } else { " " };
        self.is_empty = false;
        for part in [space, name, "=", quote, value, quote] {
            self.written = self.written.and_then(|()| self.writer.write_str(part));
        }
    }

    /// Leaves a field to tracing-subscriber.
    fn leave(&mut self, record: impl FnOnce(&mut dyn Visit)) {
        let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
        record(&mut visitor);
        let written = visitor.finish();
        self.is_empty = false;
        self.written = self.written.and(written);
    }
}

impl Visit for TextVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        let mut buffer = zmij::Buffer::new();
        let digits = buffer.format(value);
        // Others may have an exponent, or more than 15 digits, and then two numbers of as many may
        // be as near: both are written otherwise.
        if (1e-4..1e15).contains(&value.abs()) && digits.len() <= 16 {
            self.write(field, "", digits);
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.write(field, "", itoa::Buffer::new().format(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.write(field, "", itoa::Buffer::new().format(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
        if field.name() != "message" && value.bytes().all(is_plain) {
            self.write(field, "\"", value);
        } else {
            self.leave(|visitor| visitor.record_str(field, value));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.leave(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.leave(|visitor| visitor.record_debug(field, value));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, UNIX_EPOCH};

    use proptest::prelude::*;
    use tracing_subscriber::fmt::format::DefaultFields;
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::{fmt as subscriber, registry};

    use super::*;

    /// What `log` logs, when fields are written by `fields`.
    fn written(
        fields: impl for<'w> FormatFields<'w> + Send + Sync + 'static,
        log: impl Fn(),
    ) -> String {
        let text = Arc::<Mutex<Vec<u8>>>::default();
        let shared = Arc::clone(&text);
        let layer = subscriber::layer()
            .with_writer(move || Shared(Arc::clone(&shared)))
            .with_ansi(false)
            .without_time()
            .fmt_fields(fields);
        tracing::subscriber::with_default(registry().with(layer), log);
        String::from_utf8(text.lock().unwrap().clone()).unwrap()
    }

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn fields_read_as_tracing_subscriber_writes_them(
            float: f64, milli in 0_u32.., signed: i64, unsigned: u64, is: bool, text: String,
            word in "[a-z_]{0,9}",
        ) {
            let duration_ms = f64::from(milli) / 1e3;
            let error = io::Error::other(text.clone());
            let error = Some(&error as &(dyn Error + 'static));
            let log = || {
                tracing::info!(
                    float, duration_ms, signed, a.b = unsigned, is, r#type = unsigned, word, text,
                    shown = %text, error, none = None::<u64>, "a {word} of {text}"
                );
                tracing::warn!(unsigned, word);
                tracing::warn!(word, unsigned);
                tracing::info!(message = unsigned, word);
                tracing::info!(message = word, word);
            };
            let ours = written(Fields, log);
            prop_assert!(ours.contains("signed="));
            prop_assert_eq!(ours, written(DefaultFields::new(), log));
        }
    }

    #[test]
    fn a_number_between_two_of_as_many_digits_reads_the_same() {
        for float in [
            268_705_893_204_100.0 + 0.125,
            -524_288.0 - 1.0 / 2048.0,
            0.1 + 0.2,
        ] {
            let log = || tracing::info!(float);
            assert_eq!(written(Fields, log), written(DefaultFields::new(), log));
        }
    }

    #[test]
    fn instants_are_utc_to_the_microsecond() {
        let check = |now: fn() -> SystemTime, expected: &str| {
            let mut text = String::new();
            let written = Instants(now).format_time(&mut Writer::new(&mut text));
            assert_eq!((written, text.as_str()), (Ok(()), expected));
        };
        check(|| UNIX_EPOCH, "1970-01-01T00:00:00.000000Z");
        check(
            || UNIX_EPOCH + Duration::new(1_709_210_096, 7_999),
            "2024-02-29T12:34:56.000007Z",
        );
        // Clocks that stand wrong.
        check(
            || UNIX_EPOCH - Duration::from_millis(1),
            "1969-12-31T23:59:59.999000Z",
        );
        check(
            || UNIX_EPOCH + Duration::from_secs(1 << 40),
            "9999-12-30T22:00:00.999999Z",
        );
    }
}
