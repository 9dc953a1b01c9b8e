//! Limits, deadlines and accidents of connections.

use std::time::Duration;

use session_http::Limits;

use crate::app::{App, Running};

fn limits(connections: usize, header_timeout: Duration) -> Limits {
    Limits { connections, header_timeout, ..Limits::default() }
}

const MOMENT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn one_connection_too_many_is_told_so_and_a_place_that_is_free_again_is_given() {
    let app = App::new();
    let running = Running::start(&app, |server| server.limits(limits(1, LONG))).await;
    let mut first = running.client().await;
    assert_eq!(first.get("/health").await.status, 200);
    let mut second = running.client().await;
    let reply = second.reply().await;
    assert_eq!((reply.status, reply.body.as_str()), (503, r#"{"detail":"too many connections"}"#));
    assert!(reply.head.contains("retry-after: 1"), "{}", reply.head);
    second.closed().await;
    first.write("GET /health HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n").await;
    first.closed().await;
    // The server sees the end of the first a moment after its client does.
    let served = async {
        loop {
            let mut next = running.client().await;
            if next.get("/health").await.status == 200 {
                return;
            }
        }
    };
    tokio::time::timeout(LONG, served).await.unwrap();
    let exit = running.end().await;
    assert_eq!(exit.connections.served, 2);
    assert!(exit.connections.refused >= 1);
}

#[tokio::test]
async fn a_head_that_never_ends_is_closed_by_the_header_timeout() {
    let app = App::new();
    let running = Running::start(&app, |server| server.limits(limits(10, MOMENT))).await;
    for beginning in ["GET / HTTP/1.1\r\nhost: te", "", "PRI * HT"] {
        let mut client = running.client().await;
        client.write(beginning).await;
        client.closed().await;
    }
    assert_eq!(running.end().await.connections.cut, 0);
}

#[tokio::test]
async fn a_head_longer_than_allowed_is_a_431() {
    let app = App::new();
    let limits = Limits { header_bytes: 10_000, ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    // It does not end: the server has read all of it when it answers, and so it does not reset the connection.
    for (length, end, status) in [(8_000, "\r\n\r\n", 200), (12_000, "", 431)] {
        let mut client = running.client().await;
        let filler = "x".repeat(length);
        client.write(format!("GET /health HTTP/1.1\r\nhost: test\r\nfiller: {filler}{end}")).await;
        assert_eq!(client.reply().await.status, status, "{length}");
    }
    assert_eq!(running.end().await.code(), 0);
}

#[tokio::test]
async fn an_idle_connection_outlives_the_header_timeout_and_its_next_head_has_that_time() {
    let app = App::new();
    let running = Running::start(&app, |server| server.limits(limits(10, MOMENT))).await;
    let mut client = running.client().await;
    assert_eq!(client.get("/health").await.status, 200);
    // Another connection's timeout shows that the time is over.
    running.client().await.closed().await;
    assert_eq!(client.get("/health").await.status, 200);
    client.write("GET /health HTTP/1.1\r\nhost: te").await;
    client.closed().await;
    assert_eq!(running.end().await.connections.cut, 0);
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_its_own_time() {
    let app = App::new();
    let limits = Limits { header_timeout: LONG, connection_idle: MOMENT, ..Limits::default() };
    let running = Running::start(&app, |server| server.limits(limits)).await;
    let mut client = running.client().await;
    assert_eq!(client.get("/health").await.status, 200);
    client.closed().await;
    assert_eq!(running.end().await.connections.cut, 0);
}

#[tokio::test]
async fn the_header_timeout_does_not_cut_an_answer_that_takes_longer() {
    let app = App::new();
    let running = Running::start(&app, |server| server.limits(limits(10, MOMENT))).await;
    let mut client = running.client().await;
    client.ask("/held").await;
    app.has_arrived().await;
    // Another connection's timeout shows that the time is over.
    running.client().await.closed().await;
    app.release.add_permits(1);
    assert_eq!(client.reply().await.body, "released");
    assert_eq!(running.end().await.code(), 0);
}

#[tokio::test]
async fn a_panic_is_that_requests_500_and_the_next_one_works() {
    let app = App::new();
    let running = Running::start(&app, |server| server).await;
    let mut client = running.client().await;
    let reply = client.get("/panic").await;
    assert_eq!((reply.status, reply.body.as_str()), (500, r#"{"detail":"internal error"}"#));
    assert!(reply.head.contains("content-type: application/json"));
    assert_eq!(client.get("/health").await.status, 200);
    assert_eq!(running.end().await.code(), 0);
}

#[tokio::test]
async fn what_is_not_http_is_a_400() {
    let app = App::new();
    let running = Running::start(&app, |server| server).await;
    let mut client = running.client().await;
    client.write("what is this\r\n\r\n").await;
    let answer = String::from_utf8(client.closed().await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(running.client().await.get("/health").await.status, 200);
    assert_eq!(running.end().await.code(), 0);
}

/// A request for `/health` on stream 1, after the preface and empty settings.
fn http2_request() -> Vec<u8> {
    let headers = *b"\x82\x86\x04\x07/health\x01\x04test"; // GET, http, the path, the authority
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend([0, 0, u8::try_from(headers.len()).unwrap(), 1, 0x5, 0, 0, 0, 1]);
    bytes.extend(headers);
    bytes
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_served_and_does_not_delay_the_end() {
    let app = App::new();
    let running = Running::start(&app, |server| server).await;
    let mut client = running.client().await;
    client.write(http2_request()).await;
    loop {
        let head = client.take(9).await;
        let payload = client.take(usize::from(head[1]) << 8 | usize::from(head[2])).await;
        let is_data = head[3] == 0;
        if is_data && !payload.is_empty() {
            assert_eq!(payload, br#"{"status":"healthy"}"#);
            break;
        }
    }
    let exit = running.end().await;
    client.closed().await;
    assert_eq!((exit.code(), exit.connections.served), (0, 1));
}
