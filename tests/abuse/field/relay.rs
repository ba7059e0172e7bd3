//! A relay that says what it is told to, as bytes.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// More than the buffers of both sockets hold.
const BANNER_MAX: usize = 256 << 20;

/// How a relay differs from one that takes everything.
#[derive(Clone, Copy)]
pub(super) struct Script {
    /// A greeting without a line end, for as long as somebody reads.
    pub(super) is_endless: bool,
    pub(super) ehlo: &'static [u8],
    /// The answer to each recipient.
    pub(super) rcpt: fn(&str) -> &'static [u8],
    /// How long it thinks after the dot.
    pub(super) thinks: Duration,
}

pub(super) const GOOD: Script = Script {
    is_endless: false,
    ehlo: b"250-relay\r\n250 8BITMIME",
    rcpt: |_to| b"250 ok",
    thinks: Duration::ZERO,
};

/// It serves until the process ends.
#[derive(Clone)]
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    script: Arc<Mutex<Script>>,
    taken: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    pub(super) fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            script: Arc::new(Mutex::new(script)),
            taken: Arc::default(),
        };
        let serving = relay.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let relay = serving.clone();
                // A client that goes ends the conversation.
                thread::spawn(move || relay.converse(&stream.unwrap()));
            }
        });
        relay
    }

    pub(super) fn set(&self, script: Script) {
        *self.script.lock().unwrap() = script;
    }

    /// The recipient of each mail that was taken.
    pub(super) fn taken(&self) -> Vec<String> {
        let mut taken = self.taken.lock().unwrap().clone();
        taken.sort();
        taken
    }

    fn converse(&self, stream: &TcpStream) -> io::Result<()> {
        let script = *self.script.lock().unwrap();
        let mut wire = stream;
        if script.is_endless {
            let piece = [b'x'; 1 << 16];
            for _ in 0..BANNER_MAX / piece.len() {
                wire.write_all(&piece)?;
            }
        }
        wire.write_all(b"220 relay ESMTP\r\n")?;
        let mut lines = BufReader::new(stream).lines();
        let mut recipient = String::new();
        while let Some(line) = lines.next() {
            let line = line?;
            let command = line.split(' ').next().unwrap();
            let answer = match command {
                "EHLO" => script.ehlo,
                "RCPT" => {
                    recipient = line.replace(['<', '>'], "").replace("RCPT TO:", "");
                    (script.rcpt)(&recipient)
                }
                "DATA" => {
                    wire.write_all(b"354 go on\r\n")?;
                    lines
                        .by_ref()
                        .find(|line| !matches!(line, Ok(line) if line != "."))
                        .transpose()?;
                    thread::sleep(script.thinks);
                    self.taken.lock().unwrap().push(recipient.clone());
                    b"250 taken"
                }
                _ => b"250 ok",
            };
            wire.write_all(answer)?;
            wire.write_all(b"\r\n")?;
        }
        Ok(())
    }
}
