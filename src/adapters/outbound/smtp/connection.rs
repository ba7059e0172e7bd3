//! A connection to a relay: commands and replies, TLS, login.

use std::io::{self, ErrorKind::UnexpectedEof};
use std::time::Duration;

use data_encoding::BASE64;
use futures_util::TryFutureExt as _;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::domain::quoted;

use super::blame::Fault;
use super::reply::Reply;

/// Deadlines of TLS and of the greeting, of each command, and of the reply to a message (RFC 5321, section
/// 4.5.3.2).
const GREETING_DEADLINE: Duration = Duration::from_secs(30);
const COMMAND_DEADLINE: Duration = Duration::from_secs(60);
const MESSAGE_DEADLINE: Duration = Duration::from_secs(600);

/// Longest reply in bytes.
const REPLY_BYTES_MAX: u64 = 64 * 1024;

/// The transport of a connection.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// TLS with a relay of this name.
pub(super) type Tls = (TlsConnector, ServerName<'static>);

/// A connection over which a relay has greeted.
pub(super) struct Connection(BufReader<Box<dyn Wire>>);

impl Connection {
    pub(super) fn over(wire: impl Wire + 'static) -> Self {
        Self(BufReader::new(Box::new(wire)))
    }

    /// Begins TLS. What the relay said in clear no longer counts.
    pub(super) async fn secured(self, (connector, name): &Tls) -> Result<Self, Fault> {
        if !self.0.buffer().is_empty() {
            let why = "the relay sent data before TLS began: possible STARTTLS injection";
            return Err(Fault::new(why));
        }
        let failed = |error: io::Error| {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            let hint = match cause {
                Some(tokio_rustls::rustls::Error::InvalidMessage(_)) => {
                    ": ports 587 and 25 need smtp://"
                }
                _ => "",
            };
            let words = quoted(error.to_string().as_bytes(), None);
            Fault::new(format!("TLS failed: {words}{hint}"))
        };
        let secured = connector.connect(name.clone(), self.0.into_inner());
        let secured = within(GREETING_DEADLINE, "TLS handshake", secured.map_err(failed));
        Ok(Self::over(secured.await?))
    }

    /// Waits for the greeting.
    pub(super) async fn greeting(&mut self) -> Result<Reply, Fault> {
        within(GREETING_DEADLINE, "greeting", self.reply(2)).await
    }

    /// Logs in with a mechanism that the relay offers.
    pub(super) async fn log_in(
        &mut self,
        hello: &Reply,
        user: &str,
        password: &str,
    ) -> Result<(), Fault> {
        let offered = hello.extension("AUTH").unwrap_or_default();
        let offers = |mechanism| offered.iter().any(|offer| offer == mechanism);
        let secret;
        let answered = if offers("PLAIN") {
            secret = BASE64.encode(format!("\0{user}\0{password}").as_bytes());
            self.command(&format!("AUTH PLAIN {secret}"), 2).await
        } else if offers("LOGIN") {
            secret = BASE64.encode(password.as_bytes());
            self.command("AUTH LOGIN", 3).await?;
            self.exchange("AUTH", &BASE64.encode(user.as_bytes()), 3)
                .await?;
            self.exchange("AUTH", &secret, 2).await
        } else {
            let others = match offered.as_slice() {
                [] => "none".to_owned(),
                others => quoted(others.join(" ").as_bytes(), None),
            };
            return Err(Fault::new(format!(
                "the relay offers neither AUTH PLAIN nor LOGIN (it offers: {others})"
            )));
        };
        // Some relays quote commands that they reject.
        let concealed = |fault: Fault| Fault::new(fault.words(Some(&secret)));
        answered.map(drop).map_err(concealed)
    }

    /// Sends a command. The reply must begin with the digit `expected`.
    pub(super) async fn command(&mut self, line: &str, expected: u16) -> Result<Reply, Fault> {
        let name = line.split(' ').next().unwrap_or_default();
        self.exchange(name, line, expected).await
    }

    async fn exchange(&mut self, name: &str, line: &str, expected: u16) -> Result<Reply, Fault> {
        let (hoped, line) = (format!("reply to {name}"), format!("{line}\r\n"));
        within(COMMAND_DEADLINE, &hoped, self.ask(&line, expected)).await
    }

    /// Sends a message, after the relay's reply to DATA.
    pub(super) async fn message(&mut self, message: &str) -> Result<Reply, Fault> {
        let (hoped, message) = ("reply to the message", stuffed(message));
        within(MESSAGE_DEADLINE, hoped, self.ask(&message, 2)).await
    }

    async fn ask(&mut self, text: &str, expected: u16) -> Result<Reply, Fault> {
        self.0.write_all(text.as_bytes()).await?;
        self.0.flush().await?;
        self.reply(expected).await
    }

    /// The next reply, of up to 64 KiB.
    async fn reply(&mut self, expected: u16) -> Result<Reply, Fault> {
        let mut reply = Reply::default();
        let mut limited = (&mut self.0).take(REPLY_BYTES_MAX);
        loop {
            let mut line = Vec::new();
            limited.read_until(b'\n', &mut line).await?;
            let is_whole = line.ends_with(b"\n");
            let why = match reply.push(&line) {
                _ if limited.limit() == 0 => "the relay's reply is longer than 64 KiB",
                Some(true) if reply.code / 100 == expected => return Ok(reply),
                Some(true) => return Err(Fault::of_reply(reply)),
                // The connection ended within the line.
                _ if !is_whole => return Err(io::Error::from(UnexpectedEof).into()),
                Some(false) => continue,
                None => "the relay's reply is not SMTP",
            };
            return Err(Fault::of_garbage(why, line));
        }
    }
}

async fn within<T>(
    deadline: Duration,
    hoped: &str,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    timeout(deadline, work).await.unwrap_or_else(|_elapsed| {
        let seconds = deadline.as_secs();
        Err(Fault::new(format!("no {hoped} within {seconds} seconds")))
    })
}

/// A message as sent: lines end with CRLF, a leading dot is doubled, and a single dot ends the message.
fn stuffed(message: &str) -> String {
    let lines = message.lines().map(|line| {
        // A relay may treat a bare CR or LF as the end of a line.
        let line = line.replace('\r', "");
        let dot = if line.starts_with('.') { "." } else { "" };
        format!("{dot}{line}\r\n")
    });
    lines.collect::<String>() + ".\r\n"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::DuplexStream;
    use tokio::time::{Instant, sleep};

    use super::*;

    /// A connection to a relay that has sent its greeting, and the relay's side.
    async fn greeted() -> (Connection, DuplexStream) {
        let (client, mut relay) = tokio::io::duplex(1 << 20);
        relay.write_all(b"220 relay\r\n").await.unwrap();
        let mut connection = Connection::over(client);
        connection.greeting().await.unwrap();
        (connection, relay)
    }

    #[test]
    fn a_message_ends_where_it_ends() {
        for (message, sent) in [
            ("a\r\nb\r\n", "a\r\nb\r\n.\r\n"),
            ("a", "a\r\n.\r\n"),
            ("", ".\r\n"),
            (".\r\n..a\r\nb.\r\n", "..\r\n...a\r\nb.\r\n.\r\n"),
            ("a\n.\nQUIT\n", "a\r\n..\r\nQUIT\r\n.\r\n"),
            ("a\r.\r\nb", "a.\r\nb\r\n.\r\n"),
            ("\r.\r\nMAIL", "..\r\nMAIL\r\n.\r\n"),
        ] {
            assert_eq!(stuffed(message), sent, "{message:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_relay_that_trickles_is_not_waited_for() {
        let (mut connection, mut relay) = greeted().await;
        let begun = Instant::now();
        let trickling = tokio::spawn(async move {
            while relay.write_all(b"250-x\r\n").await.is_ok() {
                sleep(Duration::from_secs(7)).await;
            }
        });
        let Err(fault) = connection.command("NOOP", 2).await else {
            panic!("it never ends");
        };
        assert_eq!(fault.words(None), "no reply to NOOP within 60 seconds");
        assert_eq!(begun.elapsed(), COMMAND_DEADLINE);
        trickling.abort();
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered_with_a_fault_or_a_reply(bytes: Vec<u8>) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let (mut connection, mut relay) = greeted().await;
                relay.write_all(&bytes).await.unwrap();
                drop(relay);
                // Writing fails before anything is read if the relay is gone.
                if let Err(fault) = connection.reply(2).await {
                    assert!(fault.words(Some("ada")).chars().count() < 300);
                }
            });
        }
    }
}
