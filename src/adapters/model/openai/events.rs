//! The events of a body, read as it arrives: those of a stream (WHATWG HTML, section 9.2), or a JSON text as the only
//! one. The first byte tells them apart: proxies and small servers get the media type wrong.

use std::mem::take;

/// Longest event, or whole answer in JSON, in bytes.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// Some servers send white space to keep the connection alive, or a byte order mark.
const BLANKS: &[u8] = b" \t\r\n\xEF\xBB\xBF";

/// A stream begins with `data`, `event`, `id`, `retry` or a comment.
const STREAM: &[u8] = b"deir:";

/// The event and the line that are still incomplete.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Whether the body is JSON; unknown before its first byte.
    pub(super) is_json: Option<bool>,
    line: Vec<u8>,
    data: Vec<u8>,
    /// Some lines were no fields, for example when a proxy ends a stream with an error page.
    pub(super) has_foreign_lines: bool,
    /// The event reports an error.
    is_error: bool,
    /// Open objects and lists of JSON.
    depth: usize,
    /// The next byte of JSON is in a string.
    is_quoted: bool,
    /// The last byte of JSON was a backslash that escapes the next one.
    after_escape: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
}

impl Events {
    /// Takes the next bytes and returns the data of every event that they complete; none once an event exceeds
    /// [`EVENT_BYTES_MAX`], after which the body cannot be read further.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        if self.is_json.is_none() {
            let is_blank = |byte: &&u8| BLANKS.contains(byte);
            let blanks = bytes.iter().take_while(is_blank).count();
            bytes = bytes.get(blanks..).unwrap_or_default();
            self.is_json = bytes.first().map(|first| !STREAM.contains(first));
        }
        let mut events = Vec::new();
        if self.is_json == Some(true) {
            self.data.extend_from_slice(bytes);
            if self.data.len() > EVENT_BYTES_MAX {
                return None;
            }
            // JSON shows where it ends, whether the connection stays open or not.
            if bytes.iter().any(|byte| self.closes_json(*byte)) {
                events.push(take(&mut self.data));
            }
            return Some(events);
        }
        for &byte in bytes {
            let is_second_half = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                _ if is_second_half => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() + self.data.len() >= EVENT_BYTES_MAX => return None,
                _ => self.line.push(byte),
            }
        }
        Some(events)
    }

    /// True if this byte of a JSON text completes its object.
    fn closes_json(&mut self, byte: u8) -> bool {
        match byte {
            _ if take(&mut self.after_escape) => return false,
            b'\\' => self.after_escape = true,
            b'"' => self.is_quoted = !self.is_quoted,
            _ if self.is_quoted => return false,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte == b'}' && self.depth == 0
    }

    /// The event completed by the end of the body: some servers omit the last empty line.
    pub(super) fn finish(&mut self) -> Option<Vec<Vec<u8>>> {
        if self.is_json == Some(false) {
            return self.push(b"\n\n");
        }
        Some(vec![take(&mut self.data)])
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = take(&mut self.line);
        if line.is_empty() {
            let data = take(&mut self.data);
            // As a list, because an empty object would report no error.
            return match take(&mut self.is_error) {
                _ if data.is_empty() => None,
                true => Some([b"{\"error\":[", &*data, b"]}"].concat()),
                false => Some(data),
            };
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        // llama.cpp has a field `error`, others an event of that type.
        self.is_error |= name == b"error" || name == b"event" && value == b"error";
        let data = match name {
            b"data" | b"error" => value,
            // Some servers report an error without a field.
            _ if name.starts_with(b"{") => &line,
            // Comments and other fields are ignored.
            b"" | b"event" | b"id" | b"retry" => return None,
            _ => {
                self.has_foreign_lines |= colon.is_none() || name.starts_with(b"<");
                return None;
            }
        };
        if !self.data.is_empty() {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(data);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The events of a stream that comes in pieces of this size.
    fn read(stream: &[u8], size: usize) -> Vec<Vec<u8>> {
        let mut parser = Events::default();
        let mut events = Vec::new();
        for piece in stream.chunks(size) {
            events.extend(parser.push(piece).unwrap());
        }
        events.extend(parser.finish().unwrap());
        events
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream =
            ": hello\n\ndata: one\r\n\r\nevent: x\ndata:two\ndata: 2é\n\nid: 7\n\ndata: last";
        for size in 1..stream.len() {
            let events = read(stream.as_bytes(), size);
            assert_eq!(events, ["one".as_bytes(), "two\n2é".as_bytes(), b"last"]);
        }
    }

    #[test]
    fn byte_order_marks_at_the_very_start_are_no_part_of_the_stream() {
        for (stream, expected) in [
            ("\u{feff}data: one\n\n\u{feff}data: two\n\n", "one"),
            ("\u{feff}\ndata: one\n\n", "one"),
            ("\u{feff}\u{feff}data: one\n\n", "one"),
            ("data: \u{feff}one\n\n", "\u{feff}one"),
        ] {
            let events = read(stream.as_bytes(), 1);
            assert_eq!(events, [expected.as_bytes()], "{stream:?}");
        }
    }

    #[test]
    fn fields_are_read_by_the_letter_and_errors_in_every_form() {
        const CODE: &str = "data: a\n\nerror: {\"code\":500}\n\n";
        const ERROR: &str = r#"{"error":[{}]}"#;
        for (stream, expected) in [
            ("data\ndata:a\ndata:  b\n\n", &["a\n b"][..]),
            (":data: a\n Data: a\ndata : a\nDATA: a\n\n", &[]),
            ("event: x\nid: 7\nretry: 9\n\n", &[]),
            ("\r\r\n\ndata: a\r\rdata: b\r\n\r\n", &["a", "b"]),
            ("data: a\n\n\n\ndata: b", &["a", "b"]),
            (CODE, &["a", r#"{"error":[{"code":500}]}"#]),
            ("error:{}", &[ERROR]),
            ("event: error\ndata: {}\n\ndata: a\n\n", &[ERROR, "a"]),
            ("data\n{\"error\": \"x\"}\n\n", &["{\"error\": \"x\"}"]),
            ("event: error\n\ndata: a\n\n", &["a"]),
        ] {
            let events = read(stream.as_bytes(), stream.len());
            let expected: Vec<_> = expected.iter().map(|event| event.as_bytes()).collect();
            assert_eq!(events, expected, "{stream:?}");
        }
    }

    #[test]
    fn json_is_one_event_once_it_is_complete() {
        const QUOTED: &str = r#"{"}{\\": ["\"}", {}]}"#;
        for (json, rest) in [
            ("{\"a\": {}}", ""),
            (QUOTED, ""),
            ("[{}]", "[{}]"),
            ("", ""),
            ("{", "{"),
        ] {
            for blanks in ["", "\r\n\t", "\u{feff}\n"] {
                let mut parser = Events::default();
                let mut events = Vec::new();
                for byte in format!("{blanks}{json}").bytes() {
                    events.extend(parser.push(&[byte]).unwrap());
                }
                let is_complete = json != rest;
                assert_eq!(events.len(), usize::from(is_complete), "{json}");
                assert_eq!(parser.finish().unwrap(), [rest.as_bytes()], "{json}");
            }
        }
    }

    #[test]
    fn an_endless_event_is_not_kept() {
        for (start, rest) in [
            ("{", "{}"),
            (":", "x"),
            ("data:", "x"),
            ("data:", "x\ndata:"),
        ] {
            let piece = rest.repeat(1024);
            let pieces = EVENT_BYTES_MAX / piece.len();
            let mut parser = Events::default();
            assert!(parser.push(start.as_bytes()).is_some());
            let refused = (0..=8 * pieces).find(|_| parser.push(piece.as_bytes()).is_none());
            assert!(
                refused.is_some_and(|nth| nth + 1 >= pieces),
                "{start}{rest}"
            );
            let kept = parser.line.len() + parser.data.len();
            assert!(kept <= EVENT_BYTES_MAX + piece.len(), "{start}{rest}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_however_they_are_cut(
            bytes: Vec<u8>,
            text in "(data|event|error|:|\n|\r|[ {x\u{feff}]){0,40}",
            size in 1_usize..9,
        ) {
            for stream in [bytes.as_slice(), text.as_bytes()] {
                let stream = [b":\n", stream].concat();
                let at_once = read(&stream, stream.len());
                prop_assert_eq!(read(&stream, size), at_once);
            }
        }
    }
}
