//! Reading files row by row.

use super::*;
use crate::domain::{ImportedContact, Timestamp};

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

/// The content of a file of `format`, independent of the pieces it arrives in: for each row its line, and the
/// address and time or its fault. Or why it can't be read.
fn read(format: FileFormat, file: &[u8]) -> Result<Found, String> {
    let mut found = Vec::new();
    for size in [1, 3, 7, file.len().max(1)] {
        let (sender, mut receiver) = mpsc::channel(file.len() + 1);
        let begun = begin(Pieces(file, size)).and_then(|(pieces, delimiter)| {
            let source = Source::new(pieces, sender);
            match format {
                FileFormat::Csv => read_csv(source, delimiter, &Vec::new()),
                FileFormat::Jsonl => read_json_lines(source, &Vec::new()),
            }
        });
        let mut rows = Vec::new();
        while let Ok(Ok(lines)) = receiver.try_recv() {
            let lines = lines.split_inclusive(|byte| *byte == b'\n');
            rows.extend(lines.map(line_of));
        }
        found.push(match begun {
            Ok(ignored) => Ok((rows, ignored)),
            Err(FileError::Io(error)) => panic!("{error}"),
            Err(error) => Err(error.to_string()),
        });
    }
    let last = found.pop().unwrap();
    assert!(found.iter().all(|one| *one == last), "{found:?} {last:?}");
    last
}

fn line_of(line: &[u8]) -> (u64, String) {
    let row: ImportRow<'_> = serde_json::from_slice(line).unwrap();
    let contact = ImportedContact::parse(&row.email, row.subscribed_at.as_deref(), NOW);
    let text = match (row.bad, contact) {
        (Some(reason), _) => format!("bad: {reason}"),
        (None, Err(error)) => format!("bad: {error}"),
        (None, Ok(contact)) if contact.subscribed_at == NOW => contact.email.as_str().to_owned(),
        (None, Ok(contact)) => {
            let at = contact.subscribed_at.as_ms();
            format!("{} {at}", contact.email.as_str())
        }
    };
    (row.line, text)
}

#[track_caller]
fn check(format: FileFormat, file: impl AsRef<[u8]>, rows: &[(u64, &str)]) {
    let (found, _) = read(format, file.as_ref()).unwrap();
    let found: Vec<_> = found.iter().map(|(line, text)| (*line, &**text)).collect();
    assert_eq!(found, rows);
}

const EMAIL_REASON: &str = "bad: the address must be an email address such as name@example.com";
const TIME_REASON: &str =
    "bad: the time of sign-up must be like 2026-01-31T12:00:00Z or 2026-01-31";
const JSON_REASON: &str = "bad: the line is not a JSON object with a string field \"email\"";

#[test]
fn csv_is_read_by_its_header() {
    let csv = |file: &str, rows: &[(u64, &str)]| check(FileFormat::Csv, file, rows);
    csv("", &[]);
    csv("\r\n\n", &[]);
    csv("email\n", &[]);
    csv("email\na@b.example", &[(2, "a@b.example")]);
    csv("email\r\na@b.example\r\n", &[(2, "a@b.example")]);
    csv("email\ra@b.example\r", &[(2, "a@b.example")]);
    csv("email;x\na@b.example;\n", &[(2, "a@b.example")]);
    csv("\"email\"\tx\na@b.example\t\n", &[(2, "a@b.example")]);
    csv(
        "Name,E-Mail Address,Subscribed_At\nAda,A@b.example,1970-01-01T00:00:01Z\n,c@d.example,\n",
        &[(2, "a@b.example 1000"), (3, "c@d.example")],
    );
    csv(
        "email,note\n\n\"a@b.example\",\"two\nlines, \"\"quoted\"\"\"\n c@d.example ,x\n",
        &[(3, "a@b.example"), (5, "c@d.example")],
    );
    csv(
        "email,note,more\na@b.example\nb@b.example,x\n",
        &[(2, "a@b.example"), (3, "b@b.example")],
    );
    csv("email\n'=a@b.example\n", &[(2, "=a@b.example")]);
}

