//! A client that costs next to nothing: HTTP/1.1 over one keep-alive connection, one request in flight, no parsing
//! beyond the length of the answer. What it measures must be the server.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::failure::{Context, Failure, Result};

/// One connection.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    answer: Vec<u8>,
    filled: usize,
}

/// A request's bytes, head and body in one write.
#[derive(Debug)]
pub(crate) struct Post(Vec<u8>);

impl Post {
    /// A JSON-RPC request to `/mcp`.
    pub(crate) fn rpc(method: &str, params: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let head = "POST /mcp HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length:";
        Self(format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes())
    }

    /// The call whose cost is measured: nothing but an echo.
    pub(crate) fn echo(session: &str) -> Self {
        let arguments = json!({"message": "sixteen letters."});
        let params = json!({"name": "echo_message", "arguments": arguments, "session_id": session});
        Self::rpc("tools/call", &params)
    }
}

impl Client {
    /// Connects.
    pub(crate) async fn connect(server: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(server).await.context("connecting")?;
        stream.set_nodelay(true).context("TCP_NODELAY")?;
        Ok(Self { stream, answer: vec![0; 16 * 1024], filled: 0 })
    }

    /// Sends a request and reads its answer, which has to be 200 and stays until the next request: the body.
    pub(crate) async fn post(&mut self, request: &Post) -> Result<&[u8]> {
        self.stream.write_all(&request.0).await.context("sending")?;
        self.filled = 0;
        let (body, end) = loop {
            let room = &mut self.answer[self.filled..];
            match self.stream.read(room).await.context("receiving")? {
                0 => return Err(Failure::new("the server hung up, or its answer is too long")),
                more => self.filled += more,
            }
            let Some(body) = body_start(&self.answer[..self.filled]) else { continue };
            let end = body + content_length(&self.answer[..body])?;
            if self.filled >= end {
                break (body, end);
            }
        };
        if self.answer.starts_with(b"HTTP/1.1 200") {
            Ok(&self.answer[body..end])
        } else {
            Err(Failure::new(format!("answered {}", String::from_utf8_lossy(&self.answer[..end]))))
        }
    }

    /// A request's JSON-RPC result; an error is a failure.
    pub(crate) async fn result(&mut self, request: &Post) -> Result<Value> {
        let mut answer: Value = serde_json::from_slice(self.post(request).await?).context("the answer")?;
        let result = answer["result"].take();
        if result.is_null() { Err(Failure::new(format!("answered {answer}"))) } else { Ok(result) }
    }

    /// Opens a session; returns its id.
    pub(crate) async fn create_session(&mut self) -> Result<String> {
        let result = self.result(&Post::rpc("openenv/session/create", &json!({}))).await?;
        Ok(result["session_id"].as_str().context("create answered without a session_id")?.to_owned())
    }

    /// Closes a session.
    pub(crate) async fn close_session(&mut self, session: &str) -> Result {
        let close = Post::rpc("openenv/session/close", &json!({"session_id": session}));
        self.result(&close).await.map(|_| ())
    }
}

fn body_start(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn content_length(head: &[u8]) -> Result<usize> {
    let line = head
        .split(|&byte| byte == b'\n')
        .find(|line| line.get(..15).is_some_and(|name| name.eq_ignore_ascii_case(b"content-length:")));
    let value = line.and_then(|line| std::str::from_utf8(&line[15..]).ok());
    value.context("an answer without content-length")?.trim().parse().context("content-length")
}

#[cfg(test)]
mod tests {
    use super::{body_start, content_length};

    #[test]
    fn an_answers_length_is_read_whatever_its_case() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\ndate: x\r\n\r\n{";
        let body = body_start(answer).expect("the head is complete");
        assert_eq!(&answer[body..], b"{");
        assert_eq!(content_length(&answer[..body]).expect("it is there"), 12);
        assert!(body_start(b"HTTP/1.1 200 OK\r\n").is_none());
    }
}
