//! An HTTP server of bytes: it answers each request as it is told, whatever that is.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The bytes that answer a request, and what becomes of the connection.
#[derive(Clone)]
pub(super) struct Script {
    bytes: Vec<u8>,
    then: Then,
}

#[derive(Clone, Copy)]
enum Then {
    Close,
    Hold,
    /// The same bytes again and again.
    Repeat,
}

impl Script {
    /// The connection ends behind these bytes.
    pub(super) fn closing(bytes: impl Into<Vec<u8>>) -> Self {
        let (bytes, then) = (bytes.into(), Then::Close);
        Self { bytes, then }
    }

    /// A response with these lines in its head, and the length of `body`; the last one of its connection.
    pub(super) fn response(head: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head = format!("HTTP/1.1 {head}Connection: close\r\nContent-Length: {length}\r\n\r\n");
        Self::closing([head.as_bytes(), body].concat())
    }

    /// The connection stays open behind these bytes.
    pub(super) fn holding(bytes: impl Into<Vec<u8>>) -> Self {
        let (bytes, then) = (bytes.into(), Then::Hold);
        Self { bytes, then }
    }

    /// These bytes without end.
    pub(super) fn repeating(bytes: &str) -> Self {
        let (bytes, then) = (bytes.repeat(100).into_bytes(), Then::Repeat);
        Self { bytes, then }
    }
}

/// The server; it goes with this value.
pub(super) struct Peer {
    address: String,
    bodies: Arc<Mutex<Vec<String>>>,
    /// One for each connection that the client has ended.
    pub(super) left: Arc<Semaphore>,
    accepting: JoinHandle<()>,
}

impl Peer {
    /// Answers as `scripts` say, one after the other, each on a connection of its own; then like the last of them.
    pub(super) async fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let bodies = Arc::<Mutex<Vec<String>>>::default();
        let left = Arc::new(Semaphore::new(0));
        let accepting = tokio::spawn({
            let (bodies, left) = (Arc::clone(&bodies), Arc::clone(&left));
            async move {
                let last = scripts.last().unwrap().clone();
                let mut scripts = scripts.into_iter();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let script = scripts.next().unwrap_or_else(|| last.clone());
                    tokio::spawn(serve(
                        stream,
                        script,
                        Arc::clone(&bodies),
                        Arc::clone(&left),
                    ));
                }
            }
        });
        Self {
            address,
            bodies,
            left,
            accepting,
        }
    }

    pub(super) fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// The bodies of the requests, oldest first.
    pub(super) fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: Script,
    bodies: Arc<Mutex<Vec<String>>>,
    left: Arc<Semaphore>,
) {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if !matches!(stream.read_buf(&mut request).await, Ok(1..)) {
            return;
        }
    }
    let request = String::from_utf8(request).unwrap();
    let (_head, body) = request.split_once("\r\n\r\n").unwrap();
    bodies.lock().unwrap().push(body.to_owned());
    let mut written = stream.write_all(&script.bytes).await;
    match script.then {
        Then::Close => return,
        Then::Hold => {
            let mut rest = Vec::new();
            let _gone = stream.read_to_end(&mut rest).await;
        }
        Then::Repeat => {
            while written.is_ok() {
                written = stream.write_all(&script.bytes).await;
            }
        }
    }
    left.add_permits(1);
}

/// Whether `request` has a head and as much of a body as that says.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
