//! A client that sees every byte, and never more than the server sends.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than anything here takes; a failed test must not hang.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Client<S = TcpStream> {
    stream: S,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Client {
    pub(crate) async fn connect(address: &str) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) const fn over(stream: S) -> Self {
        Self { stream }
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    pub(crate) async fn ask(&mut self, path: &str) {
        self.write(format!("GET {path} HTTP/1.1\r\nhost: test\r\n\r\n")).await;
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.ask(path).await;
        self.reply().await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Reply {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        self.write(head + body).await;
        self.reply().await
    }

    /// The next answer.
    pub(crate) async fn reply(&mut self) -> Reply {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.take(1).await);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let body = self.take(length.map_or(0, |length| length.parse().unwrap())).await;
        Reply { status, head, body: String::from_utf8(body).unwrap() }
    }

    /// So many bytes.
    pub(crate) async fn take(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        timeout(PATIENCE, self.stream.read_exact(&mut bytes)).await.expect("an answer").unwrap();
        bytes
    }

    /// Waits until the server closes; what it sent before.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // A reset is an end as well.
        let _ =
            timeout(PATIENCE, self.stream.read_to_end(&mut bytes)).await.expect("the end of the connection");
        bytes
    }
}
