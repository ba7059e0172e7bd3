//! Requests through the whole pipeline in memory. The harness of the tests holds every answer against
//! the description of the API.

use hyper::header::HeaderValue;
use hyper::{Method, Uri};

use super::{Parts, Trace, runtime};
use crate::Run;
use crate::harness::{Call, Reply, Setup, TestApp};
use crate::random::Random;

/// Inputs before the service starts anew: so few that a failure can be looked at, so many that its
/// tables fill.
const INPUTS: u64 = 512;

const CHAT: &str = "/api/v1/assistant/chat";

/// A good input, and the path or the header that it is for.
type Sample = (&'static str, Vec<u8>);

struct Target {
    name: &'static str,
    samples: fn(&Good) -> Vec<Sample>,
    /// None if what comes out could not be a request in memory.
    call: fn(&mut Random, &'static str, &[u8]) -> Option<Call>,
}

/// What a service has given out.
struct Good {
    key: String,
    token: String,
    /// Which has paid for one message.
    cookie: String,
}

impl Good {
    async fn of(app: &TestApp) -> Self {
        let text = |reply: &Reply, name: &str| reply.json()[name].as_str().unwrap().to_owned();
        let key = app.send(Call::post("/api/v1/keys", "{}")).await;
        let agent = Call::post("/agent/auth", r#"{"type":"anonymous"}"#);
        let agent = app.send(agent).await;
        let chat = Call::post(CHAT, r#"{"messages":[{"role":"user","content":"hello"}]}"#);
        Self {
            key: text(&key, "api_key"),
            token: text(&agent, "access_token"),
            cookie: app.send(chat).await.cookie(),
        }
    }
}

fn of<const N: usize>(samples: [(&'static str, &str); N]) -> Vec<Sample> {
    let sample = |(at, text): (_, &str)| (at, text.as_bytes().to_vec());
    samples.map(sample).into()
}

/// Documents, endpoints, and targets in the forms for proxies.
const TARGETS: &str = "
    / * /index.md /docs /docs.md?a=b#c /problems/rate_limited /problems/not_found.md /style.css?v=1
    /script/page.js /openapi.json /.well-known/mcp/server-card.json
    /api/v1/health?probe=1 /api/health /api/v1/assistant/chat /api/v1/newsletter /oauth2/token
    /agent/auth/revoke /mcp /agent/auth?response_type=token
    http://landing.example/api/v1/health landing.example:443
";

pub(crate) fn targets(run: Run) -> Result<String, String> {
    Target {
        name: "targets",
        samples: |_| {
            let targets = TARGETS.split_whitespace();
            targets.map(|target| ("", target.into())).collect()
        },
        call: |random, _, bytes| {
            let methods = [
                "GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT",
                "get", "M-SEARCH",
            ];
            let target = std::str::from_utf8(bytes).ok()?;
            target.parse::<Uri>().ok()?;
            let method = match random.once_in(2) {
                true => "GET",
                false => *random.pick(&methods),
            };
            Some(Call::new(method.parse().unwrap(), target))
        },
    }
    .fuzz(run)
}

/// Bodies, and where they go.
const BODIES: &str = r#"
/api/v1/newsletter {"email":"ada@example.com"}
/api/newsletter {"email":"Ada@M\u00fcnchen.de"}
/api/v1/assistant/chat {"messages":[{"role":"user","content":"hello"}]}
/api/v1/assistant/chat {"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"\ud83d\ude00"},{"role":"user","content":"c"}],"locale":"de","context":{"page":"/"}}
/api/v1/sandbox/echo {"message":"hello","echo_headers":true}
/api/v1/keys {"label":"probe"}
/agent/auth {"type":"anonymous","label":"watcher","requested_credential_type":"access_token"}
/agent/auth {"type":"identity_assertion","assertion":"e30.e30."}
/mcp {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
/mcp {"jsonrpc":"2.0","id":"a","method":"tools/list"}
/mcp {"jsonrpc":"2.0","method":"notifications/initialized"}
/mcp {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"subscribe_newsletter","arguments":{"email":"ada@example.com"}}}
"#;

pub(crate) fn json(run: Run) -> Result<String, String> {
    Target {
        name: "json",
        samples: |_| {
            let bodies = BODIES
                .trim()
                .lines()
                .map(|line| line.split_once(' ').unwrap());
            bodies.map(|(path, body)| (path, body.into())).collect()
        },
        call: |random, path, bytes| {
            let call = Call::post(path, bytes.to_vec());
            Some(match random.below(4) {
                0 => call.header("accept", "text/event-stream"),
                1 => call.header("accept", "application/json, text/event-stream"),
                _ => call,
            })
        },
    }
    .fuzz(run)
}

const PATHS: &str = "/api/v1/health / /docs /openapi.json /api/v1/assistant/chat /api/v1/newsletter /oauth2/token /mcp \
                     /api/v1/sandbox/echo";

/// Makes of bytes what can be the value of a header in memory.
fn value(bytes: &[u8]) -> Vec<u8> {
    let legal = |byte: &u8| match byte {
        b'\t' | 0x20..=0x7e | 0x80..=0xff => *byte,
        _ => b'x',
    };
    bytes.iter().map(legal).collect()
}

pub(crate) fn headers(run: Run) -> Result<String, String> {
    Target {
        name: "headers",
        samples: |good| {
            of([
                ("cookie", &format!("a=b; {}; theme=dark", good.cookie)),
                ("cookie", "assistant=AAAA; __Host-assistant=\"x\""),
                ("x-api-key", &good.key),
                ("authorization", &format!("bearer  {}", good.token)),
                ("authorization", "Basic cmVnXzE6bGFzXzE="),
                ("x-forwarded-for", "203.0.113.7, 10.0.0.2, 10.0.0.3"),
                ("x-forwarded-for", "2001:db8::1, \"[2001:db8::2]:443\""),
                ("forwarded", "for=\"[2001:db8::1]:80\", for=_hidden"),
                ("accept", "text/markdown;q=0.9, text/html;q=0.1, */*;q=0"),
                ("accept", "text/event-stream"),
                ("accept", "application/problem+json"),
                ("content-type", "application/json; charset=utf-8"),
                ("content-type", "application/x-www-form-urlencoded"),
                ("content-length", "2"),
                ("content-encoding", "gzip"),
                ("origin", "https://www.example.com"),
                ("origin", "null"),
                ("access-control-request-method", "POST"),
                ("access-control-request-headers", "content-type, x-api-key"),
                ("if-none-match", "W/\"abc\", \"def\""),
                ("if-none-match", "*"),
                ("service-api-version", "v1"),
                ("host", "landing.example:8080"),
                ("user-agent", "curl/7.88.1"),
                ("mcp-protocol-version", "2025-11-25"),
                ("mcp-method", "tools/list"),
                ("mcp-session-id", "1"),
                ("expect", "100-continue"),
                ("range", "bytes=0-1"),
                ("sec-fetch-site", "cross-site"),
            ])
        },
        call: |random, header, bytes| {
            let paths: Vec<_> = PATHS.split(' ').collect();
            let path = *random.pick(&paths);
            let method = [Method::GET, Method::OPTIONS, Method::POST, Method::HEAD];
            let call = Call::new(random.pick(&method).clone(), path);
            let call = call.body(*random.pick(&["", "{}", "{\"message\":\"a\"}"]));
            let value = value(bytes);
            HeaderValue::from_bytes(&value).ok()?;
            Some(call.header(header, value))
        },
    }
    .fuzz(run)
}

impl Target {
    fn fuzz(self, run: Run) -> Result<String, String> {
        let parts = Parts::of(run.of(1_000, 1_000_000), INPUTS);
        super::run(run, self.name, parts, |random, trace| {
            runtime().block_on(part(&self, random, trace));
        })
    }
}

async fn part(target: &Target, random: &mut Random, trace: &Trace) {
    let app = app(random);
    let good = Good::of(&app).await;
    let samples = (target.samples)(&good);
    let others: Vec<_> = samples.iter().map(|(_, bytes)| bytes).collect();
    for _ in 0..INPUTS {
        let (at, sample) = random.pick(&samples);
        let input = random.mutated(sample, &others);
        trace.begin(&input);
        let Some(mut call) = (target.call)(random, at, &input) else {
            continue;
        };
        if random.once_in(2) {
            let peers = ["10.0.0.1", "10.255.0.1", "192.0.2.1", "2001:db8::1"];
            let peer = random.pick(&peers);
            call = call.from(peer);
        }
        let reply = app.send(call).await;
        assert!(!reply.status.is_server_error(), "{}", reply.status);
        assert_eq!(
            (app.service.held(), app.service.unfinished().len()),
            ((0, 0), 0)
        );
    }
}

/// A service with limits so wide that they hide nothing; now and then with those that hold by default.
fn app(random: &mut Random) -> TestApp {
    let mut setup = Setup {
        allowed_origins: &["https://www.example.com"],
        trusted_proxies: &["10.0.0.0/8", "fd00::/8"],
        ..Setup::default()
    };
    if !random.once_in(8) {
        let policies = "default ip keys agents newsletter newsletter-ip assistant assistant-ip";
        for policy in policies.split(' ') {
            setup = setup.limit(policy, "1000000/60s");
        }
    }
    setup.start()
}
