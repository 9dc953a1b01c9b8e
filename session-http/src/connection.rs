//! One connection: HTTP/1.1 or HTTP/2 as the client likes, its deadlines, and a place where panics end.

mod pulse;

use core::any::Any;
use core::future::poll_fn;
use core::panic::AssertUnwindSafe;
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use std::convert::Infallible;
use std::sync::Arc;

use futures_util::FutureExt;
use http::{HeaderValue, Response, StatusCode, header};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use self::pulse::{Pulse, Verdict, Watched};
use crate::listener::Stream;
use crate::{Body, Limits, Service};

/// How connections are served; made once, shared by all.
pub(crate) type Protocol = Builder<TokioExecutor>;

/// How often an HTTP/2 peer is asked whether it is still there, and how long it may take to say so.
const PING: Duration = Duration::from_secs(20);

pub(crate) fn protocol(limits: &Limits) -> Protocol {
    let mut builder = Builder::new(TokioExecutor::new());
    // The pulse has the deadline for the head: hyper's takes a timer for each request.
    let head = limits.header_bytes.max(SMALLEST_HEAD);
    builder.http1().header_read_timeout(None).max_buf_size(head);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
    http2.max_concurrent_streams(limits.streams);
    http2.max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX));
    builder
}

/// hyper refuses to read with less.
const SMALLEST_HEAD: usize = 8 << 10;

/// What polling a connection comes to.
enum Turn<E> {
    Ended(Result<(), E>),
    /// The pulse must be judged then.
    LookAt(Instant),
}

/// Serves a connection until its end. Once `closing` is true it finishes the answers in flight and reads nothing more.
pub(crate) async fn serve<S: Service>(
    stream: Box<dyn Stream>,
    service: S,
    protocol: Arc<Protocol>,
    limits: Limits,
    mut closing: watch::Receiver<bool>,
) {
    let began = Instant::now();
    let pulse = Arc::new(Pulse::new(began));
    let stream = Watched { stream, pulse: Arc::clone(&pulse) };
    let answering = service_fn(|request| {
        let (service, in_flight) = (service.clone(), pulse.begin(request.version()));
        async move {
            let answer = AssertUnwindSafe(async move { service.call(request).await }).catch_unwind();
            let answer = answer.await.unwrap_or_else(|panic| panicked(panic.as_ref()));
            drop(in_flight);
            Ok::<_, Infallible>(answer)
        }
    });
    let mut connection = pin!(protocol.serve_connection(TokioIo::new(stream), answering));
    let mut look = pin!(sleep_until(began + limits.header_timeout.min(limits.connection_idle)));
    let (mut is_watched, mut is_leaving) = (true, false);
    loop {
        let next_look = look.deadline();
        let turn = poll_fn(|context| match connection.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Turn::Ended(ended)),
            // The socket has run dry in the middle of a head. If the next look is an idle connection's, it is too late.
            Poll::Pending => match pulse.head_is_due(&limits) {
                Some(due) if is_watched && due < next_look => Poll::Ready(Turn::LookAt(due)),
                Some(_) | None => Poll::Pending,
            },
        });
        tokio::select! {
            biased;
            turn = turn => match turn {
                // The client went away, or did not speak HTTP (and got its 400).
                Turn::Ended(Err(error)) => return tracing::debug!(%error, "connection ended"),
                Turn::Ended(Ok(())) => return,
                Turn::LookAt(due) => look.as_mut().reset(due),
            },
            _ = closing.wait_for(|closing| *closing), if !is_leaving => {
                is_leaving = true;
                connection.as_mut().graceful_shutdown();
            }
            () = look.as_mut(), if is_watched => match pulse.judge(Instant::now(), &limits) {
                Verdict::Fine(until) => look.as_mut().reset(until),
                Verdict::SlowHead => {
                    tracing::debug!("a connection was closed: no request within the header timeout");
                    return;
                }
                Verdict::Idle => {
                    (is_watched, is_leaving) = (false, true);
                    connection.as_mut().graceful_shutdown();
                }
            },
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
