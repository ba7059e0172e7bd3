//! Tests of the client's address.

use hyper::header::HeaderValue;
use proptest::prelude::*;

use crate::http::request::client_ip::*;

const PROXY: &str = "10.0.0.1";

fn proxies() -> TrustedProxies {
    let networks = ["10.0.0.0/8", "2001:db8:ffff::/48", "172.16.0.0/12"];
    TrustedProxies::new(networks.map(|network| network.parse().unwrap()))
}

fn client_ip(peer: &str, lines: &[(&HeaderName, &[u8])]) -> ClientIp {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_bytes(value).unwrap());
    }
    proxies().client_ip(peer.parse().unwrap(), &headers)
}

fn from(address: &str, forwarding: Forwarding) -> ClientIp {
    ClientIp {
        address: address.parse().unwrap(),
        forwarding,
    }
}

fn known(address: &str) -> ClientIp {
    from(address, Forwarding::Known)
}

fn unusable(address: &str) -> ClientIp {
    from(address, Forwarding::Unusable)
}

/// Checks the client derived from these lines of `X-Forwarded-For`, behind the proxy.
fn check(lines: &[&str], expected: ClientIp) {
    let name = &X_FORWARDED_FOR;
    let headers: Vec<_> = lines.iter().map(|line| (name, line.as_bytes())).collect();
    let found = client_ip(PROXY, &headers);
    assert_eq!(found, expected, "{lines:?}");
    let is_known = expected.forwarding == Forwarding::Known;
    let network = if is_known {
        expected.address.into()
    } else {
        Network::Unknown
    };
    assert_eq!(found.network(), network, "{lines:?}");
}

/// The lines of a list, and the client: the last that is no proxy, with a port, brackets or neither, or the first of
/// proxies alone.
const WALKED: &str = "
1.1.1.1 => 1.1.1.1
1.1.1.1, 2.2.2.2 => 2.2.2.2
1.1.1.1, 2.2.2.2, 3.3.3.3 => 3.3.3.3
1.1.1.1,2.2.2.2,10.9.9.9 => 2.2.2.2
1.1.1.1, 2.2.2.2, 10.9.9.9, 10.8.8.8 => 2.2.2.2
1.1.1.1, ::ffff:10.9.9.9, 172.17.0.1 => 1.1.1.1
oh, hi,,127.0.0.1,,,,, 12.34.56.78   => 12.34.56.78
1.1.1.1, 2.2.2.2 / 3.3.3.3 => 3.3.3.3
1.1.1.1, 2.2.2.2 / 10.9.9.9 => 2.2.2.2
1.1.1.1 /  /  , , => 1.1.1.1
10.1.1.1, 10.9.9.9 => 10.1.1.1
1.1.1.1:4711 => 1.1.1.1
2001:db8::1 => 2001:db8::1
[2001:db8::1] => 2001:db8::1
[2001:db8::1]:443 => 2001:db8::1
2.2.2.2, [2001:db8:ffff::1]:443, 10.9.9.9:1 => 2.2.2.2
::ffff:1.1.1.1 => 1.1.1.1
[::ffff:1.1.1.1]:80 => 1.1.1.1
2.2.2.2, [::ffff:10.9.9.9]:80 => 2.2.2.2
6.6.6.6, 1.1.1.1 /  / 10.8.8.8 / 10.9.9.9, 10.7.7.7 => 1.1.1.1
";

#[test]
fn x_forwarded_for_is_walked_from_the_right() {
    for row in WALKED.trim().lines() {
        let (lines, client) = row.split_once(" => ").unwrap();
        let lines: Vec<_> = lines.split(" / ").collect();
        check(&lines, known(client));
    }
    // An element that cannot be parsed ends the walk, and the client is unknown.
    check(&["1.1.1.1, nonsense, 10.9.9.9"], unusable("10.9.9.9"));
    check(&["1.1.1.1", "unknown"], unusable(PROXY));
    let no_address = "nonsense|2.2.2.2:|2.2.2.2:99999|2.2.2.2:+80|2.2.2.2:80:80|[2001:db8::1]:|[2001:db8::1]:+1|\
                      _hidden|for=2.2.2.2|2.2.2.2:_a|[2.2.2.2]|[2001:db8::1|[2001:db8::1]x|fe80::1%eth0|02.2.2.2|\
                      \"2.2.2.2\"|\"";
    for last in no_address.split('|') {
        check(&[&format!("1.1.1.1, {last}")], unusable(PROXY));
    }
    for empty in ["", " , "] {
        check(&[empty], unusable(PROXY));
    }
}