#[test]
fn csv_of_one_column_needs_no_header() {
    let rows = [(1, "a@b.example"), (2, "c@d.example")];
    check(FileFormat::Csv, "a@b.example\nc@d.example\n", &rows);
    check(
        FileFormat::Csv,
        "\"a@b.example\"\n'c@d.example\n",
        &[rows[0], (2, "'c@d.example")],
    );
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_name() {
    let rows = [(2, "a@b.example")];
    check(FileFormat::Csv, "\u{feff}email,x\na@b.example,\n", &rows);
    let line = "\u{feff}{\"email\":\"a@b.example\"}";
    check(FileFormat::Jsonl, line, &[(1, "a@b.example")]);
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
    let long = "bad: the row is longer than 64 KiB or has more than 1024 columns";
    check(
        FileFormat::Csv,
        &file,
        &[
            (2, EMAIL_REASON),
            (3, EMAIL_REASON),
            (4, TIME_REASON),
            (5, "bad: the row has 3 cells, but the header has 2"),
            (6, "bad: the row is not UTF-8"),
            (7, long),
            (8, long),
            (9, "c@d.example"),
            (
                10,
                "bad: a quote opened in this row turns 1 lines (up to line 10) into one cell: close it or remove \
                 it, and import the file again",
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
        let refused = read(FileFormat::Csv, file.as_bytes()).unwrap_err();
        let told = format!("line {line}: no column is named email");
        assert!(refused.starts_with(&told), "{file}: {refused}");
    }
    let endless = [b"\"".as_slice(), &[b'x'; 200_000]].concat();
    let refused = read(FileFormat::Csv, &endless).unwrap_err();
    assert!(refused.starts_with("line 1: no column"), "{refused}");
}

#[test]
fn json_lines_are_read() {
    let long = format!("{{\"email\":\"{}\"}}\n", "x".repeat(70_000));
    let file = [
        "{\"email\":\"A@b.example\",\"subscribed_at\":\"1970-01-01T00:00:01Z\",\"x\":[1]}\r\n",
        "\n",
        "{\"email\":\"c\\u0040d.example\",\"subscribed_at\":null}\n",
        "{\"email\":\"nobody\"}\n",
        "{\"email\":7}\n",
        "{}\n",
        "[\"a@b.example\"]\n",
        "{\"email\":\"a@b.example\"\n",
        "{\"email\":\"a@b.example\",\"email\":\"c@d.example\"}\n",
        "{\"email\":\"a@b.example\",\"subscribed_at\":\"1.1.1970\"}\n",
        &long,
        "{\"email\":\"'=a@b.example\"}",
    ];
    check(
        FileFormat::Jsonl,
        file.concat(),
        &[
            (1, "a@b.example 1000"),
            (3, "c@d.example"),
            (4, EMAIL_REASON),
            (5, JSON_REASON),
            (6, JSON_REASON),
            (7, JSON_REASON),
            (8, JSON_REASON),
            (9, JSON_REASON),
            (10, TIME_REASON),
            (11, "bad: the line is longer than 64 KiB"),
            (12, "'=a@b.example"),
        ],
    );
}

#[test]
fn what_is_not_read_is_named() {
    for (format, file, ignored) in [
        (
            FileFormat::Csv,
            "name, email ,subscribed_at,City\n",
            &["name", "City"][..],
        ),
        (FileFormat::Csv, "a@b.example\n", &[]),
        (
            FileFormat::Jsonl,
            "{\"email\":\"a@b.example\",\"last_seen_at\":\"\"}\n{\"email\":\"a@b.example\",\"x\":1}\n",
            &["last_seen_at", "x"],
        ),
    ] {
        assert_eq!(read(format, file.as_bytes()).unwrap().1, ignored);
    }
}

/// Bytes without end.
struct Endless(&'static [u8]);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.0.is_empty() {
            return self.0.read(buffer);
        }
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn a_row_without_end_is_read_up_to_a_bound() {
    let (sender, _receiver) = mpsc::channel(1);
    let (file, delimiter) = begin(Endless(b"email\n\"")).unwrap();
    let source = Source::new(file, sender);
    let refused = read_csv(source, delimiter, &Vec::new()).unwrap_err();
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
        for format in [FileFormat::Csv, FileFormat::Jsonl] {
            let _ = read(format, &file);
        }
    }
}
