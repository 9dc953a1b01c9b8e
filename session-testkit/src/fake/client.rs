//! An MCP client that is connected for real: to a server at the other end of an in-process pipe.

use crate::patience::{Impatient, within};
use serde_json::{Value, json};
use std::io;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

/// How a [`FakeMcpClient`] stands to its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientState {
    /// It has never been connected.
    New,
    /// There is a server at the other end, and it answers.
    Connected,
    /// It has said goodbye, and the server has ended.
    Disconnected,
    /// It was dropped while it was connected: the server saw the pipe break.
    Lost,
}

/// What an environment's MCP context holds: JSON-RPC lines over a pipe, with a server task at the
/// other end. Connecting shakes hands, disconnecting waits until the server has ended.
///
/// The test keeps a [`ClientWatch`], and sees what became of it long after the session is gone.
#[derive(Debug)]
pub struct FakeMcpClient {
    wire: Mutex<Option<Wire>>,
    state: watch::Sender<ClientState>,
}

/// Sees how a [`FakeMcpClient`] stands, without keeping it alive.
#[derive(Clone, Debug)]
pub struct ClientWatch {
    state: watch::Receiver<ClientState>,
}

#[derive(Debug)]
struct Wire {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    server: JoinHandle<()>,
    next_id: u64,
}

impl Default for FakeMcpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeMcpClient {
    /// A client that is not connected yet.
    #[must_use]
    pub fn new() -> Self {
        Self { wire: Mutex::new(None), state: watch::Sender::new(ClientState::New) }
    }

    /// For the test.
    #[must_use]
    pub fn watch(&self) -> ClientWatch {
        ClientWatch { state: self.state.subscribe() }
    }

    /// Whether there is a server at the other end.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        *self.state.borrow() == ClientState::Connected
    }

    /// Starts a server, connects to it and shakes hands. Needs a tokio runtime.
    ///
    /// # Errors
    /// If it is connected already, or the handshake fails.
    pub async fn connect(&self) -> io::Result<()> {
        let mut place = self.wire.lock().await;
        if place.is_some() {
            return Err(io::Error::other("the MCP client is connected already"));
        }
        let (here, there) = duplex(4096);
        let (read, out) = split(here);
        let server = tokio::spawn(serve(there, self.state.clone()));
        let mut wire = Wire { lines: BufReader::new(read).lines(), out, server, next_id: 0 };
        wire.ask("initialize").await?;
        *place = Some(wire);
        Ok(())
    }

    /// Asks the server whether it is there.
    ///
    /// # Errors
    /// If there is no connection.
    pub async fn ping(&self) -> io::Result<()> {
        match &mut *self.wire.lock().await {
            Some(wire) => wire.ask("ping").await,
            None => Err(io::Error::new(io::ErrorKind::NotConnected, "the MCP client is not connected")),
        }
    }

    /// Says goodbye and waits until the server has ended.
    ///
    /// # Errors
    /// If there is no connection.
    pub async fn disconnect(&self) -> io::Result<()> {
        let Some(wire) = self.wire.lock().await.take() else {
            return Err(io::Error::new(io::ErrorKind::NotConnected, "the MCP client is not connected"));
        };
        wire.say_goodbye().await
    }
}

impl ClientWatch {
    /// How the client stands.
    #[must_use]
    pub fn state(&self) -> ClientState {
        *self.state.borrow()
    }

    /// Whether there is a server at the other end.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.state() == ClientState::Connected
    }

    /// Waits until it stands like this.
    ///
    /// # Errors
    /// [`Impatient`] if it does not within `patience` of real time.
    pub async fn reaches(&self, state: ClientState, patience: Duration) -> Result<(), Impatient> {
        let mut seen = self.state.clone();
        within(patience, async {
            // Once nobody is left to change it, it stays as it is.
            if seen.wait_for(|now| *now == state).await.is_err() && *seen.borrow() != state {
                std::future::pending::<()>().await;
            }
        })
        .await
    }
}

impl Wire {
    /// Sends a request and waits for *its* answer: one that was cut off may have left another.
    async fn ask(&mut self, method: &str) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        send(&mut self.out, &json!({"jsonrpc": "2.0", "id": id, "method": method})).await?;
        while let Some(line) = self.lines.next_line().await? {
            let answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the MCP server has gone"))
    }

    async fn say_goodbye(mut self) -> io::Result<()> {
        send(&mut self.out, &json!({"jsonrpc": "2.0", "method": GOODBYE})).await?;
        self.out.shutdown().await?;
        self.server.await.map_err(io::Error::other)
    }
}

/// MCP closes the pipe without a word; the word lets the server tell leaving from breaking.
const GOODBYE: &str = "notifications/goodbye";

async fn send(out: &mut WriteHalf<DuplexStream>, message: &Value) -> io::Result<()> {
    out.write_all(format!("{message}\n").as_bytes()).await
}

/// Answers every request with an empty result until the pipe ends.
async fn serve(pipe: DuplexStream, state: watch::Sender<ClientState>) {
    let end = Ending { state, last: ClientState::Lost };
    let end = converse(pipe, end).await;
    drop(end);
}

/// Tells how it ended, even if the task is dropped with its runtime.
struct Ending {
    state: watch::Sender<ClientState>,
    last: ClientState,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.state.send_replace(self.last);
    }
}

async fn converse(pipe: DuplexStream, mut end: Ending) -> Ending {
    let (read, mut out) = split(pipe);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(request) = serde_json::from_str::<Value>(&line) else { break };
        if request["method"] == GOODBYE {
            end.last = ClientState::Disconnected;
            continue;
        }
        if request["method"] == "initialize" {
            end.state.send_replace(ClientState::Connected);
        }
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {}});
        if send(&mut out, &answer).await.is_err() {
            break;
        }
    }
    end
}
