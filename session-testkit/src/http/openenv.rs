//! The calls that OpenEnv's clients make over HTTP, each one line in a test.

use super::{Client, Response};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// A client of `POST /mcp`.
#[derive(Debug)]
pub struct RpcClient {
    http: Client,
    next_id: u64,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum RpcError {
    /// No answer.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An answer that is none.
    #[error("the answer is not JSON-RPC (status {status}): {body}")]
    NotRpc {
        /// Its status.
        status: u16,
        /// Its body, as text.
        body: String,
    },
    /// The server's error.
    #[error("error {code}: {message}")]
    Refused {
        /// The JSON-RPC code.
        code: i64,
        /// The server's words.
        message: String,
    },
}

impl RpcClient {
    /// Connects.
    ///
    /// # Errors
    /// If nobody listens there.
    pub async fn connect(host: SocketAddr) -> io::Result<Self> {
        Ok(Self { http: Client::connect(host).await?, next_id: 1 })
    }

    /// The connection underneath.
    pub fn http(&mut self) -> &mut Client {
        &mut self.http
    }

    /// Opens a session; its id.
    ///
    /// # Errors
    /// See [`RpcError`].
    pub async fn create(&mut self) -> Result<String, RpcError> {
        let result = self.ask("openenv/session/create", json!({})).await?;
        Ok(result["session_id"].as_str().unwrap_or_default().to_owned())
    }

    /// Closes a session.
    ///
    /// # Errors
    /// See [`RpcError`].
    pub async fn close(&mut self, session: &str) -> Result<Value, RpcError> {
        self.ask("openenv/session/close", json!({"session_id": session})).await
    }

    /// Calls a tool in a session.
    ///
    /// # Errors
    /// See [`RpcError`].
    pub async fn call(&mut self, session: &str, tool: &str, arguments: Value) -> Result<Value, RpcError> {
        let params = json!({"session_id": session, "name": tool, "arguments": arguments});
        self.ask("tools/call", params).await
    }

    /// Any request, and its result.
    ///
    /// # Errors
    /// See [`RpcError`].
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        self.send(method, params).await?;
        self.receive().await
    }

    /// Only sends a request.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn send(&mut self, method: &str, params: Value) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.http.send("POST", "/mcp", request.to_string().as_bytes()).await
    }

    /// Only receives a result.
    ///
    /// # Errors
    /// See [`RpcError`].
    pub async fn receive(&mut self) -> Result<Value, RpcError> {
        result_of(&self.http.receive().await?)
    }

    /// Goes away without a word.
    pub fn vanish(self) {
        self.http.vanish();
    }
}

fn result_of(response: &Response) -> Result<Value, RpcError> {
    let not_rpc = || RpcError::NotRpc {
        status: response.status,
        body: String::from_utf8_lossy(&response.body).into_owned(),
    };
    let mut answer = response.json().map_err(|_| not_rpc())?;
    if let Some(error) = answer.get("error") {
        let code = error["code"].as_i64().unwrap_or_default();
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        return Err(RpcError::Refused { code, message });
    }
    answer.get_mut("result").map(Value::take).ok_or_else(not_rpc)
}
