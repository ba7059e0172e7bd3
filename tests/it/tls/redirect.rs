//! The listener that sends clients to `https`.

use crate::prelude::*;

const TABLE: &str = "
GET / HTTP/1.1|Host: landing.example|308|https://landing.example:8443/
GET /de?a=b%20c HTTP/1.1|Host: landing.example|308|https://landing.example:8443/de?a=b%20c
POST /api/v1/newsletter HTTP/1.1|Host: landing.example|308|https://landing.example:8443/api/v1/newsletter
GET / HTTP/1.1|Host: LANDING.example:80|308|https://landing.example:8443/
GET / HTTP/1.1|Host: landing.example.|308|https://landing.example:8443/
GET / HTTP/1.1|Host: WWW.Landing.example.:80|308|https://landing.example:8443/
GET http://landing.example./x HTTP/1.1|Host: landing.example.|308|https://landing.example:8443/x
GET / HTTP/1.1|Host: landing.example..|421|
GET //evil.example/ HTTP/1.1|Host: landing.example|308|https://landing.example:8443//evil.example/
GET http://landing.example/x HTTP/1.1|Host: evil.example|308|https://landing.example:8443/x
GET /a HTTP/1.1|Host: WWW.landing.example|308|https://landing.example:8443/a
GET http://www.landing.example/x HTTP/1.1|Host: evil.example|308|https://landing.example:8443/x
GET http://evil.example/x HTTP/1.1|Host: landing.example|421|
GET / HTTP/1.1|Host: evil.example|421|
GET / HTTP/1.1|Host: landing.example.evil.example|421|
GET / HTTP/1.1|Host: evil@landing.example:80@evil.example|421|
GET / HTTP/1.1|Host: a.landing.example|421|
GET / HTTP/1.1|Host: 127.0.0.1|421|
GET / HTTP/1.1|Host:|421|
GET / HTTP/1.1|Accept: */*|421|
GET / HTTP/1.0|Accept: */*|421|
OPTIONS * HTTP/1.1|Host: landing.example|421|
CONNECT landing.example:443 HTTP/1.1|Host: landing.example|421|
GET /.well-known/acme-challenge/x HTTP/1.1|Host: evil.example|421|
";

#[tokio::test]
async fn clients_of_our_own_name_are_sent_to_https_and_all_others_get_nothing() {
    let setup = Setup {
        base_url: "https://landing.example:8443",
        ..Setup::default()
    };
    let server = Server::start_redirecting(setup, ServerLimits::default()).await;
    for row in rows(TABLE) {
        let [line, header, status, location] = row;
        let mut connection: Connection = server.connect().await;
        connection.send(format!("{line}\r\n{header}\r\n\r\n")).await;
        let answer = String::from_utf8(connection.rest().await).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(head.split(' ').nth(1), Some(status), "{row:?}: {head}");
        let found = head.lines().find_map(|it| it.strip_prefix("location: "));
        assert_eq!(found.unwrap_or_default(), location, "{row:?}");
        assert_eq!(body, "", "{row:?}");
        assert!(head.contains("\r\nconnection: close"), "{head}");
    }
    // Two hosts could be read by others in another way.
    let mut connection = server.connect().await;
    let two = "GET / HTTP/1.1\r\nHost: landing.example\r\nHost: evil.example\r\n\r\n";
    connection.send(two).await;
    let answer = connection.rest().await;
    assert!(answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
}
