//! A newsletter provider that does as it is told, on a socket of its own.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What it does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Answers with this status; a redirect leads to itself.
    Answer(u16),
    /// Never answers.
    Hang,
    /// Answers 200 and never ends the body.
    HangInBody,
    /// Answers 200 with a body of a megabyte.
    Huge,
    /// Answers 200 with half of its body.
    CloseEarly,
    /// Reads the request and goes.
    CloseAtOnce,
    /// Greets like a mail server: neither HTTP nor TLS.
    Garbage,
    /// Takes no connection.
    Refuse,
}

/// What it was sent.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(header, _)| header == name);
        let value = named.next().map(|(_, value)| value.as_str());
        assert!(named.next().is_none(), "{name} came twice");
        value
    }
}

type Requests = Arc<Mutex<Vec<Received>>>;

/// The provider; it goes with this value.
pub(crate) struct Provider {
    address: String,
    requests: Requests,
    accepting: Option<JoinHandle<()>>,
}

impl Provider {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Requests::default();
        let accepting = (script != Script::Refuse).then(|| {
            let requests = Arc::clone(&requests);
            tokio::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(serve(stream, script, Arc::clone(&requests)));
                }
            })
        });
        Self {
            address,
            requests,
            accepting,
        }
    }

    pub(crate) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Everything it was sent, oldest first.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

/// Takes requests, one after the other, until the client goes.
async fn serve(mut stream: TcpStream, script: Script, requests: Requests) {
    if script == Script::Garbage {
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n").await;
        return;
    }
    while let Some(request) = receive(&mut stream).await {
        requests.lock().unwrap().push(request);
        let answer = match script {
            Script::Answer(status) => format!(
                "HTTP/1.1 {status} X\r\nLocation: /elsewhere\r\n{}\r\n",
                // Neither of these has a body.
                if matches!(status, 100 | 204) {
                    ""
                } else {
                    "Content-Length: 0\r\n"
                }
            ),
            Script::Hang => std::future::pending().await,
            Script::HangInBody => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_owned(),
            Script::Huge => format!(
                "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{}",
                "x".repeat(1_000_000)
            ),
            Script::CloseEarly => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_owned(),
            Script::CloseAtOnce => return,
            Script::Garbage | Script::Refuse => unreachable!("nothing is received"),
        };
        // The client may have gone.
        let _ = stream.write_all(answer.as_bytes()).await;
        match script {
            // After 100 the true answer never comes.
            Script::Answer(100) | Script::CloseEarly => return,
            Script::HangInBody => std::future::pending().await,
            Script::Answer(_)
            | Script::Hang
            | Script::Huge
            | Script::CloseAtOnce
            | Script::Garbage
            | Script::Refuse => {}
        }
    }
}

/// Reads one request with a `Content-Length`; nothing if the client has gone.
async fn receive(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let (_, length) = headers.iter().find(|(name, _)| name == "content-length")?;
    let body_end = head_end + 4 + length.parse::<usize>().ok()?;
    while bytes.len() < body_end {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received {
        method: first.next()?.to_owned(),
        target: first.next()?.to_owned(),
        headers,
        body: bytes[head_end + 4..body_end].to_vec(),
    })
}
