//! The body of an answer.

use core::convert::Infallible;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// An answer's body: bytes that are known in advance, and what to do if nobody takes them.
#[derive(Default)]
pub struct Body {
    bytes: Full<Bytes>,
    undelivered: Option<Undelivered>,
}

/// Runs when it is dropped, unless it was defused.
struct Undelivered(Option<Box<dyn FnOnce() + Send>>);

impl Drop for Undelivered {
    fn drop(&mut self) {
        if let Some(run) = self.0.take() {
            run();
        }
    }
}

impl Body {
    /// A body of these bytes.
    #[must_use]
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: Full::new(bytes.into()), undelivered: None }
    }

    /// No body.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// A body of these bytes; `otherwise` runs if it is dropped before the connection has taken them.
    ///
    /// For an answer that hands something over: a client that went away between "opened" and its answer would never
    /// know what it owns.
    #[must_use]
    pub fn or_else(bytes: impl Into<Bytes>, otherwise: impl FnOnce() + Send + 'static) -> Self {
        let undelivered = Some(Undelivered(Some(Box::new(otherwise))));
        Self { bytes: Full::new(bytes.into()), undelivered }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(mut undelivered) = self.undelivered.take() {
            undelivered.0 = None;
        }
        Pin::new(&mut self.bytes).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("size", &self.bytes.size_hint().exact()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::BodyExt;

    use super::*;

    fn counted() -> (Body, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&count);
        (
            Body::or_else("id", move || {
                let _ = theirs.fetch_add(1, Ordering::SeqCst);
            }),
            count,
        )
    }

    #[tokio::test]
    async fn a_body_that_was_taken_is_delivered() {
        let (body, undelivered) = counted();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "id");
        assert_eq!(undelivered.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_body_that_is_dropped_untaken_says_so_once() {
        let (body, undelivered) = counted();
        drop(body);
        assert_eq!(undelivered.load(Ordering::SeqCst), 1);
    }
}
