//! A relay's replies (RFC 5321, section 4.2). Their texts may be any bytes.

/// A reply of one or more lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    /// The code of its last line; 0 if there is none.
    pub(super) code: u16,
    /// The texts of its lines, without their codes.
    pub(super) text: Vec<u8>,
}

impl Reply {
    /// Adds a line and returns whether it is the last one, or `None` if this is not a reply. The line may end with
    /// a bare line feed, or with the connection.
    pub(super) fn push(&mut self, line: &[u8]) -> Option<bool> {
        let (code, is_last, text) = match line.trim_ascii_end() {
            [a @ b'1'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9', rest @ ..]
                if !rest.first().is_some_and(u8::is_ascii_digit) =>
            {
                let digits = [a, b, c].map(|digit| u16::from(digit - b'0'));
                let code = digits.iter().fold(0, |code, digit| 10 * code + digit);
                let is_last = rest.first() != Some(&b'-');
                (code, is_last, rest.strip_prefix(b"-").unwrap_or(rest))
            }
            // Some relays break lines without repeating the code.
            text if self.code != 0 => (self.code, false, text),
            _ => return None,
        };
        self.code = code;
        self.text.extend(text);
        self.text.push(b'\n');
        Some(is_last)
    }

    /// The parameters of an extension, in capitals, if a reply to EHLO offers it. `AUTH=LOGIN` is an old spelling
    /// of `AUTH LOGIN`; some relays send both.
    pub(super) fn extension(&self, keyword: &str) -> Option<Vec<String>> {
        let text = String::from_utf8_lossy(&self.text).to_uppercase();
        let mut found: Option<Vec<String>> = None;
        // The first line is the relay's name.
        for line in text.lines().skip(1) {
            let mut words = line.split(['=', ' ', '\t']).filter(|word| !word.is_empty());
            if words.next() == Some(keyword) {
                let parameters = words.map(str::to_owned);
                found.get_or_insert_default().extend(parameters);
            }
        }
        found
    }

    /// Subject and detail of the enhanced code (RFC 3463). Cisco writes `550 #5.1.0`, and qmail `(#5.1.1)` at the end.
    pub(super) fn status(&self) -> Option<(u16, u16)> {
        let text = String::from_utf8_lossy(&self.text);
        text.lines().find_map(|line| {
            let words = line.split_whitespace().enumerate();
            words
                .filter(|(place, word)| *place == 0 || word.starts_with(['(', '[', '<', '#']))
                .find_map(|(_, word)| status(word))
        })
    }
}

fn status(word: &str) -> Option<(u16, u16)> {
    let begun = word.trim_matches(['(', '[', '<', '#', '.']);
    let numbers = begun.split(|c: char| !c.is_ascii_digit() && c != '.');
    let code = numbers.take(1).map(|code| code.trim_end_matches('.'));
    let numbers: Vec<_> = code.flat_map(|code| code.split('.')).collect();
    match numbers.as_slice() {
        ["2" | "4" | "5", subject, detail] => Some((subject.parse().ok()?, detail.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::blame::Fault;
    use super::*;
    use crate::rows::rows;

    /// The reply at the start of `bytes`.
    fn reply(bytes: &[u8]) -> Option<Reply> {
        let mut reply = Reply::default();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if reply.push(line)? {
                return Some(reply);
            }
        }
        None
    }

    #[test]
    fn a_reply_is_read_however_its_lines_are_written() {
        for (bytes, read) in [
            (&b"250 ok\r\n"[..], Some((250, "ok\n"))),
            (b"250 ok\n", Some((250, "ok\n"))),
            (b"250 ok", Some((250, "ok\n"))),
            (b"250\r\n", Some((250, "\n"))),
            (b"250 \r\n", Some((250, "\n"))),
            (b"250ok\r\n", Some((250, "ok\n"))),
            (b"250\tok\r\n", Some((250, "ok\n"))),
            (
                b"250-a\r\n250-\r\n250-b\r\n250\r\n",
                Some((250, "a\n\nb\n\n")),
            ),
            (
                b"250-a\r\n\r\nmore\r\n250 b\r\n",
                Some((250, "a\n\nmore\n b\n")),
            ),
            (b"250-a\r\n550 b\r\n", Some((550, "a\n b\n"))),
            (b"250-a\r\n250-b\r\n", None),
            (b"25 ok\r\n", None),
            (b"2500 ok\r\n", None),
            (b"650 ok\r\n", None),
            (b"\r\n", None),
            (b"SSH-2.0-OpenSSH_9.2\r\n", None),
            (b"\x15\x03\x03\x00\x02\x02\x16", None),
        ] {
            let read = read.map(|(code, text)| (code, text.trim_start().into()));
            let found =
                reply(bytes).map(|reply| (reply.code, reply.text.trim_ascii_start().to_vec()));
            assert_eq!(found, read, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    /// The lines of a reply, and what it offers for `AUTH`.
    const OFFERS: &str = r"
250-relay\n250 AUTH PLAIN LOGIN             | PLAIN LOGIN
250-relay\n250 auth plain login             | PLAIN LOGIN
250-relay\n250 Auth=Login                   | LOGIN
250-relay\n250-AUTH=LOGIN\n250 AUTH PLAIN   | LOGIN PLAIN
250-relay\n250-\n250- \n250  AUTH\tPLAIN    | PLAIN
250-relay\n250 AUTH                         |
250-relay\n250 AUTHENTICATION PLAIN         | none
250-AUTH PLAIN\n250 SMTPUTF8                | none
250 relay                                   | none
";

    #[test]
    fn extensions_are_found_in_any_case_and_spelling() {
        for [lines, offered] in rows(OFFERS) {
            let lines = lines.replace(r"\n", "\n").replace(r"\t", "\t");
            let found = reply(lines.as_bytes()).unwrap().extension("AUTH");
            let found = found.map_or_else(|| "none".to_owned(), |words| words.join(" "));
            assert_eq!(found, offered, "{lines}");
        }
    }

    #[test]
    fn the_enhanced_code_is_found_where_relays_write_it() {
        for (text, status) in [
            ("5.1.1 nobody", Some((1, 1))),
            ("5.7.1: no", Some((7, 1))),
            ("5.7.1. Access denied", Some((7, 1))),
            ("<5.1.1> unknown", Some((1, 1))),
            ("5.7.1<news@example.org> no", Some((7, 1))),
            ("#5.1.0 Address rejected.", Some((1, 0))),
            ("sorry, no mailbox here (#5.1.1)", Some((1, 1))),
            ("[5.2.2] full", Some((2, 2))),
            ("4.7.1 no", Some((7, 1))),
            ("5.2.252 SendAsDenied", Some((2, 252))),
        ] {
            let reply = reply(format!("550 {text}").as_bytes()).unwrap();
            assert_eq!(reply.status(), status, "{text}");
        }
        let without = "|no 5.1.1 here|192.0.2.1 is blocked|5.1 no|5.1.99999999 no|5.1. no|3.1.1 no";
        for text in without.split('|') {
            let reply = reply(format!("550 {text}").as_bytes()).unwrap();
            assert_eq!(reply.status(), None, "{text}");
        }
        let later = reply(b"550-Sorry\r\n550 5.1.1 nobody\r\n").unwrap();
        assert_eq!(later.status(), Some((1, 1)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>, code in 100..600_u16) {
            let bytes = [format!("{code}-").as_bytes(), &bytes, format!("\n{code} x").as_bytes()].concat();
            let mut reply = Reply::default();
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                prop_assert!(reply.push(line).is_some());
            }
            prop_assert_eq!(reply.code, code);
            prop_assert!(reply.text.len() <= bytes.len() + 1);
            reply.extension("AUTH");
            reply.status();
            let words = Fault::of_reply(reply).words(Some("ada"));
            prop_assert!(words.chars().count() < 250);
            prop_assert!(!words.contains(char::is_control));
        }
    }
}
