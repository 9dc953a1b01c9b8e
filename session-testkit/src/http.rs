//! A small HTTP/1.1 client for tests: one connection, kept alive, nothing hidden.
//!
//! Sending and receiving can be done apart, so that a test may do something in between, or vanish.

mod openenv;
mod wire;

pub use openenv::{RpcClient, RpcError};

use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One connection.
///
/// ```no_run
/// # async fn example(address: std::net::SocketAddr) -> std::io::Result<()> {
/// use session_testkit::http::Client;
///
/// let mut client = Client::connect(address).await?;
/// assert_eq!(client.get("/readyz").await?.status, 200);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

/// What the server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Response {
    /// The first header of this name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// If it is none.
    pub fn json(&self) -> io::Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// If nobody listens there.
    pub async fn connect(host: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(host).await?;
        // A request is written at once; it should not wait for the answer to the last one.
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), host })
    }

    /// `GET path`.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is no HTTP.
    pub async fn get(&mut self, path: &str) -> io::Result<Response> {
        self.send("GET", path, &[]).await?;
        self.receive().await
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is no HTTP.
    pub async fn post(&mut self, path: &str, body: &Value) -> io::Result<Response> {
        self.send("POST", path, body.to_string().as_bytes()).await?;
        self.receive().await
    }

    /// Only sends. A body is declared as JSON.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn send(&mut self, method: &str, path: &str, body: &[u8]) -> io::Result<()> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.host);
        if method != "GET" {
            request += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
        }
        let mut request = (request + "\r\n").into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request).await
    }

    /// Only receives.
    ///
    /// # Errors
    /// If the connection breaks, or the answer is no HTTP.
    pub async fn receive(&mut self) -> io::Result<Response> {
        wire::read_response(&mut self.stream).await
    }

    /// Goes away without a word, with whatever it has asked unanswered.
    pub fn vanish(self) {
        drop(self);
    }
}
