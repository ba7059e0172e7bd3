//! Valid and invalid bodies.

use crate::http::request::json::*;

/// Reads `body` as an object with a text `a`, an optional boolean `b` and a number `c`.
fn read(body: &str) -> Result<(), Vec<(String, &'static str)>> {
    let mut errors = Errors::default();
    let value = parse(body.as_bytes()).unwrap();
    if let Some(mut object) = value.object(&mut errors) {
        if let Some(a) = object.required("a", &mut errors) {
            a.string(&mut errors);
        }
        if let Some(b) = object.optional("b") {
            b.boolean(&mut errors);
        }
        if let Some(c) = object.optional("c") {
            c.number(&mut errors);
        }
        object.finish(Unknown::Rejected, &mut errors);
    }
    errors.finish(Some(())).map_err(|problem| {
        let named = |error: Invalid| (error.pointer, error.code);
        problem.errors.into_iter().map(named).collect()
    })
}

fn check(body: &str, expected: &[(&str, &str)]) {
    let found = read(body).err().unwrap_or_default();
    let found: Vec<_> = found.iter().map(|(p, c)| (p.as_str(), *c)).collect();
    assert_eq!(found, expected, "{body:.80}");
}

#[test]
fn every_bad_member_is_named() {
    check(r#"{"a":"x"}"#, &[]);
    check(r#"{"a":"x","b":true,"c":1e999999}"#, &[]);
    check(r#"{"a":"\u0000"}"#, &[]);
    check(r#"{}"#, &[("#/a", "required")]);
    check(r#"[]"#, &[("#", "type")]);
    check(r#"null"#, &[("#", "type")]);
    check(r#"{"a":null}"#, &[("#/a", "type")]);
    check(r#"{"a":"\ud800"}"#, &[("#/a", "format")]);
    check(r#"{"a":"x","\ud800":1}"#, &[("#", "format")]);
    check(
        r#"{"a":1,"b":"true","c":"1","d":0}"#,
        &[
            ("#/a", "type"),
            ("#/b", "type"),
            ("#/c", "type"),
            ("#/d", "unknown_member"),
        ],
    );
    check(r#"{"a":"x","a":"y"}"#, &[("#/a", "duplicate_member")]);
    // The same name, escaped differently.
    check(r#"{"a":"x","\u0061":"y"}"#, &[("#/a", "duplicate_member")]);
    check(
        r#"{"a":"x","~/ é":0}"#,
        &[("#/~0~1%20%C3%A9", "unknown_member")],
    );
}

#[test]
fn long_names_are_not_repeated() {
    let name = "n".repeat(65);
    check(
        &format!(r#"{{"a":"x","{name}":0}}"#),
        &[("#", "unknown_member")],
    );
}

#[test]
fn the_number_of_named_errors_is_bounded() {
    let members: Vec<_> = (0..200).map(|i| format!(r#""m{i}":0"#)).collect();
    let found = read(&format!("{{{}}}", members.join(","))).unwrap_err();
    assert_eq!(found.len(), ERRORS_MAX);
}

#[test]
fn deep_nesting_costs_nothing() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check(&format!(r#"{{"a":{deep}}}"#), &[("#/a", "type")]);
    check(&deep, &[("#", "type")]);
    check(
        &format!(r#"{{"a":"x","d":{deep}}}"#),
        &[("#/d", "unknown_member")],
    );
}

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
