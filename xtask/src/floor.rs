//! The floor of the bench: what is left of `tools/call` when there is no session, no environment and no lifecycle. A
//! bare hyper connection parses the request and answers the bytes that the server answers for `echo_message`.

use std::{convert::Infallible, net::Ipv4Addr};

use bytes::Bytes;
use clap::Args;
use http::{Method, Request, Response, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::net::TcpListener;

use crate::failure::{Context, Result};

/// Where and on how many threads.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The port on 127.0.0.1
    #[arg(long)]
    port: u16,
    /// Threads of the runtime
    #[arg(long, default_value_t = 1)]
    workers: usize,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: Arguments<'a>,
    session_id: &'a str,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: Outcome<'a>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    content: [Text<'a>; 1],
    structured_content: Wrapped<&'a str>,
    meta: Meta,
    data: &'a str,
    is_error: bool,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
    annotations: (),
    meta: (),
}

#[derive(Serialize)]
struct Wrapped<T> {
    result: T,
}

#[derive(Serialize)]
struct Meta {
    fastmcp: WrapResult,
}

#[derive(Serialize)]
struct WrapResult {
    wrap_result: bool,
}

/// Serves until it is killed.
pub(crate) fn run(options: &Options) -> Result {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(options.workers)
        .enable_all()
        .build()
        .context("the floor's runtime")?;
    runtime.block_on(async {
        let port = (Ipv4Addr::LOCALHOST, options.port);
        serve(TcpListener::bind(port).await.context("the floor's port")?).await
    })
}

/// Serves whoever connects.
pub(crate) async fn serve(listener: TcpListener) -> Result {
    loop {
        let (stream, _) = listener.accept().await.context("accepting")?;
        stream.set_nodelay(true).context("TCP_NODELAY")?;
        // A connection that breaks is its client's business.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)));
    }
}

async fn answer(request: Request<Incoming>) -> std::result::Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(Response::new(Full::default()));
    }
    let (status, body) = match request.into_body().collect().await {
        Ok(body) => echo(&body.to_bytes()).map_or((400, Bytes::new()), |json| (200, json)),
        Err(_) => (400, Bytes::new()),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The answer to a call of `echo_message`; nothing for any other request.
fn echo(body: &[u8]) -> Option<Bytes> {
    let call: Call<'_> = serde_json::from_slice(body).ok()?;
    let ours = call.method == "tools/call" && call.params.name == "echo_message";
    if !ours || call.params.session_id.is_empty() {
        return None;
    }
    let message = call.params.arguments.message;
    let result = Outcome {
        content: [Text { r#type: "text", text: message, annotations: (), meta: () }],
        structured_content: Wrapped { result: message },
        meta: Meta { fastmcp: WrapResult { wrap_result: true } },
        data: message,
        is_error: false,
    };
    serde_json::to_vec(&Answer { jsonrpc: "2.0", id: call.id, result }).ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::echo;

    #[test]
    fn the_floor_answers_in_the_words_of_the_dialect() {
        let asked = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":
            {"name":"echo_message","arguments":{"message":"hi"},"session_id":"s"}}"#;
        let answer = echo(asked).expect("a call of echo_message is answered");
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi","annotations":null,"meta":null}],"structured_content":{"result":"hi"},"meta":{"fastmcp":{"wrap_result":true}},"data":"hi","is_error":false}}"#
        );
    }

    #[test]
    fn the_floor_answers_nothing_else() {
        assert!(echo(br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#).is_none());
    }
}
