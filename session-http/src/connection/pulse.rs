//! What a connection is doing, so that a head that comes too slowly is told from a connection that is idle.
//!
//! hyper's own header timeout counts both alike, and takes a timer for each request. This one is looked at only when
//! the connection's one timer fires, or when the socket has run dry in the middle of a head.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::Version;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::Limits;

/// Shared by the socket, the requests and the watch of one connection.
#[derive(Debug)]
pub(crate) struct Pulse(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Requests whose handler has not ended.
    in_flight: usize,
    next: Next,
    /// When the last handler ended, or the head of the next request began.
    since: Instant,
    /// Whether anything was written since then.
    has_written: bool,
}

/// What has come of the request after those in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// It is the first one. What is written meanwhile (HTTP/2's settings and pings) answers nobody.
    First,
    Nothing,
    /// A part of its head.
    Head,
    /// That can't be said: HTTP/2 has bytes that belong to no request.
    Unknown,
}

/// How the connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Well; look again then.
    Fine(Instant),
    /// A head has been coming for too long.
    SlowHead,
    /// There has been no request for too long.
    Idle,
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Pulse>);

impl Pulse {
    /// A connection that was just accepted owes its first head.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(State { in_flight: 0, next: Next::First, since: now, has_written: false }))
    }

    /// A head is complete.
    pub(crate) fn begin(self: &Arc<Self>, version: Version) -> InFlight {
        let mut state = self.lock();
        state.in_flight += 1;
        state.next = if version == Version::HTTP_2 { Next::Unknown } else { Next::Nothing };
        drop(state);
        InFlight(Arc::clone(self))
    }

    /// Until when the head that has begun must be complete. (The first one is looked at in any case.)
    pub(crate) fn head_is_due(&self, limits: &Limits) -> Option<Instant> {
        let state = self.lock();
        (state.in_flight == 0 && state.next == Next::Head).then(|| state.since + limits.header_timeout)
    }

    pub(crate) fn judge(&self, now: Instant, limits: &Limits) -> Verdict {
        let mut state = self.lock();
        // Whatever it does next, it can't be idle for too long before then.
        let at_latest = now + limits.connection_idle;
        if state.in_flight > 0 {
            return Verdict::Fine(at_latest);
        }
        let (allowed, otherwise) = match state.next {
            Next::First | Next::Head => (limits.header_timeout, Verdict::SlowHead),
            Next::Nothing | Next::Unknown => (limits.connection_idle, Verdict::Idle),
        };
        // A head that waits in the buffer behind an answer which its client takes slowly is not late.
        if state.next == Next::Head && state.has_written {
            (state.has_written, state.since) = (false, now);
        }
        let until = state.since + allowed;
        if until > now { Verdict::Fine(until.min(at_latest)) } else { otherwise }
    }

    fn has_read(&self) {
        let mut state = self.lock();
        // While a request is in flight, what comes is its body.
        if state.in_flight == 0 && state.next == Next::Nothing {
            (state.next, state.since, state.has_written) = (Next::Head, Instant::now(), false);
        }
    }

    fn has_written(&self) {
        self.lock().has_written = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.in_flight -= 1;
        state.since = Instant::now();
    }
}

/// A socket that tells the pulse.
pub(crate) struct Watched<S> {
    pub(crate) stream: S,
    pub(crate) pulse: Arc<Pulse>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.pulse.has_read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.pulse.has_written();
        }
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        if written.is_ready() {
            self.pulse.has_written();
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const HEADER: Duration = Duration::from_secs(30);
    const IDLE: Duration = Duration::from_secs(120);

    fn judge(pulse: &Pulse) -> Verdict {
        let limits = Limits { header_timeout: HEADER, connection_idle: IDLE, ..Limits::default() };
        pulse.judge(Instant::now(), &limits)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_head_is_owed_from_the_start() {
        let (start, pulse) = (Instant::now(), Pulse::new(Instant::now()));
        assert_eq!(judge(&pulse), Verdict::Fine(start + HEADER));
        tokio::time::advance(HEADER).await;
        assert_eq!(judge(&pulse), Verdict::SlowHead);
    }

    #[tokio::test(start_paused = true)]
    async fn http2_without_a_request_is_not_kept_alive_by_its_pings() {
        let pulse = Pulse::new(Instant::now());
        pulse.has_read();
        pulse.has_written();
        tokio::time::advance(HEADER).await;
        assert_eq!(judge(&pulse), Verdict::SlowHead);
    }

    #[tokio::test(start_paused = true)]
    async fn between_requests_it_may_be_idle_for_longer_and_a_new_head_has_its_own_time() {
        let pulse = Arc::new(Pulse::new(Instant::now()));
        drop(pulse.begin(Version::HTTP_11));
        tokio::time::advance(IDLE / 2).await;
        assert!(matches!(judge(&pulse), Verdict::Fine(_)));
        assert_eq!(pulse.head_is_due(&Limits::default()), None);
        pulse.has_read();
        assert_eq!(pulse.head_is_due(&Limits::default()), Some(Instant::now() + HEADER));
        tokio::time::advance(HEADER / 2).await;
        // Further bytes of it buy no time.
        pulse.has_read();
        tokio::time::advance(HEADER / 2).await;
        assert_eq!(judge(&pulse), Verdict::SlowHead);
    }

    #[tokio::test(start_paused = true)]
    async fn idleness_counts_from_the_end_of_the_last_request() {
        let pulse = Arc::new(Pulse::new(Instant::now()));
        let request = pulse.begin(Version::HTTP_11);
        tokio::time::advance(2 * IDLE).await;
        assert!(matches!(judge(&pulse), Verdict::Fine(_)));
        drop(request);
        tokio::time::advance(IDLE / 2).await;
        assert!(matches!(judge(&pulse), Verdict::Fine(_)));
        tokio::time::advance(IDLE / 2).await;
        assert_eq!(judge(&pulse), Verdict::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn what_http2_says_between_requests_is_no_head() {
        let pulse = Arc::new(Pulse::new(Instant::now()));
        drop(pulse.begin(Version::HTTP_2));
        pulse.has_read();
        tokio::time::advance(HEADER).await;
        assert!(matches!(judge(&pulse), Verdict::Fine(_)));
        tokio::time::advance(IDLE).await;
        assert_eq!(judge(&pulse), Verdict::Idle);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_behind_an_answer_that_is_taken_slowly_is_not_late() {
        let pulse = Arc::new(Pulse::new(Instant::now()));
        drop(pulse.begin(Version::HTTP_11));
        pulse.has_read();
        tokio::time::advance(HEADER).await;
        pulse.has_written();
        assert_eq!(judge(&pulse), Verdict::Fine(Instant::now() + HEADER));
        tokio::time::advance(HEADER).await;
        assert_eq!(judge(&pulse), Verdict::SlowHead);
    }
}