/// The size of the head bounds the length of a list.
#[test]
fn a_thousand_entries_are_walked_as_far_as_trust_reaches() {
    const ENTRIES: usize = 1000;
    let (proxy, nonsense, client) = ("10.9.9.9", "nonsense", "1.1.1.1");
    let proxies = vec![proxy; ENTRIES].join(", ");
    check(&[&proxies], known("10.9.9.9"));
    check(&[client, &proxies], known("1.1.1.1"));
    check(&[&format!("{client}, {proxies}")], known("1.1.1.1"));
    check(&[nonsense, &proxies], unusable("10.9.9.9"));
    let lines = vec![proxy; ENTRIES];
    check(&lines, known("10.9.9.9"));
    let forged = vec![nonsense; ENTRIES].join(", ");
    check(&[&forged, client], known("1.1.1.1"));
    check(&[&format!("{forged}, {client}")], known("1.1.1.1"));
    let empty = ",".repeat(ENTRIES);
    check(&[client, &empty], known("1.1.1.1"));
    check(&[&empty], unusable(PROXY));
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
            (known("1.1.1.1"), from(&canonical, Forwarding::Missing))
        } else {
            (
                from(&canonical, Forwarding::Untrusted),
                from(&canonical, Forwarding::Direct),
            )
        };
        assert_eq!(client_ip(peer, &lines), asked, "{peer}");
        assert_eq!(client_ip(peer, &[]), not_asked, "{peer}");
        assert_eq!(not_asked.network(), Network::from(not_asked.address));
        assert_eq!(asked.may_be_proxy(), !is_trusted);
        assert_eq!(not_asked.may_be_proxy(), is_trusted, "a silent proxy");
    }
}

#[test]
fn other_headers_are_noticed_and_never_believed() {
    for (name, value) in [
        (&HeaderName::from_static("x-real-ip"), &b"6.6.6.6"[..]),
        (&HeaderName::from_static("forwarded"), b"for=6.6.6.6"),
    ] {
        let alone = [(name, value)];
        assert_eq!(client_ip(PROXY, &alone), unusable(PROXY));
        let untrusted = from("192.0.2.1", Forwarding::Untrusted);
        assert_eq!(client_ip("192.0.2.1", &alone), untrusted);
        let list = (&X_FORWARDED_FOR, &b"1.1.1.1"[..]);
        assert_eq!(client_ip(PROXY, &[(name, value), list]), known("1.1.1.1"));
        let unparsable = (&X_FORWARDED_FOR, &b"nonsense"[..]);
        assert_eq!(
            client_ip(PROXY, &[(name, value), unparsable]),
            unusable(PROXY)
        );
    }
}

#[test]
fn private_addresses_are_likely_proxies() {
    for (address, expected) in [
        ("127.0.0.1", true),
        ("10.1.2.3", true),
        ("172.31.0.1", true),
        ("192.168.1.1", true),
        ("169.254.0.1", true),
        ("::1", true),
        ("fd00::1", true),
        ("fe80::1", true),
        ("::ffff:10.0.0.1", true),
        ("172.32.0.1", false),
        ("198.51.100.1", false),
        ("2001:db8::1", false),
    ] {
        assert_eq!(is_private(address.parse().unwrap()), expected, "{address}");
    }
}

/// Bytes allowed in a header value, with many delimiters.
fn forged() -> impl Strategy<Value = Vec<u8>> {
    let mark = prop::sample::select(b"\",;=\\[]:._ 1for".to_vec());
    let any = any::<u8>().prop_filter("a header value", |&byte| byte >= 0x20 && byte != 0x7f);
    prop::collection::vec(prop_oneof![mark, any], 0..60)
}

proptest! {
    #[test]
    fn no_bytes_break_it(list in forged(), forwarded in forged()) {
        client_ip(PROXY, &[(&X_FORWARDED_FOR, &list), (&HeaderName::from_static("forwarded"), &forwarded)]);
    }

    #[test]
    fn what_the_client_wrote_first_changes_nothing(
        left in forged(),
        is_one_line in any::<bool>(),
        right in prop::sample::select(vec![
            "1.1.1.1",
            "[2001:db8::1]:443, 10.2.2.2, 10.3.3.3:8080",
        ]),
    ) {
        let name = &X_FORWARDED_FOR;
        let honest = client_ip(PROXY, &[(name, right.as_bytes())]);
        prop_assert_eq!(honest.forwarding, Forwarding::Known);
        let forged = if is_one_line {
            let line = [&left, &b", "[..], right.as_bytes()].concat();
            client_ip(PROXY, &[(name, &line)])
        } else {
            client_ip(PROXY, &[(name, &left), (name, right.as_bytes())])
        };
        prop_assert_eq!(forged, honest);
    }
}
