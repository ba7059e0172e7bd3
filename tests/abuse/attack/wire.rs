//! Bytes on a socket: requests as clients send them, answers as they read them.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

pub(crate) const HEALTH: &str = "GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// How long anything may take on the wire. It is longer than any deadline for bodies.
const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Wire<S = TcpStream> {
    pub(crate) stream: S,
    buffer: Vec<u8>,
}

/// What a connection with or without TLS does.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Wire {
    pub(crate) async fn connect(from: IpAddr, to: SocketAddr) -> io::Result<Self> {
        Self::connect_reading(from, to, None).await
    }

    /// The same; so many bytes at most wait in the kernel to be read.
    pub(crate) async fn connect_reading(
        from: IpAddr,
        to: SocketAddr,
        buffered_bytes: Option<u32>,
    ) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(bytes) = buffered_bytes {
            socket.set_recv_buffer_size(bytes)?;
        }
        socket.bind(SocketAddr::new(from, 0))?;
        let stream = within(socket.connect(to)).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::new(),
        })
    }

    /// The same with TLS of this configuration, or none.
    pub(crate) async fn connect_with(
        from: IpAddr,
        to: SocketAddr,
        tls: Option<&Arc<ClientConfig>>,
    ) -> io::Result<Wire<Box<dyn Stream>>> {
        let stream = Self::connect(from, to).await?.stream;
        let stream: Box<dyn Stream> = match tls {
            None => Box::new(stream),
            Some(config) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let name = ServerName::try_from("localhost").unwrap();
                Box::new(within(connector.connect(name, stream)).await?)
            }
        };
        Ok(Wire {
            stream,
            buffer: Vec::new(),
        })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        within(self.stream.write_all(bytes.as_ref())).await
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> io::Result<Answer> {
        self.send(request).await?;
        within(self.answer()).await
    }

    /// The next answer, of HTTP/1.1 and with a length.
    pub(crate) async fn answer(&mut self) -> io::Result<Answer> {
        loop {
            if let Some((answer, length)) = parse(&self.buffer) {
                self.buffer.drain(..length);
                return Ok(answer);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

async fn within<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let step = timeout(PATIENCE, step).await;
    step.unwrap_or_else(|_elapsed| Err(ErrorKind::TimedOut.into()))
}

/// The answer at the start of `bytes`, and its length there, if all of it has come.
fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
    let head_length = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let (head, rest) = bytes.split_at(head_length);
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let body = String::from_utf8_lossy(rest.get(..length)?).into_owned();
    Some((Answer { status, body }, head_length + length))
}

/// A request with a body of JSON. `headers` end with their lines.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

pub(crate) fn sign_up(headers: &str, email: &str) -> String {
    let body = format!("{{\"email\":\"{email}\"}}");
    post("/api/v1/newsletter", headers, &body)
}

pub(crate) fn chat(headers: &str, text: &str) -> String {
    let body = format!("{{\"messages\":[{{\"role\":\"user\",\"content\":\"{text}\"}}]}}");
    post("/api/v1/assistant/chat", headers, &body)
}

/// What a proxy says of a client.
pub(crate) fn forwarded_for(client: impl std::fmt::Display) -> String {
    format!("X-Forwarded-For: {client}\r\n")
}
