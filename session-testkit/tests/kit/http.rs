//! The client against answers written by hand.

use session_testkit::http::{Client, RpcClient, RpcError};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that reads one request and answers exactly this.
async fn answering(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        assert!(stream.read(&mut request).await.unwrap() > 0);
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    address
}

#[tokio::test]
async fn a_body_with_a_length_is_read() {
    let address = answering("HTTP/1.1 201 Created\r\nX-Some: thing\r\ncontent-length: 2\r\n\r\n{}rest").await;
    let answer = Client::connect(address).await.unwrap().get("/").await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice(), answer.header("x-some")),
        (201, &b"{}"[..], Some("thing"))
    );
}

#[tokio::test]
async fn a_body_in_chunks_is_read() {
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n";
    let answer = Client::connect(answering(chunks).await).await.unwrap().get("/").await.unwrap();
    assert_eq!(answer.json().unwrap(), serde_json::json!([1, 2]));
}

#[tokio::test]
async fn a_body_that_ends_with_the_connection_is_read_after_a_100() {
    let address = answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nall of it").await;
    let answer = Client::connect(address).await.unwrap().get("/").await.unwrap();
    assert_eq!(answer.body, b"all of it");
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_an_error() {
    let mut client = Client::connect(answering("no http\r\n").await).await.unwrap();
    assert!(client.get("/").await.unwrap_err().to_string().contains("not a status line"));
}

#[tokio::test]
async fn an_rpc_error_keeps_its_words() {
    let answer =
        "HTTP/1.1 200 OK\r\ncontent-length: 40\r\n\r\n{\"error\":{\"code\":-32000,\"message\":\"no\"}}";
    let mut client = RpcClient::connect(answering(answer).await).await.unwrap();
    let error = client.create().await.unwrap_err();
    assert!(matches!(error, RpcError::Refused { code: -32000, ref message } if message == "no"), "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_rpc_is_shown() {
    let answer = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\noops";
    let mut client = RpcClient::connect(answering(answer).await).await.unwrap();
    assert!(client.close("a").await.unwrap_err().to_string().ends_with("(status 502): oops"));
}
