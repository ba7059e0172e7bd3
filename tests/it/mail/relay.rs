//! A mail relay that does as it is told, on a socket of its own.

use std::io;
use std::sync::Mutex;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use self::Then::{GoOn, Hold, Late, Repeat};

use crate::prelude::*;

/// The log-in that it accepts: ada, with the password hunter2.
const LOGIN: &str = "AGFkYQBodW50ZXIy";

#[derive(Clone, Default)]
pub(crate) struct Script {
    /// TLS from the first byte.
    pub(crate) tls: Option<TlsAcceptor>,
    /// TLS after `STARTTLS`, which it then offers.
    pub(crate) starttls: Option<TlsAcceptor>,
    pub(crate) saying: Option<Saying>,
}

/// Where a relay says something else than the usual: at a command, at `greeting`, or at the dot.
#[derive(Clone, Copy)]
pub(crate) struct Saying {
    pub(crate) at: &'static str,
    pub(crate) bytes: &'static [u8],
    pub(crate) then: Then,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Then {
    GoOn,
    Close,
    /// It says it again and again, up to [`REPEATED_MAX`] bytes.
    Repeat,
    /// It says no more.
    Hold,
    /// It says it after so long, and goes on.
    Late(Duration),
}

/// More than the buffers of both sockets hold.
pub(crate) const REPEATED_MAX: usize = 64 << 20;

impl Script {
    /// Says this at one place, and else the usual.
    pub(crate) fn saying(at: &'static str, bytes: &'static [u8], then: Then) -> Self {
        Self {
            saying: Some(Saying { at, bytes, then }),
            ..Self::default()
        }
    }
}

/// What it was sent: commands, and the messages that it took.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) commands: Vec<String>,
    pub(crate) messages: Vec<String>,
    /// How many bytes it could repeat.
    pub(crate) repeated: usize,
    is_silent: bool,
}

/// The relay; it goes with this value.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Received>>,
    accepting: JoinHandle<()>,
}

impl Relay {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::<Mutex<Received>>::default();
        let accepting = tokio::spawn({
            let received = Arc::clone(&received);
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(accept(stream, script.clone(), Arc::clone(&received)));
                }
            }
        });
        Self {
            address,
            received,
            accepting,
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.received.lock().unwrap().is_silent
    }

    pub(crate) fn received(&self) -> Received {
        std::mem::take(&mut *self.received.lock().unwrap())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What a connection goes over.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

async fn accept(stream: TcpStream, script: Script, received: Arc<Mutex<Received>>) {
    // A client that goes ends it.
    let _ = async {
        let mut wire: Box<dyn Wire> = match &script.tls {
            Some(tls) => Box::new(tls.accept(stream).await?),
            None => Box::new(stream),
        };
        let wants_tls = converse(&mut wire, "greeting", &script, &received).await?;
        if wants_tls && let Some(tls) = &script.starttls {
            let mut wire = BufReader::new(tls.accept(wire).await?);
            let first = line(&mut wire, &received).await?;
            converse(&mut wire, &first, &script, &received).await?;
        }
        io::Result::Ok(())
    }
    .await;
}

/// Answers commands, the first of which is `first`, until the client quits or wants TLS; gives whether it does.
async fn converse(
    wire: impl Wire,
    first: &str,
    script: &Script,
    received: &Mutex<Received>,
) -> io::Result<bool> {
    let mut wire = BufReader::new(wire);
    let mut line = first.to_owned();
    loop {
        let is = |command: &str| line.starts_with(command);
        let usual = match script.starttls {
            _ if is("greeting") => "220 relay.example ESMTP",
            Some(_) if is("EHLO") => "250-relay.example\r\n250-STARTTLS\r\n250 AUTH PLAIN",
            None if is("EHLO") => "250-relay.example\r\n250 AUTH PLAIN",
            _ if is("STARTTLS") => "220 go on",
            _ if is("AUTH PLAIN") && line.ends_with(LOGIN) => "235 welcome",
            _ if is("AUTH") => "535 5.7.8 wrong password",
            _ if is("DATA") => "354 go on",
            _ if is("QUIT") => "221 bye",
            _ => "250 ok",
        };
        let saying = script.saying.filter(|saying| is(saying.at));
        let then = saying.map_or(GoOn, |saying| saying.then);
        let usual = format!("{usual}\r\n").into_bytes();
        let bytes = saying.map_or(usual, |saying| saying.bytes.to_vec());
        if is(".") && bytes.starts_with(b"250") && then != Repeat {
            let message = line.trim_start_matches(".\n").to_owned();
            received.lock().unwrap().messages.push(message);
        }
        if let Late(after) = then {
            received.lock().unwrap().is_silent = true;
            sleep(after).await;
        }
        wire.write_all(&bytes).await?;
        while then == Repeat && received.lock().unwrap().repeated < REPEATED_MAX {
            wire.write_all(&bytes).await?;
            received.lock().unwrap().repeated += bytes.len();
        }
        if then == Hold {
            received.lock().unwrap().is_silent = true;
            std::future::pending::<()>().await;
        }
        let wants_tls = is("STARTTLS") && bytes.starts_with(b"220");
        if !matches!(then, GoOn | Late(_)) || wants_tls || is("QUIT") {
            return Ok(wants_tls);
        }
        line = match is("DATA") && bytes.starts_with(b"354") {
            true => message(&mut wire).await?,
            false => self::line(&mut wire, received).await?,
        };
    }
}

async fn line(wire: &mut BufReader<impl Wire>, received: &Mutex<Received>) -> io::Result<String> {
    let mut line = Vec::new();
    if wire.read_until(b'\n', &mut line).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = String::from_utf8_lossy(&line).trim_end().to_owned();
    received.lock().unwrap().commands.push(line.clone());
    Ok(line)
}

/// The lines up to the one with a dot alone, behind a line with it.
async fn message(wire: &mut BufReader<impl Wire>) -> io::Result<String> {
    let mut message = vec![".".to_owned()];
    let unheard = Mutex::default();
    loop {
        match line(wire, &unheard).await? {
            dot if dot == "." => return Ok(message.join("\n")),
            line => message.push(line),
        }
    }
}
