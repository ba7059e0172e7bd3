//! Reading files row by row.

use super::*;
use crate::domain::{LeaveToken, Timestamp};
use crate::rows::rows;

const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);

/// A file that arrives in pieces.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buffer.len());
        let (piece, rest) = self.0.split_at(length);
        buffer[..length].copy_from_slice(piece);
        self.0 = rest;
        Ok(length)
    }
}

/// The rows of a file, each with its line, and the ignored columns.
type Found = (Vec<(u64, String)>, Vec<String>);

/// The content of a file, independent of the pieces it arrives in: for each row its line, and the address and time or
/// its fault. Or why it can't be read.
fn read(file: &[u8]) -> Result<Found, String> {
    let mut found = Vec::new();
    for size in [1, 3, 7, file.len().max(1)] {
        let mut rows = Vec::new();
        let ignored = read_csv(Pieces(file, size), &Columns::new(), |sent| {
            rows.extend(sent.split_inclusive(|byte| *byte == b'\n').map(line_of));
            true
        });
        found.push(match ignored {
            Ok(ignored) => Ok((rows, ignored)),
            Err(CommandError::Io(error)) => panic!("{error}"),
            Err(error) => Err(error.to_string()),
        });
    }
    let last = found.pop().unwrap();
    assert!(found.iter().all(|one| *one == last), "{found:?} {last:?}");
    last
}

fn line_of(line: &[u8]) -> (u64, String) {
    let row: ImportRow<'_> = serde_json::from_slice(line).unwrap();
    let text = match row.contact(NOW, LeaveToken::from_bytes([7; 16])) {
        Err(reason) => format!("bad: {reason}"),
        Ok(contact) if contact.subscribed_at == NOW => contact.email.as_str().to_owned(),
        Ok(contact) => {
            let at = contact.subscribed_at.as_ms();
            format!("{} {at}", contact.email.as_str())
        }
    };
    (row.line, text)
}

const EMAIL_REASON: &str = "bad: the address must be an email address such as name@example.com";
const TIME_REASON: &str =
    "bad: the time of sign-up must be like 2026-01-31T12:00:00Z or 2026-01-31";

/// Files and their rows, each with its line. One of one column needs no header.
const FILES: &str = r#"
|
\r\n\n |
email\n |
email\na@b.example | 2 a@b.example
email\r\na@b.example\r\n | 2 a@b.example
email\ra@b.example\r | 2 a@b.example
email;x\na@b.example;\n | 2 a@b.example
"email"\tx\na@b.example\t\n | 2 a@b.example
\u{feff}email,x\na@b.example,\n | 2 a@b.example
Name,E-Mail Address,Subscribed_At\nAda,A@b.example,1970-01-01T00:00:01Z\n,c@d.example,\n | 2 a@b.example 1000, 3 c@d.example
email,note\n\n"a@b.example","two\nlines, ""quoted"""\n c@d.example ,x\n | 3 a@b.example, 5 c@d.example
email,note,more\na@b.example\nb@b.example,x\n | 2 a@b.example, 3 b@b.example
email\n'=a@b.example\n | 2 =a@b.example
a@b.example\nc@d.example\n | 1 a@b.example, 2 c@d.example
"a@b.example"\n'c@d.example\n | 1 a@b.example, 2 'c@d.example
"#;

#[test]
fn csv_is_read_by_its_header_in_any_form() {
    const ENDS: [(&str, &str); 4] = [
        (r"\r", "\r"),
        (r"\n", "\n"),
        (r"\t", "\t"),
        (r"\u{feff}", "\u{feff}"),
    ];
    for [written, expected] in rows(FILES) {
        let replace = |file: String, (from, to)| file.replace(from, to);
        let file = ENDS.into_iter().fold(written.to_owned(), replace);
        let (found, _) = read(file.as_bytes()).unwrap();
        let found = found.iter().map(|(line, text)| format!("{line} {text}"));
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{written}");
    }
}

#[test]
fn bad_rows_of_csv_are_named_and_skipped() {
    let mut file = b"email,subscribed_at\n".to_vec();
    file.extend(b"nobody,\n,1970-01-01\na@b.example,yesterday\nb@b.example,1970-01-01,x\n");
    file.extend(b"\xff@b.example,\n");
    file.extend("x".repeat(70_000).as_bytes());
    file.extend(b",\n");
    file.extend(",".repeat(2000).as_bytes());
    file.extend(b"\nc@d.example,\n\"never closed,\n");
    let (found, _) = read(&file).unwrap();
    let found: Vec<_> = found.iter().map(|(line, text)| (*line, &**text)).collect();
    assert_eq!(
        found,
        [
            (2, EMAIL_REASON),
            (3, EMAIL_REASON),
            (4, TIME_REASON),
            (5, "bad: the row has 3 cells, but the header has 2"),
            (6, "bad: the address is not UTF-8"),
            (7, "bad: the address must be at most 254 characters long"),
            (8, "bad: the row has 2001 cells, but the header has 2"),
            (9, "c@d.example"),
            (
                10,
                "bad: a quote opened in this row is not closed: close it or remove it, and import the file again",
            ),
        ],
    );
}

#[test]
fn without_a_column_of_addresses_nothing_is_read() {
    for (file, line) in [
        ("name,city\nAda,London\n", 1),
        ("\n\nname\nAda\n", 3),
        ("a@b.example,c@d.example\n", 1),
    ] {
        let refused = read(file.as_bytes()).unwrap_err();
        let told = format!("line {line}: no column is named email");
        assert!(refused.starts_with(&told), "{file}: {refused}");
    }
    let refused = read(&[b"\"".as_slice(), &[b'x'; 200_000]].concat()).unwrap_err();
    assert!(refused.starts_with("line 1: no column"), "{refused}");
}

#[test]
fn what_is_not_read_is_named() {
    for (file, ignored) in [
        ("name, email ,subscribed_at,City\n", &["name", "City"][..]),
        ("a@b.example\n", &[]),
    ] {
        assert_eq!(read(file.as_bytes()).unwrap().1, ignored);
    }
}

#[test]
fn a_row_without_end_is_read_up_to_a_bound() {
    let file = b"email\n\"".chain(io::repeat(b'x'));
    let refused = read_csv(file, &Columns::new(), |_rows| true).unwrap_err();
    let told = "a row after line 1 does not end within 16 MiB";
    assert!(refused.to_string().starts_with(told), "{refused}");
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_rows_or_an_error(
        head in "(email|status|a@b\\.example|[\"\\r\\n,;]){0,6}",
        rest in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300),
    ) {
        let file = [head.as_bytes(), &rest].concat();
        let _ = read(&file);
    }
}
