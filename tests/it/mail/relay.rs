//! A mail relay that does as it is told, on a socket of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// The log-in that it accepts: ada, with the password hunter2.
const LOGIN: &str = "AGFkYQBodW50ZXIy";

/// How it speaks, and what it says where it does not take what comes.
#[derive(Clone, Default)]
pub(crate) struct Script {
    /// TLS from the first byte.
    pub(crate) tls: Option<TlsAcceptor>,
    /// TLS after `STARTTLS`, which it then offers.
    pub(crate) starttls: Option<TlsAcceptor>,
    /// The command that it answers with this.
    pub(crate) answer: Option<(&'static str, &'static str)>,
    /// The command after which it is silent.
    pub(crate) silent_after: Option<&'static str>,
}

/// What it was sent: commands, and the messages that it took.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) commands: Vec<String>,
    pub(crate) messages: Vec<String>,
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

    /// Whether it has received the command after which it is silent.
    pub(crate) fn is_silent(&self) -> bool {
        self.received.lock().unwrap().is_silent
    }

    /// Everything it was sent so far.
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
        wire.write_all(b"220 relay.example ESMTP\r\n").await?;
        if converse(&mut wire, &script, &received).await? == Next::StartTls
            && let Some(tls) = &script.starttls
        {
            let mut wire = tls.accept(wire).await?;
            converse(&mut wire, &script, &received).await?;
        }
        io::Result::Ok(())
    }
    .await;
}

#[derive(PartialEq, Eq)]
enum Next {
    StartTls,
    Nothing,
}

/// Answers commands until the client quits or wants TLS.
async fn converse(
    wire: impl Wire,
    script: &Script,
    received: &Mutex<Received>,
) -> io::Result<Next> {
    let mut wire = BufReader::new(wire);
    loop {
        let Some(line) = line(&mut wire).await? else {
            return Ok(Next::Nothing);
        };
        received.lock().unwrap().commands.push(line.clone());
        let is = |command: &str| line.starts_with(command);
        if script.silent_after.is_some_and(is) {
            fall_silent(received).await;
        }
        let answer = match script.answer {
            Some((command, answer)) if is(command) => answer,
            _ if is("EHLO") && script.starttls.is_some() => {
                "250-relay.example\r\n250-STARTTLS\r\n250 AUTH PLAIN"
            }
            _ if is("EHLO") => "250-relay.example\r\n250 AUTH PLAIN",
            _ if is("STARTTLS") => "220 go on",
            _ if is("AUTH PLAIN") && line.ends_with(LOGIN) => "235 welcome",
            _ if is("AUTH") => "535 5.7.8 wrong password",
            _ if is("DATA") => "354 go on",
            _ if is("QUIT") => "221 bye",
            _ => "250 ok",
        };
        wire.write_all(format!("{answer}\r\n").as_bytes()).await?;
        if is("STARTTLS") && answer.starts_with("220") {
            return Ok(Next::StartTls);
        }
        if is("QUIT") {
            return Ok(Next::Nothing);
        }
        if is("DATA") && answer.starts_with("354") {
            let Some(message) = message(&mut wire).await? else {
                return Ok(Next::Nothing);
            };
            let answer = match script.answer {
                Some((".", answer)) => answer,
                _ => "250 taken",
            };
            if script.silent_after == Some(".") {
                fall_silent(received).await;
            }
            if answer.starts_with("250") {
                received.lock().unwrap().messages.push(message);
            }
            wire.write_all(format!("{answer}\r\n").as_bytes()).await?;
        }
    }
}

async fn fall_silent(received: &Mutex<Received>) {
    received.lock().unwrap().is_silent = true;
    std::future::pending::<()>().await;
}

async fn line(wire: &mut BufReader<impl Wire>) -> io::Result<Option<String>> {
    let mut line = String::new();
    let length = wire.read_line(&mut line).await?;
    Ok((length > 0).then(|| line.trim_end().to_owned()))
}

/// The lines up to the one with a dot alone.
async fn message(wire: &mut BufReader<impl Wire>) -> io::Result<Option<String>> {
    let mut lines = Vec::new();
    while let Some(line) = line(wire).await? {
        if line == "." {
            return Ok(Some(lines.join("\n")));
        }
        lines.push(line);
    }
    Ok(None)
}
