use hyper::header::HeaderValue;
use proptest::prelude::*;

use super::*;

const PROXY: &str = "10.0.0.1";

fn proxies() -> TrustedProxies {
    let networks = ["10.0.0.0/8", "2001:db8:ffff::/48", "::ffff:172.16.0.0/108"];
    TrustedProxies::new(networks.map(|network| network.parse().unwrap()))
}

fn headers(lines: &[(&HeaderName, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

fn source(peer: &str, lines: &[(&HeaderName, &[u8])]) -> Source {
    proxies().source(peer.parse().unwrap(), &headers(lines))
}

fn from(address: &str, forwarding: Forwarding) -> Source {
    Source {
        address: address.parse().unwrap(),
        forwarding,
    }
}

fn known(address: &str) -> Source {
    from(address, Forwarding::Known)
}

fn doubtful(address: &str) -> Source {
    from(address, Forwarding::Unusable)
}

/// What lines of one header lead to, behind the proxy.
fn check(name: &HeaderName, lines: &[&str], expected: Source) {
    let lines: Vec<_> = lines.iter().map(|line| (name, line.as_bytes())).collect();
    assert_eq!(source(PROXY, &lines), expected, "{name}: {lines:?}");
}

#[test]
fn x_forwarded_for_is_walked_from_the_right() {
    for (lines, expected) in [
        (vec!["1.1.1.1"], known("1.1.1.1")),
        (vec!["1.1.1.1, 2.2.2.2"], known("2.2.2.2")),
        (vec!["1.1.1.1, 2.2.2.2, 3.3.3.3"], known("3.3.3.3")),
        (vec!["1.1.1.1,2.2.2.2,10.9.9.9"], known("2.2.2.2")),
        (
            vec!["1.1.1.1, 2.2.2.2, 10.9.9.9, 10.8.8.8"],
            known("2.2.2.2"),
        ),
        // Trusted hops in IPv4-mapped clothes, and a trusted network that was named so.
        (
            vec!["1.1.1.1, ::ffff:10.9.9.9, 172.17.0.1"],
            known("1.1.1.1"),
        ),
        (
            vec!["oh, hi,,127.0.0.1,,,,, 12.34.56.78  "],
            known("12.34.56.78"),
        ),
        // Several lines are one list.
        (vec!["1.1.1.1, 2.2.2.2", "3.3.3.3"], known("3.3.3.3")),
        (vec!["1.1.1.1, 2.2.2.2", "10.9.9.9"], known("2.2.2.2")),
        (vec!["1.1.1.1", "", " , ,"], known("1.1.1.1")),
        // Only proxies: the first of them is who asked.
        (vec!["10.1.1.1, 10.9.9.9"], known("10.1.1.1")),
        // Ports and brackets.
        (vec!["1.1.1.1:4711"], known("1.1.1.1")),
        (vec!["2001:db8::1"], known("2001:db8::1")),
        (vec!["[2001:db8::1]"], known("2001:db8::1")),
        (vec!["[2001:db8::1]:443"], known("2001:db8::1")),
        (
            vec!["2.2.2.2, [2001:db8:ffff::1]:443, 10.9.9.9:1"],
            known("2.2.2.2"),
        ),
        (vec!["::ffff:1.1.1.1"], known("1.1.1.1")),
        (vec!["[::ffff:1.1.1.1]:80"], known("1.1.1.1")),
        (vec!["2.2.2.2, [::ffff:10.9.9.9]:80"], known("2.2.2.2")),
        // A list that a trusted hop ends may go on in the line before.
        (
            vec!["6.6.6.6, 1.1.1.1", "", "10.8.8.8", "10.9.9.9, 10.7.7.7"],
            known("1.1.1.1"),
        ),
        // What cannot be read ends the walk at the last good address.
        (vec!["1.1.1.1, nonsense"], doubtful(PROXY)),
        (vec!["1.1.1.1, nonsense, 10.9.9.9"], doubtful("10.9.9.9")),
        (vec!["1.1.1.1", "unknown"], doubtful(PROXY)),
        (vec!["1.1.1.1, 2.2.2.2:"], doubtful(PROXY)),
        (vec!["1.1.1.1, 2.2.2.2:99999"], doubtful(PROXY)),
        (vec!["1.1.1.1, 2.2.2.2:+80"], doubtful(PROXY)),
        (vec!["1.1.1.1, 2.2.2.2:80:80"], doubtful(PROXY)),
        (vec!["1.1.1.1, [2001:db8::1]:"], doubtful(PROXY)),
        (vec!["1.1.1.1, [2001:db8::1]:+1"], doubtful(PROXY)),
        (vec!["1.1.1.1, _hidden"], doubtful(PROXY)),
        (vec!["1.1.1.1, for=2.2.2.2"], doubtful(PROXY)),
        (vec!["1.1.1.1, 2.2.2.2:_a"], doubtful(PROXY)),
        (vec!["1.1.1.1, [2.2.2.2]"], doubtful(PROXY)),
        (vec!["1.1.1.1, [2001:db8::1"], doubtful(PROXY)),
        (vec!["1.1.1.1, [2001:db8::1]x"], doubtful(PROXY)),
        (vec!["1.1.1.1, fe80::1%eth0"], doubtful(PROXY)),
        (vec!["1.1.1.1, 02.2.2.2"], doubtful(PROXY)),
        (vec!["1.1.1.1, \"2.2.2.2\""], doubtful(PROXY)),
        (vec!["1.1.1.1, \""], doubtful(PROXY)),
        (vec![""], doubtful(PROXY)),
        (vec![" , "], doubtful(PROXY)),
    ] {
        check(&X_FORWARDED_FOR, &lines, expected);
    }
}

#[test]
fn forwarded_is_walked_from_the_right() {
    for (lines, expected) in [
        (vec!["for=1.1.1.1"], known("1.1.1.1")),
        (vec!["For=\"1.1.1.1\""], known("1.1.1.1")),
        (
            vec!["for=192.0.2.43, for=198.51.100.17;by=203.0.113.60;proto=http;host=example.com"],
            known("198.51.100.17"),
        ),
        (
            vec!["proto=https;for=\"[2001:db8:cafe::17]:4711\""],
            known("2001:db8:cafe::17"),
        ),
        (
            vec!["for=1.1.1.1, for=\"[2001:db8:ffff::2]\" , for=10.2.2.2;proto=https"],
            known("1.1.1.1"),
        ),
        (vec!["for=\"1.1.1.1:4711\""], known("1.1.1.1")),
        (vec!["for=\"1.1.1.1:_p-1\""], known("1.1.1.1")),
        // Without the quotes that it should have.
        (vec!["for=1.1.1.1:4711"], known("1.1.1.1")),
        (vec!["for=[2001:db8::1]:1"], known("2001:db8::1")),
        (vec!["for=1.1.1.1", "for=2.2.2.2"], known("2.2.2.2")),
        (
            vec!["for=6.6.6.6, for=1.1.1.1", "", " , ", "for=10.9.9.9,,"],
            known("1.1.1.1"),
        ),
        (vec!["for=\"[::ffff:1.1.1.1]:80\""], known("1.1.1.1")),
        // Only proxies: the first of them is who asked.
        (vec!["for=10.1.1.1, for=10.9.9.9"], known("10.1.1.1")),
        (vec!["for=unknown, for=1.1.1.1"], known("1.1.1.1")),
        (vec!["for=1.1.1.1;; ;by=x"], known("1.1.1.1")),
        // Marks inside quotes separate nothing.
        (
            vec!["for=6.6.6.6, for=1.1.1.1;host=\"a,for=7.7.7.7;b\""],
            known("1.1.1.1"),
        ),
        (
            vec![r#"for=1.1.1.1;host="a\",for=7.7.7.7;x=\"b""#],
            known("1.1.1.1"),
        ),
        (vec![r#"for="1.1.1\.1""#], known("1.1.1.1")),
        // A stranger's open quote swallows nothing.
        (
            vec!["for=\"6.6.6.6, for=\"[2001:db8::1]\""],
            known("2001:db8::1"),
        ),
        (vec!["for=\"6.6.6.6, for=2.2.2.2"], known("2.2.2.2")),
        (vec!["for=\"6.6.6.6", "for=2.2.2.2"], known("2.2.2.2")),
    ] {
        check(&FORWARDED, &lines, expected);
    }
}

#[test]
fn what_cannot_be_read_in_forwarded_ends_the_walk() {
    for (lines, expected) in [
        // Names that are no addresses.
        (vec!["for=1.1.1.1, for=unknown"], doubtful(PROXY)),
        (
            vec!["for=1.1.1.1, for=\"unknown:80\";proto=https"],
            doubtful(PROXY),
        ),
        (vec!["for=1.1.1.1, for=\"_hidden:_port\""], doubtful(PROXY)),
        (
            vec!["for=1.1.1.1, for=UNKNOWN, for=10.9.9.9"],
            doubtful("10.9.9.9"),
        ),
        (vec!["for=1.1.1.1, for=\"2.2.2.2:+80\""], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for=_hidden"], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for=\"_gazonk\""], doubtful(PROXY)),
        (
            vec!["for=1.1.1.1, for=_x, for=10.9.9.9"],
            doubtful("10.9.9.9"),
        ),
        (vec!["for=1.1.1.1, by=2.2.2.2"], doubtful(PROXY)),
        (
            vec!["for=1.1.1.1, for=2.2.2.2;for=3.3.3.3"],
            doubtful(PROXY),
        ),
        (vec!["for=1.1.1.1, for="], doubtful(PROXY)),
        (vec!["for=1.1.1.1, 2.2.2.2"], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for=2.2.2.2\""], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for=\"2.2.2.2\"x"], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for=\"2.2.2.2:_\""], doubtful(PROXY)),
        (vec!["for=1.1.1.1, for =2.2.2.2"], doubtful(PROXY)),
    ] {
        check(&FORWARDED, &lines, expected);
    }
}

/// Heads are bounded, so is the length of a list; and what stands left of the first stranger is not
/// looked at.
#[test]
fn a_thousand_entries_are_walked_as_far_as_trust_reaches() {
    const ENTRIES: usize = 1000;
    for (name, proxy, nonsense, stranger) in [
        (&X_FORWARDED_FOR, "10.9.9.9", "nonsense", "1.1.1.1"),
        (&FORWARDED, "for=10.9.9.9", "\"nonsense", "for=1.1.1.1"),
    ] {
        let proxies = vec![proxy; ENTRIES].join(", ");
        check(name, &[&proxies], known("10.9.9.9"));
        check(name, &[stranger, &proxies], known("1.1.1.1"));
        check(name, &[&format!("{stranger}, {proxies}")], known("1.1.1.1"));
        check(name, &[nonsense, &proxies], doubtful("10.9.9.9"));
        let lines = vec![proxy; ENTRIES];
        check(name, &lines, known("10.9.9.9"));
        let forged = vec![nonsense; ENTRIES].join(", ");
        check(name, &[&forged, stranger], known("1.1.1.1"));
        check(name, &[&format!("{forged}, {stranger}")], known("1.1.1.1"));
        let empty = ",".repeat(ENTRIES);
        check(name, &[stranger, &empty], known("1.1.1.1"));
        check(name, &[&empty], doubtful(PROXY));
    }
}

#[test]
fn only_a_trusted_peer_is_asked() {
    for (peer, is_trusted) in [
        ("10.0.0.1", true),
        ("::ffff:10.0.0.1", true),
        ("2001:db8:ffff::9", true),
        ("172.31.255.255", true),
        ("172.32.0.0", false),
        ("192.0.2.1", false),
        ("::ffff:192.0.2.1", false),
        ("2001:db8:fffe::9", false),
    ] {
        let lines: [(&HeaderName, &[u8]); 1] = [(&X_FORWARDED_FOR, b"1.1.1.1")];
        let canonical = peer.parse::<IpAddr>().unwrap().to_canonical().to_string();
        let (asked, not_asked) = if is_trusted {
            (known("1.1.1.1"), from(&canonical, Forwarding::Silent))
        } else {
            (
                from(&canonical, Forwarding::Untrusted),
                from(&canonical, Forwarding::Direct),
            )
        };
        assert_eq!(source(peer, &lines), asked, "{peer}");
        assert_eq!(source(peer, &[]), not_asked, "{peer}");
        assert_eq!(asked.is_doubtful(), !is_trusted);
        assert_eq!(not_asked.is_doubtful(), is_trusted, "a silent proxy");
    }
}

#[test]
fn of_two_headers_neither_is_believed_unless_they_agree() {
    for (list, forwarded, expected) in [
        ("1.1.1.1", "for=1.1.1.1", known("1.1.1.1")),
        ("1.1.1.1", "for=6.6.6.6, for=1.1.1.1", known("1.1.1.1")),
        ("1.1.1.1", "for=6.6.6.6", doubtful(PROXY)),
        ("1.1.1.1", "nonsense", doubtful(PROXY)),
        ("nonsense", "for=6.6.6.6", doubtful(PROXY)),
        // An empty header names nobody.
        ("1.1.1.1", "", known("1.1.1.1")),
    ] {
        let lines: [(&HeaderName, &[u8]); 2] = [
            (&X_FORWARDED_FOR, list.as_bytes()),
            (&FORWARDED, forwarded.as_bytes()),
        ];
        assert_eq!(source(PROXY, &lines), expected, "{list} {forwarded}");
    }
}

#[test]
fn x_real_ip_is_noticed_and_never_believed() {
    let alone: [(&HeaderName, &[u8]); 1] = [(&X_REAL_IP, b"1.1.1.1")];
    assert_eq!(source(PROXY, &alone), doubtful(PROXY));
    let untrusted = from("192.0.2.1", Forwarding::Untrusted);
    assert_eq!(source("192.0.2.1", &alone), untrusted);
    let beside: [(&HeaderName, &[u8]); 2] =
        [(&X_REAL_IP, b"6.6.6.6"), (&X_FORWARDED_FOR, b"1.1.1.1")];
    assert_eq!(source(PROXY, &beside), known("1.1.1.1"));
}

/// Any bytes that a header value may have, with many of the marks that matter.
fn forged() -> impl Strategy<Value = Vec<u8>> {
    let mark = prop::sample::select(b"\",;=\\[]:._ 1for".to_vec());
    let any = any::<u8>().prop_filter("a header value", |&byte| byte >= 0x20 && byte != 0x7f);
    prop::collection::vec(prop_oneof![mark, any], 0..60)
}

proptest! {
    #[test]
    fn no_bytes_break_it(list in forged(), forwarded in forged()) {
        source(PROXY, &[(&X_FORWARDED_FOR, &list), (&FORWARDED, &forwarded)]);
    }

    #[test]
    fn what_a_stranger_wrote_first_changes_nothing(
        left in forged(),
        is_one_line in any::<bool>(),
        (is_list, right) in prop::sample::select(vec![
            (true, "1.1.1.1"),
            (true, "[2001:db8::1]:443, 10.2.2.2, 10.3.3.3:8080"),
            (false, "for=1.1.1.1"),
            (false, "for=\"[2001:db8::1]:443\";proto=https, for=10.2.2.2"),
            (false, "for=1.1.1.1;host=\"a\\\",for=7.7.7.7;x=\\\"b\""),
        ]),
    ) {
        let name = if is_list { &X_FORWARDED_FOR } else { &FORWARDED };
        let honest = source(PROXY, &[(name, right.as_bytes())]);
        prop_assert_eq!(honest.forwarding, Forwarding::Known);
        let forged = if is_one_line {
            let line = [&left, &b", "[..], right.as_bytes()].concat();
            source(PROXY, &[(name, &line)])
        } else {
            source(PROXY, &[(name, &left), (name, right.as_bytes())])
        };
        prop_assert_eq!(forged, honest);
    }
}
