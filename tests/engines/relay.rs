//! A TCP relay before an engine, which stalls, swallows answers and cuts connections.

use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Pass,
    /// Keeps it back, in both directions.
    Stall,
    /// Passes on what clients send, and drops what they would be answered.
    Swallow,
    /// The same from the first change of a contact on.
    SwallowChanges,
    /// Passes answers on so much later.
    Late(Duration),
    /// Ends all connections, and takes no new ones.
    Cut,
}

/// The relay. It ends with this value.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    target: Arc<AtomicU16>,
    flow: Arc<watch::Sender<Flow>>,
    _tasks: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn start(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Arc::new(AtomicU16::new(target));
        let flow = Arc::new(watch::Sender::new(Flow::Pass));
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&target), Arc::clone(&flow)));
        Self {
            port,
            target,
            flow,
            _tasks: tasks,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Relays new connections to another port, as a name does that has come to mean another server.
    pub(crate) fn lead_to(&self, target: u16) {
        self.target.store(target, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, flow: Flow) {
        self.flow.send_replace(flow);
    }

    /// Ends all connections, and takes new ones.
    pub(crate) async fn cut(&self) {
        self.set(Flow::Cut);
        // Each connection has a receiver.
        while self.flow.receiver_count() > 0 {
            tokio::task::yield_now().await;
        }
        self.set(Flow::Pass);
    }
}

async fn accept(listener: TcpListener, target: Arc<AtomicU16>, flow: Arc<watch::Sender<Flow>>) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        if *flow.borrow() != Flow::Cut {
            let target = target.load(Ordering::Relaxed);
            connections.spawn(relay(client, target, Arc::clone(&flow)));
        }
    }
}

/// Relays a connection until one side ends it, or it is cut.
async fn relay(client: TcpStream, target: u16, sender: Arc<watch::Sender<Flow>>) {
    let mut flow = sender.subscribe();
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let ask = copy(from_client, to_server, flow.clone(), Some(sender));
    let answer = copy(from_server, to_client, flow.clone(), None);
    tokio::select! {
        () = ask => {}
        () = answer => {}
        _ = flow.wait_for(|flow| *flow == Flow::Cut) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut flow: watch::Receiver<Flow>,
    asked: Option<Arc<watch::Sender<Flow>>>,
) {
    let is_answer = asked.is_none();
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let Ok(now) = flow
            .wait_for(|flow| *flow != Flow::Stall)
            .await
            .map(|it| *it)
        else {
            return;
        };
        let is_change = |part: &[u8]| part == b"UPDATE contact";
        if let (Some(asked), Flow::SwallowChanges) = (&asked, now)
            && bytes[..length].windows(14).any(is_change)
        {
            asked.send_replace(Flow::Swallow);
        }
        if is_answer && now == Flow::Swallow {
            continue;
        }
        if let (true, Flow::Late(by)) = (is_answer, now) {
            sleep(by).await;
        }
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
