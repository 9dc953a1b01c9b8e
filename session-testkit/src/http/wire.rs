//! Reading an HTTP/1.1 response.

use super::Response;
use std::io::{self, ErrorKind};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::TcpStream;

/// No test needs more, and a server gone wild should not take the test's memory.
const LARGEST_BODY: usize = 256 << 20;

type Stream = BufReader<TcpStream>;

pub(super) async fn read_response(stream: &mut Stream) -> io::Result<Response> {
    loop {
        let status = read_status(stream).await?;
        let headers = read_headers(stream).await?;
        // 1xx announces the answer proper.
        if status >= 200 {
            let mut response = Response { status, headers, body: Vec::new() };
            response.body = read_body(stream, &response).await?;
            return Ok(response);
        }
    }
}

async fn read_status(stream: &mut Stream) -> io::Result<u16> {
    let line = read_line(stream).await?;
    let code = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    code.and_then(|code| code.parse().ok()).ok_or_else(|| bad(format!("not a status line: {line:?}")))
}

async fn read_headers(stream: &mut Stream) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream).await?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad(format!("not a header: {line:?}")))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

async fn read_body(stream: &mut Stream, response: &Response) -> io::Result<Vec<u8>> {
    if matches!(response.status, 204 | 304) {
        return Ok(Vec::new());
    }
    if response.header("transfer-encoding") == Some("chunked") {
        return read_chunks(stream).await;
    }
    let mut body = Vec::new();
    match response.header("content-length") {
        Some(length) => {
            let length = length.parse().map_err(|_| bad(format!("not a length: {length:?}")))?;
            read_exactly(stream, length, &mut body).await?;
        }
        // Neither length nor chunks: the body ends with the connection.
        None => {
            stream.read_to_end(&mut body).await?;
        }
    }
    Ok(body)
}

async fn read_chunks(stream: &mut Stream) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = read_line(stream).await?;
        let size = line.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad(format!("not a chunk: {line:?}")))?;
        if size == 0 {
            read_headers(stream).await?;
            return Ok(body);
        }
        read_exactly(stream, size, &mut body).await?;
        read_line(stream).await?;
    }
}

async fn read_exactly(stream: &mut Stream, length: usize, body: &mut Vec<u8>) -> io::Result<()> {
    let from = body.len();
    if length > LARGEST_BODY - from {
        return Err(bad(format!("a body of more than {LARGEST_BODY} bytes")));
    }
    body.resize(from + length, 0);
    stream.read_exact(&mut body[from..]).await.map(drop)
}

async fn read_line(stream: &mut Stream) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line).await? == 0 {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection"));
    }
    line.truncate(line.trim_end().len());
    Ok(line)
}

fn bad(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
