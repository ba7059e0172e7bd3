//! What is no JSON. Bad members are those of `tests/it/bad_bodies.rs`.

use crate::http::request::json::*;

#[test]
fn what_is_not_json_is_told_where() {
    for (body, detail) in [
        (&b""[..], "no body"),
        (b" ", "line 1, column 1"),
        (b"{", "line 1, column 1"),
        (b"{\"a\":01}", "line 1"),
        (b"{\"a\":1,}", "line 1, column 8"),
        (b"{}{}", "line 1, column 3"),
        (b"{\"a\":\"\xff\"}", "byte 6"),
        (b"\xef\xbb\xbf", "no body"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "line 1, column 1"),
        (b"\xef\xbb\xbf{\"a\":\"\xff\"}", "byte 9"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"\0{\0}", "UTF-16"),
        (b"{\0}\0", "UTF-16"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"{\"a\":NaN}", "line 1"),
        (b"{'a':1}", "line 1"),
        (b"{\"a\":\"\n\"}", "line"),
    ] {
        let problem = parse(body).unwrap_err();
        assert_eq!(problem.code, Code::MalformedJson);
        assert!(problem.detail.contains(detail), "{}", problem.detail);
    }
}
