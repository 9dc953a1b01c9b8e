//! One connection: HTTP/1.1 or HTTP/2 as the client likes, its deadlines, and a place where panics end.

use core::any::Any;
use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::time::Duration;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::listener::Stream;
use crate::{Body, Limits, Service};

/// How connections are served; made once, shared by all.
pub(crate) type Protocol = Builder<TokioExecutor>;

/// How often an HTTP/2 peer is asked whether it is still there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);

pub(crate) fn protocol(limits: &Limits) -> Protocol {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.header_timeout);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
    http2.max_concurrent_streams(limits.streams);
    builder
}

/// Serves a connection until its end. Once `closing` is true it finishes the answers in flight and reads nothing more.
pub(crate) async fn serve<S: Service>(
    stream: Box<dyn Stream>,
    service: S,
    protocol: Arc<Protocol>,
    header_timeout: Duration,
    mut closing: watch::Receiver<bool>,
) {
    let greeted = Arc::new(AtomicBool::new(false));
    let answering = {
        let greeted = Arc::clone(&greeted);
        service_fn(move |request| {
            greeted.store(true, Ordering::Relaxed);
            let service = service.clone();
            async move {
                let answer = AssertUnwindSafe(async move { service.call(request).await }).catch_unwind();
                Ok::<_, Infallible>(answer.await.unwrap_or_else(|panic| panicked(panic.as_ref())))
            }
        })
    };
    let mut connection = pin!(protocol.serve_connection(TokioIo::new(stream), answering));
    // hyper's own deadline begins with the first byte of a head, once it knows the protocol. This one covers a client
    // that sends nothing at all, or only the beginning of HTTP/2's preface.
    let mut silence = pin!(sleep(header_timeout));
    let (mut is_watched, mut is_leaving) = (true, false);
    loop {
        tokio::select! {
            biased;
            // An error here is the client's: it went away, or did not speak HTTP (and got its 400).
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            _ = closing.wait_for(|closing| *closing), if !is_leaving => {
                is_leaving = true;
                connection.as_mut().graceful_shutdown();
            }
            () = silence.as_mut(), if is_watched => {
                if !greeted.load(Ordering::Relaxed) {
                    tracing::debug!("a connection was closed: no request within the header timeout");
                    return;
                }
                is_watched = false;
            }
        }
    }
}

/// A handler panicked: its request is answered, and nothing else notices.
fn panicked(panic: &(dyn Any + Send)) -> Response<Body> {
    tracing::error!(panic = panic_text(panic), "a request's handler panicked");
    let mut answer = Response::new(Body::full(&br#"{"detail":"internal error"}"#[..]));
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}

/// What one connection too many gets, whatever it asks.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/json\r\n\
content-length: 33\r\n\
retry-after: 1\r\n\
connection: close\r\n\
\r\n\
{\"detail\":\"too many connections\"}";

/// How long a refused connection may take altogether.
const REFUSING: Duration = Duration::from_secs(1);

/// Refuses a connection, without waiting for its request.
pub(crate) async fn refuse(mut stream: Box<dyn Stream>) {
    let refusing = async {
        stream.write_all(REFUSAL).await?;
        stream.shutdown().await?;
        // Closing with unread bytes makes the system reset the connection, and the client would lose the answer.
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<_, std::io::Error>(())
    };
    // Whether the client took it or not, it is gone afterwards.
    let _ = timeout(REFUSING, refusing).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_refusal_is_as_long_as_it_says() {
        let text = std::str::from_utf8(REFUSAL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())));
        assert!(serde_json::from_str::<serde_json::Value>(body).is_ok());
    }
}
